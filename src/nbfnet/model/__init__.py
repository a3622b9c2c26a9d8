"""Neural Bellman-Ford Networks: iterations, the frontier, the score."""
