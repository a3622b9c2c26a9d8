from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbfnet.graph.datasets import registry_entry as checksums
from nbfnet.graph.datasets.registry_entry import Checksum


@pytest.fixture(scope="module")
def scratch(tmp_path_factory):
    return tmp_path_factory.mktemp("checksum") / "file"


@given(
    content=st.lists(st.sampled_from([b"\r", b"\n", b"\r\n", b"a", b"bc"]), max_size=30).map(b"".join),
    chunk=st.integers(1, 5),
)
def test_line_endings_do_not_count_in_a_text_file(scratch, content, chunk):
    scratch.write_bytes(content)
    checksums.CHUNK, before = chunk, checksums.CHUNK
    try:
        assert Checksum("sha256", "").of(scratch) == hashlib.sha256(content).hexdigest()
        plain = hashlib.sha256(content.replace(b"\r\n", b"\n")).hexdigest()
        assert Checksum("sha256", "", text=True).of(scratch) == plain
    finally:
        checksums.CHUNK = before


def test_md5(scratch):
    scratch.write_bytes(b"abc")
    assert Checksum("md5", "").of(scratch) == "900150983cd24fb0d6963f7d28e17f72"
