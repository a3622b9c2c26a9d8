"""The paper's learned functions: INDICATOR, MESSAGE, AGGREGATE and the representations of edges."""
