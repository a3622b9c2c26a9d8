"""Why a prediction: its most important paths, what deleting them does, the rules behind many of them, and pictures."""
