"""Graphs: reading, indexing, splitting and storing them."""
