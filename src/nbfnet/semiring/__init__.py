"""Paths in any semiring: the generalized Bellman-Ford algorithm and the classical methods that are instances of it."""
