"""Explanations as files: every format by its ending, whole, and refused where it cannot be."""

from __future__ import annotations

import json
import struct
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest

from nbfnet.errors import ExplanationError, MissingExtraError
from nbfnet.explanation.drawing.draw import draw_html, draw_svg
from nbfnet.explanation.explanation import Explanation
from nbfnet.explanation.path import ExplainedPath, PathEdge


@pytest.fixture
def explanation() -> Explanation:
    """One path for the answer, one against it; names that XML and Typst must not take for their own."""
    edges = PathEdge("#a $b$ <c> & \\", "r", "日本"), PathEdge("日本", "s", "z")
    against = (PathEdge("#a $b$ <c> & \\", "t", "z"),)
    paths = ExplainedPath(0.5, 2.0, 2.0, edges, (0.25, 0.25)), ExplainedPath(0.1, -1.0, -1.0, against, (0.1,))
    return Explanation(PathEdge("#a $b$ <c> & \\", "q", "z"), 0.5, paths, 1.0)


def test_text_formats(explanation: Explanation, tmp_path: Path) -> None:
    for ending, expected in ((".svg", draw_svg(explanation)), (".html", draw_html(explanation))):
        explanation.save(tmp_path / f"a{ending}")
        assert (tmp_path / f"a{ending}").read_text(encoding="utf-8") == expected
    explanation.save(str(tmp_path / "a.JSON"))
    assert json.loads((tmp_path / "a.JSON").read_text(encoding="utf-8")) == explanation.to_dict()


def pixels(file: Path) -> np.ndarray:
    """(row, column, channel) of a PNG file, decoded by the standard: filters 0 to 4, eight bits a channel."""
    content = file.read_bytes()
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    place, data, channels = 8, b"", 0
    width = height = 0
    while place < len(content):
        length, kind = struct.unpack(">I4s", content[place : place + 8])
        body = content[place + 8 : place + 8 + length]
        if kind == b"IHDR":
            width, height, depth, colour = struct.unpack(">IIBB", body[:10])
            assert depth == 8
            channels = {2: 3, 6: 4}[colour]
        data += body if kind == b"IDAT" else b""
        place += 12 + length
    raw, stride = zlib.decompress(data), width * channels
    rows = np.zeros((height, stride), dtype=np.int64)
    above = np.zeros(stride, dtype=np.int64)
    for y in range(height):
        line = np.frombuffer(raw[y * (stride + 1) : (y + 1) * (stride + 1)], dtype=np.uint8).astype(np.int64)
        rows[y] = above = _unfilter(int(line[0]), line[1:], above, channels)
    return rows.reshape(height, width, channels)[..., :3]


def _unfilter(kind: int, line: np.ndarray, above: np.ndarray, channels: int) -> np.ndarray:
    if kind in (0, 2):
        return (line + (above if kind == 2 else 0)) % 256
    found = np.zeros_like(line)
    for i in range(len(line)):
        a, b = (found[i - channels] if i >= channels else 0), above[i]
        c = above[i - channels] if i >= channels else 0
        estimate = a + b - c
        nearest = min((a, b, c), key=lambda value, estimate=estimate: abs(estimate - value))
        found[i] = (line[i] + {1: a, 3: (a + b) // 2, 4: nearest}[kind]) % 256
    return found


def colours(picture: np.ndarray, red: int, green: int, blue: int) -> int:
    return int((np.abs(picture - [red, green, blue]).max(axis=2) <= 2).sum())


def test_a_png_is_drawn_in_the_light_scheme(explanation: Explanation, tmp_path: Path) -> None:
    pytest.importorskip("typst")
    explanation.save(tmp_path / "a.png")
    picture = pixels(tmp_path / "a.png")
    svg = draw_svg(explanation)
    width, height = (int(svg.split(f'{side}="')[1].split('"')[0]) for side in ("width", "height"))
    assert abs(picture.shape[1] - 2 * width) <= 2 and abs(picture.shape[0] - 2 * height) <= 2
    assert colours(picture, 255, 255, 255) > 0.6 * picture[..., 0].size  # paper
    assert colours(picture, 0xDC, 0xE9, 0xFB) > 500  # the source
    assert colours(picture, 0xDC, 0xF1, 0xE1) > 500  # the answer
    assert colours(picture, 0x94, 0xA1, 0xB1) > 200  # edges
    assert colours(picture, 0xCF, 0x7D, 0x7D) > 50  # the dashed one
    assert colours(picture, 0x1C, 0x21, 0x28) > 200  # letters


def test_a_pdf_is_one_page_with_text(explanation: Explanation, tmp_path: Path) -> None:
    pytest.importorskip("typst")
    explanation.save(tmp_path / "a.pdf")
    content = (tmp_path / "a.pdf").read_bytes()
    assert content.startswith(b"%PDF-") and content.rstrip().endswith(b"%%EOF")
    assert b"/FontFile" in content or b"/FontDescriptor" in content  # letters, not only their outlines


@pytest.mark.parametrize("name", ["a.gif", "a", "a.svg.gz", "a."])
def test_other_endings_are_refused(explanation: Explanation, tmp_path: Path, name: str) -> None:
    with pytest.raises(ExplanationError, match=r"ends in \.svg, \.html, \.png, \.pdf or \.json"):
        explanation.save(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("ending", ["png", "pdf"])
def test_without_the_extra(
    explanation: Explanation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    monkeypatch.setitem(sys.modules, "typst", None)
    with pytest.raises(MissingExtraError, match=r"\[pictures\]"):
        explanation.save(tmp_path / f"a.{ending}")
    assert list(tmp_path.iterdir()) == []
