"""Message passing over relational edges: one operation, a plain reference, and a faster kernel."""
