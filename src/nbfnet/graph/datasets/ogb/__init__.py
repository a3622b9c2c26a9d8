"""The knowledge graphs of the Open Graph Benchmark, read from the files as they are published."""

from nbfnet.graph.datasets.ogb.biokg import BioKG, GivenNegatives, read_biokg
from nbfnet.graph.datasets.ogb.wikikg90m import TailCandidates, WikiKG90M, read_tail_candidates, read_wikikg90m

__all__ = [
    "BioKG",
    "GivenNegatives",
    "TailCandidates",
    "WikiKG90M",
    "read_biokg",
    "read_tail_candidates",
    "read_wikikg90m",
]
