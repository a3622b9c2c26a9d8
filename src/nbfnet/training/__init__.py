"""Training: the loss, the loop, checkpoints."""
