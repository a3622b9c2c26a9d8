"""Other methods of the paper's tables, trained for the same time and evaluated in the same way."""
