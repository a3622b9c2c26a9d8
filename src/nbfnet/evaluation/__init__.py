"""Evaluation: how well missing links are found."""
