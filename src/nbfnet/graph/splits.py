"""Splits: a single graph to train, valid and test links, without leaks, or as the paper's authors drew them."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from pathlib import Path

import numpy as np
import numpy.typing as npt

from nbfnet.errors import DatasetError
from nbfnet.graph.graph import Dataset, Graph
from nbfnet.graph.triplets import Int64, Triplets


def published_split(edges: Triplets) -> tuple[Int64, Int64] | None:
    """The positions of the valid and of the test edges, or None for edges that no published split is known of.

    The authors' code permutes the lines of the archive by PyTorch's generator with seed 0; the first 85 % are train,
    the next 5 % valid. So the split belongs to an order of the edges. ``published_splits.json`` has Cora's for the
    archive's order, and carried over to the sorted one (the numbering of Planetoid) by an isomorphism of the two.
    """
    known = json.loads(Path(__file__).with_name("published_splits.json").read_text(encoding="ascii"))
    listing = known.get(listing_digest(edges))
    return None if listing is None else (np.array(listing["valid"]), np.array(listing["test"]))


def listing_digest(edges: Triplets) -> str:
    """32 hexadecimal digits over the ends of every edge, in order; nodes are numbered as they are first met."""
    ends = np.stack([edges.head, edges.tail], axis=1).ravel()
    _, first, node = np.unique(ends, return_index=True, return_inverse=True)
    met = np.argsort(np.argsort(first))
    return hashlib.blake2b(met[node].astype("<i8").tobytes(), digest_size=16).hexdigest()


TRAIN, VALID, TEST = 0, 1, 2
_KNOWLEDGE_SHARES = (0.05, 0.05)  # valid, test
_HOMOGENEOUS_SHARES = (0.05, 0.10)


def split(graph: Graph, *, seed: int = 0, paper_split: bool = False) -> Dataset:
    """Split a graph's edges into train, valid and test.

    A knowledge graph goes 90:5:5 by pairs of nodes, so that no link's twin in another direction or relation is on
    another side. A homogeneous graph goes 85:5:10, after duplicates and self loops are removed; ``paper_split`` keeps
    them, as the paper did, so that an edge listed twice may be on two sides. Cora's paper split is the authors' own,
    whatever the seed.
    """
    if graph.kind == "knowledge":
        if paper_split:
            raise DatasetError("the paper's split is for homogeneous graphs: this graph has relations; leave it out")
        return split_knowledge(graph, seed=seed)
    if paper_split and (published := published_split(graph.triplets)) is not None:
        side = np.full(len(graph.triplets), TRAIN, dtype=np.int8)
        side[published[0]], side[published[1]] = VALID, TEST
        return _dataset(graph, graph.triplets, side, "85:5:10, the authors' own, duplicates kept")
    return split_homogeneous(graph, seed=seed, keep_duplicates=paper_split)


def split_knowledge(graph: Graph, *, seed: int) -> Dataset:
    """Split by unordered pairs: every relation, and where possible every entity, of valid and test stays in train."""
    triplets = graph.triplets
    pair, group = np.unique(triplets.pairs(graph.num_nodes), return_inverse=True)
    size = np.bincount(group)
    order = np.random.default_rng(seed).permutation(len(size))
    rank = np.argsort(order)

    # A relation's first group never leaves train; an entity's first group leaves only when the others do not suffice.
    of_relation = order[_first_rank(triplets.relation, rank[group], graph.num_relations)]
    ends = np.stack([pair // graph.num_nodes, pair % graph.num_nodes])
    of_entity = order[_first_rank(ends.ravel(), np.tile(rank, 2), graph.num_nodes)]
    held, first = np.zeros((2, len(size)), dtype=np.bool_)
    held[of_relation] = first[of_entity] = True
    queue, reserve = order[~(held | first)[order]], order[(first & ~held)[order]]

    wanted = [max(1, int(share * len(triplets))) for share in _KNOWLEDGE_SHARES]
    side = np.full(len(size), TRAIN, dtype=np.int8)
    side[queue] = _fill(size[queue], wanted)
    if size[side == TEST].sum() < wanted[1]:
        queue = np.concatenate([queue, _spared_first(reserve, ends[:, held | first], ends)])
        side[queue] = _fill(size[queue], wanted)
    return _dataset(graph, triplets, side[group], f"90:5:5 by pairs of nodes, leak-free, seed {seed}")


def split_homogeneous(graph: Graph, *, seed: int, keep_duplicates: bool) -> Dataset:
    """Split edges at random: floor(0.85 E) train, floor(0.05 E) valid, the rest test."""
    edges = graph.triplets if keep_duplicates else without_duplicates(graph)
    valid_share, test_share = _HOMOGENEOUS_SHARES
    train, valid = int((1 - valid_share - test_share) * len(edges) + 1e-9), int(valid_share * len(edges) + 1e-9)
    side = np.full(len(edges), TEST, dtype=np.int8)
    order = np.random.default_rng(seed).permutation(len(edges))
    side[order[:train]], side[order[train : train + valid]] = TRAIN, VALID
    kept = "kept, as in the paper" if keep_duplicates else "removed"
    return _dataset(graph, edges, side, f"85:5:10, duplicates and self loops {kept}, seed {seed}")


def without_duplicates(graph: Graph) -> Triplets:
    """An undirected graph's edges, each pair once (the first listed), no self loop."""
    edges = graph.triplets
    _, first = np.unique(edges.pairs(graph.num_nodes), return_index=True)
    first = np.sort(first)
    return edges.take(first[edges.head[first] != edges.tail[first]])


def _first_rank(member: npt.NDArray[np.integer], rank: Int64, num_members: int) -> Int64:
    """For each entity (or relation) the lowest rank of a group that it belongs to; ones in no group are left out."""
    nowhere = np.iinfo(np.int64).max
    lowest = np.full(num_members, nowhere)
    np.minimum.at(lowest, member, rank)
    return lowest[lowest < nowhere]


def _spared_first(reserve: Int64, kept: Int64, ends: Int64) -> Int64:
    """Reserve groups in the order to give up: first those whose two entities both keep another group in train.

    ``ends`` (2, group) are the two entities of every group, ``kept`` those of the groups still in train.
    """
    links = np.bincount(kept[0], minlength=int(ends.max(initial=0)) + 1)
    np.add.at(links, kept[1][kept[0] != kept[1]], 1)
    spared = np.zeros(len(reserve), dtype=np.bool_)
    for i, group in enumerate(reserve):
        u, v = ends[:, group]
        if links[u] > 1 and links[v] > 1:
            links[u] -= 1
            links[v] -= u != v
            spared[i] = True
    return np.concatenate([reserve[spared], reserve[~spared]])


def _fill(size: Int64, wanted: list[int]) -> npt.NDArray[np.int8]:
    """Deal groups out in order until valid, then test, have the wanted number of triplets; the rest is train."""
    before = np.cumsum(size) - size
    valid, test = wanted
    in_valid = before < valid
    # The last group of valid may be larger than wanted: test begins after it, wherever that is.
    return np.select([in_valid, before < size[in_valid].sum() + test], [VALID, TEST], TRAIN).astype(np.int8)


def _dataset(graph: Graph, triplets: Triplets, side: npt.NDArray[np.int8], how: str) -> Dataset:
    train, valid, test = (triplets.take(side == which) for which in (TRAIN, VALID, TEST))
    if not (len(train) and len(valid) and len(test)):
        raise DatasetError(
            f"{graph.name}: too few edges for train, valid and test ({len(triplets)}); "
            "give a larger graph, or a folder with train, valid and test files"
        )
    return Dataset(graph.name, dataclasses.replace(graph, triplets=train), valid, test, split=how)
