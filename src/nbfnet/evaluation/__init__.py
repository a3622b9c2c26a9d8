"""How good a scorer is: filtered ranks, their metrics, and the evaluation of a dataset's split."""
