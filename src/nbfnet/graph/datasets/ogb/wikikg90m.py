"""WikiKG90M: Wikidata with 87 million entities, in OGB's folder ``wikikg90m_kddcup2021``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from nbfnet.errors import GraphFormatError
from nbfnet.graph.datasets.ogb.plain_load import load_plain
from nbfnet.graph.graph import Dataset, Graph
from nbfnet.graph.triplets import Int32, Int64, Triplets
from nbfnet.graph.vocabulary import Vocabulary

BLOCK = 1 << 22  # rows that are checked and copied at a time
_ANEW = "get the dataset again"


@dataclass(frozen=True, eq=False)
class TailCandidates:
    """Tails for each link (u, q, v), the true one among them; they stay on disk until they are asked for."""

    candidates: npt.NDArray[np.integer[Any]]  # (query, candidate)
    answer: Int64  # (query,) the column of v
    num_nodes: int
    file: Path  # where the candidates are, to name it when they are wrong

    def negatives(self, queries: Int64) -> Int32:
        """The wrong tails of some links: (query, candidate - 1)."""
        rows = np.asarray(self.candidates[queries])
        if rows.size and (rows.min() < 0 or rows.max() >= self.num_nodes):
            raise GraphFormatError(
                f"names entities {rows.min()}..{rows.max()}, but there are only 0..{self.num_nodes - 1}",
                file=self.file,
                remedy="get the dataset again",
            )
        wrong = np.ones(rows.shape, dtype=np.bool_)
        wrong[np.arange(len(rows)), self.answer[queries]] = False
        return rows[wrong].reshape(len(rows), rows.shape[1] - 1).astype(np.int32)


@dataclass(frozen=True, eq=False)
class WikiKG90M:
    """The dataset, and 1,001 given tails for each valid link; the answers of test links are not published."""

    dataset: Dataset
    valid_candidates: TailCandidates


def read_wikikg90m(folder: Path) -> WikiKG90M:
    """Read the folder; a training triplet takes 12 bytes, and nothing else of the files stays in memory.

    Raises:
        GraphFormatError: a file is missing or damaged, or holds ids that do not exist.
    """
    num_entities, num_relations = _read_counts(folder / "meta.pt")
    files = folder / "processed"
    bounds = (num_entities, num_relations, num_entities)
    head, relation, tail = _columns(files / "train_hrt.npy", bounds)
    graph = Graph(
        name="wikikg90m",
        kind="knowledge",
        entities=Vocabulary.numbered(num_entities),
        relations=Vocabulary.numbered(num_relations, role="relation"),
        triplets=Triplets(head, relation, tail),
    )
    valid, candidates = _read_valid(files, bounds)
    dataset = Dataset("wikikg90m", graph, valid, Triplets.empty(), split="OGB's split by time, without test answers")
    return WikiKG90M(dataset, candidates)


def read_tail_candidates(folder: Path) -> tuple[Triplets, TailCandidates]:
    """The valid links and their given tails alone, without the training triplets.

    Raises:
        GraphFormatError: a file is missing or damaged, or holds ids that do not exist.
    """
    num_entities, num_relations = _read_counts(folder / "meta.pt")
    return _read_valid(folder / "processed", (num_entities, num_relations, num_entities))


def _read_counts(file: Path) -> tuple[int, int]:
    meta = load_plain(file)
    counts = [meta.get(key) if isinstance(meta, dict) else None for key in ("num_entities", "num_relations")]
    if not all(isinstance(count, (int, np.integer)) and 0 < count < 2**31 for count in counts):
        raise GraphFormatError(
            f"should hold num_entities and num_relations, both below 2^31, but holds {meta!r:.200}",
            file=file,
            remedy=_ANEW,
        )
    entities, relations = (int(count) for count in counts if count is not None)
    return entities, relations


def _read_valid(files: Path, bounds: tuple[int, int, int]) -> tuple[Triplets, TailCandidates]:
    """The valid links, whose tails are the marked ones among their candidates."""
    head, relation = _columns(files / "val_hr.npy", bounds[:2])
    candidate_file, answer_file = files / "val_t_candidate.npy", files / "val_t_correct_index.npy"
    candidates = _open(candidate_file, 2)
    answer = _open(answer_file, 1).astype(np.int64)
    if not len(head) == len(candidates) == len(answer):
        raise GraphFormatError(
            f"has {len(candidates):,} rows, for {len(head):,} links and {len(answer):,} answers",
            file=candidate_file,
            remedy=_ANEW,
        )
    _check_range(answer_file, answer, candidates.shape[1])
    tail = np.asarray(candidates[np.arange(len(answer)), answer])
    _check_range(candidate_file, tail, bounds[2])
    return Triplets(head, relation, tail.astype(np.int32)), TailCandidates(
        candidates, answer, bounds[2], candidate_file
    )


def _columns(file: Path, bounds: Sequence[int]) -> list[Int32]:
    """The columns of an array (row, column), copied block by block; column i has ids below ``bounds[i]``."""
    rows = _open(file, 2)
    if rows.shape[1] != len(bounds):
        raise GraphFormatError(f"should have {len(bounds)} columns, but has {rows.shape[1]}", file=file, remedy=_ANEW)
    columns = [np.empty(len(rows), dtype=np.int32) for _ in bounds]
    for begin in range(0, len(rows), BLOCK):
        block = rows[begin : begin + BLOCK]
        for index, bound in enumerate(bounds):
            _check_range(file, block[:, index], bound, first_row=begin)
            columns[index][begin : begin + BLOCK] = block[:, index]
    return columns


def _open(file: Path, dimensions: int) -> npt.NDArray[np.integer[Any]]:
    """An array of integers that stays on disk."""
    try:
        array: npt.NDArray[Any] = np.load(file, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError as error:
        raise GraphFormatError("is missing", file=file, remedy="get the dataset again, with all its files") from error
    except (OSError, EOFError, ValueError) as error:
        raise GraphFormatError(f"cannot be read as an array: {error}", file=file, remedy=_ANEW) from error
    if array.dtype.kind not in "iu" or array.ndim != dimensions:
        raise GraphFormatError(
            f"should be integers in {dimensions} dimension(s), but is {array.dtype} in {array.ndim}",
            file=file,
            remedy=_ANEW,
        )
    return array


def _check_range(file: Path, ids: npt.NDArray[np.integer[Any]], bound: int, *, first_row: int = 0) -> None:
    if len(ids) and (ids.min() < 0 or ids.max() >= bound):
        row = int(np.argmax((ids < 0) | (ids >= bound)))
        what = f"row {first_row + row}: id {ids[row]} is not in 0..{bound - 1}"
        raise GraphFormatError(what, file=file, remedy=_ANEW)
