"""Reading graphs: text, Parquet, N-Triples, Python objects."""
