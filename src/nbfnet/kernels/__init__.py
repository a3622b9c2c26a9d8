"""Message passing over relational edges: the specification in plain PyTorch, and the compiled iteration."""
