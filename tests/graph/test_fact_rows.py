"""Rows made in passes are those that are made at once, however little memory a pass has."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbfnet.graph import fact_rows
from nbfnet.graph.fact_rows import in_rows, out_rows, row_begins
from nbfnet.graph.relational_csr import RelationalCSR
from nbfnet.graph.triplets import Triplets

V, R = 6, 3
node = st.integers(0, V - 1)
facts_of = st.lists(st.tuples(node, st.integers(0, R - 1), node, st.integers(0, 9)), max_size=40)


def joined(passes, names):
    parts = list(passes)
    return {name: np.concatenate([part[name] for part in parts]) if parts else np.empty(0) for name in names}


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    monkeypatch.setattr(fact_rows, "_CHUNK", 7)


@given(rows=facts_of, memory=st.sampled_from([0, 64, 200, 1_000, 10**6]), weighted=st.booleans())
def test_they_are_the_rows_of_the_graph(rows, memory, weighted) -> None:
    head, relation, tail, weight = np.array(rows, dtype=np.int32).reshape(-1, 4).T
    facts = Triplets.of(head, relation, tail, weight if weighted else None)
    expected = RelationalCSR.from_triplets(facts, V, R)
    begin = row_begins(facts.tail, V)
    np.testing.assert_array_equal(begin, expected.indptr)
    names = ["fact", "edge", *(["weight"] if weighted else [])]
    found = joined(in_rows(facts, begin, memory), names)
    for name, array in zip(names, (expected.records.into, expected.edge, expected.weight), strict=False):
        np.testing.assert_array_equal(found[name], array if rows else np.empty(0))
    out_begin = row_begins(facts.head, V)
    np.testing.assert_array_equal(out_begin, expected.transpose.indptr)
    out = joined(out_rows(expected.records.into, begin, out_begin, memory), ["fact"])["fact"]
    np.testing.assert_array_equal(out, expected.records.out if rows else np.empty(0))
