"""The page and the JSON API of a trained network: ``nbfnet serve``."""
