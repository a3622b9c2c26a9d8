"""JSON without NaN: any document becomes text that a strict reader takes."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from nbfnet.strict_json import strict_json


def refuse(constant: str) -> None:
    raise AssertionError(constant)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(st.text(), inner),
)


@given(values)
def test_any_document_is_read_strictly(document):
    text = strict_json(document)
    read = json.loads(text, parse_constant=refuse)
    assert strict_json(read) == text


def test_what_is_finite_stays_and_the_rest_is_null():
    nan, inf = float("nan"), float("inf")
    assert json.loads(strict_json({"a": [1.5, nan, (inf, -inf)], "b": "NaN"})) == {
        "a": [1.5, None, [None, None]],
        "b": "NaN",
    }
