"""Reading graphs: text, Parquet, N-Triples, Python objects, folders of splits."""
