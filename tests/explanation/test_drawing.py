"""Drawings: well-formed, complete, escaped, without overlaps; and the page in a real browser where there is one."""

from __future__ import annotations

import random
import re
import shutil
import subprocess
from collections.abc import Callable
from html import unescape
from html.parser import HTMLParser
from itertools import combinations
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from nbfnet.explanation.drawing.draw import draw_html, draw_svg
from nbfnet.explanation.drawing.layout import spread
from nbfnet.explanation.drawing.text_fitting import fit_lines, text_width
from nbfnet.explanation.explanation import Explanation
from nbfnet.explanation.path import ExplainedPath, PathEdge

SVG = "{http://www.w3.org/2000/svg}"
VOID = {"meta", "br", "img", "link", "hr", "input"}
NASTY = """<script>alert("1")</script> & 'quotes' "too" ]]> <!-- \x00\x1b\u202e é 日本"""


def make(query: PathEdge, probability: float, paths: tuple[ExplainedPath, ...]) -> Explanation:
    return Explanation(query, probability, paths, sum(path.added_drop for path in paths))


def make_path(nodes: list[str], relations: list[str], drop: float = 1.0, backwards: tuple[int, ...] = (),
              weight: float = 0.5) -> Any:  # fmt: skip
    """A path over some nodes; the steps in ``backwards`` are read from tail to head."""
    edges = []
    for i, relation in enumerate(relations):
        ends = (nodes[i + 1], nodes[i]) if i in backwards else (nodes[i], nodes[i + 1])
        edges.append(PathEdge(ends[0], relation, ends[1], i in backwards))
    return ExplainedPath(weight, drop, drop, tuple(edges), (weight / len(edges),) * len(edges))


@pytest.fixture(scope="module")
def make_explanation() -> Callable[[int], Explanation]:
    """So many random paths of one to six edges between two nodes, many of them shared, some in both orders."""

    def make_random(count: int) -> Explanation:
        generator = random.Random(count)
        between = [f"Node number {i} " + "with a very long name " * (i % 4) for i in range(12)]
        relations = ["r", "a relation", "/people/person/places_lived./people/place_lived/location", "日本語の関係"]
        paths: dict[Any, Any] = {}
        while len(paths) < count:
            nodes = ["Source", *generator.sample(between, generator.randrange(6)), "The answer"]
            steps = [generator.choice(relations) for _ in nodes[1:]]
            backwards = tuple(i for i in range(len(steps)) if generator.random() < 0.4)
            path = make_path(nodes, steps, generator.uniform(-0.2, 1), backwards)
            paths[path.edges] = path
        return make(PathEdge("Source", "query", "The answer"), 0.9, tuple(paths.values()))

    return make_random


@pytest.fixture(params=[0, 1, 3, 20, 60])
def explanation(request: pytest.FixtureRequest, make_explanation: Callable[[int], Explanation]) -> Explanation:
    return make_explanation(request.param)


class Balance(HTMLParser):
    """Whether every element that is opened is closed, in order; with the attributes of all of them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def pictures(explanation: Explanation) -> list[ElementTree.Element]:
    """The picture alone, and both of the page."""
    inside = re.findall(r"<svg .*?</svg>", draw_html(explanation), flags=re.DOTALL)
    assert len(inside) == 2
    return [ElementTree.fromstring(text) for text in (draw_svg(explanation), *inside)]


def groups(picture: ElementTree.Element, kind: str) -> list[ElementTree.Element]:
    return [g for g in picture.iter(f"{SVG}g") if kind in g.get("class", "").split()]


def title(group: ElementTree.Element) -> str:
    found = group.find(f"{SVG}title")
    assert found is not None and found.text
    return found.text


def box(group: ElementTree.Element) -> tuple[float, float, float, float]:
    rect = group.find(f"{SVG}rect")
    assert rect is not None
    x, y, width, height = (float(rect.get(name, "nan")) for name in ("x", "y", "width", "height"))
    return x, y, x + width, y + height


def test_every_node_and_edge_is_drawn_once(explanation: Explanation) -> None:
    edges = {edge for path in explanation.paths for edge in path.edges}
    nodes = {end for edge in edges for end in (edge.start, edge.end)}
    for picture in pictures(explanation):
        assert sorted(title(group) for group in groups(picture, "node")) == sorted(nodes)
        drawn = [title(group).rsplit(" (", 1)[0] for group in groups(picture, "edge")]
        assert sorted(drawn) == sorted(map(str, edges))


def test_nothing_lies_on_top_of_anything_else(explanation: Explanation) -> None:
    for picture in pictures(explanation):
        boxes = [box(group) for kind in ("node", "edge") for group in groups(picture, kind)]
        _, _, width, height = map(float, picture.get("viewBox", "").split())
        for left, top, right, bottom in boxes:
            assert -16 <= left < right <= width + 16
            assert -16 <= top < bottom <= height + 16
        for a, b in combinations(boxes, 2):
            apart = a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]
            assert apart, (a, b)


def test_text_stays_inside_its_box(explanation: Explanation) -> None:
    for picture in pictures(explanation):
        for kind, size in (("node", 13), ("edge", 11)):
            for group in groups(picture, kind):
                left, top, right, bottom = box(group)
                for text in group.iter(f"{SVG}text"):
                    assert text.text
                    assert text_width(text.text, size) <= right - left
                    assert top <= float(text.get("y", "nan")) <= bottom


def test_the_source_stands_first_and_the_answer_last(make_explanation: Callable[[int], Explanation]) -> None:
    wide, _, tall = pictures(make_explanation(20))
    for picture, axis in ((wide, 0), (tall, 1)):
        (source,), (answer,) = groups(picture, "source"), groups(picture, "answer")
        for node in groups(picture, "node"):
            if node not in (source, answer):
                assert box(source)[axis + 2] <= box(node)[axis] <= box(node)[axis + 2] <= box(answer)[axis]


def test_width_shows_what_deleting_does() -> None:
    """However the first-order importances lie: a path that the list says to carry the answer is not dashed."""
    paths = (make_path(["a", "b", "z"], ["r", "r"], 2.0, weight=-3.0), make_path(["a", "c", "z"], ["r", "r"], 1.0),
             make_path(["a", "d", "z"], ["r", "r"], -0.5, weight=9.0),
             make_path(["a", "d", "e", "z"], ["r", "s", "r"], 0.2), make_path(["a", "z"], ["r"], -0.0004))  # fmt: skip
    for picture in pictures(make(PathEdge("a", "q", "z"), 0.5, paths)):
        widths, dashed = {}, []
        for group in groups(picture, "edge"):
            line = group.find(f"{SVG}path")
            assert line is not None
            name = title(group)[:8]
            widths[name] = float(line.get("stroke-width", "nan"))
            dashed += [name] * ("against" in group.get("class", "").split())
        assert widths["a -r-> b"] > widths["a -r-> c"] > widths["d -r-> z"] > widths["a -r-> d"] > 0
        assert dashed == ["d -r-> z"]  # a -r-> d also leads to a path whose deletion costs something


def test_the_legend_says_what_lines_mean() -> None:
    for drop, dashes in ((1.0, False), (-1.0, True)):
        explanation = make(PathEdge("a", "q", "z"), 0.556, (make_path(["a", "z"], ["r"], drop),))
        for drawing in (draw_svg(explanation), draw_html(explanation)):
            assert "the further the score falls when a path over it is deleted" in drawing
            assert ("Dashed: the score rises when the path is deleted" in drawing) is dashes
            assert "Arrows point as the facts do" in drawing
            assert "probability 55.6%" in drawing
            assert "asked: a -q-&gt; ?" in drawing
            assert "0.556" not in drawing
        assert f"{-drop:+.3f} if deleted" in draw_html(explanation)
        assert "first-order importance" in draw_svg(explanation)
    nothing = make(PathEdge("a", "q", "z"), 0.5, ())
    assert all("Dashed" not in draw(nothing) and "wider" not in draw(nothing) for draw in (draw_svg, draw_html))


def test_a_predicted_head_is_asked_for() -> None:
    query = PathEdge("a", "q", "z", inverse=True)
    explanation = Explanation(query, 0.5, (make_path(["z", "a"], ["r"]),), 1.0, "head")
    for drawing in (draw_svg(explanation), draw_html(explanation)):
        assert "asked: ? -q-&gt; z" in drawing
    assert "a -q-&gt; z" in draw_svg(explanation)


def test_arrows_point_as_the_facts_do() -> None:
    picture = pictures(make(PathEdge("a", "q", "c"), 0.5, (make_path(["a", "b", "c"], ["r", "s"], 1.0, (1,)),)))[0]
    middle = next(group for group in groups(picture, "node") if title(group) == "b")
    for group, side in zip(groups(picture, "edge"), (0, 2), strict=True):  # both facts end in b
        arrow = group.find(f"{SVG}polygon")
        assert arrow is not None
        tip = float(arrow.get("points", "").split()[0].split(",")[0])
        assert tip == pytest.approx(box(middle)[side], abs=0.2)


def test_an_undirected_graph_has_no_arrows() -> None:
    path = ExplainedPath(1.0, 0.0, 0.0, (PathEdge("a", "edge", "b", directed=False),), (1.0,))
    picture = pictures(make(PathEdge("a", "edge", "b", directed=False), 0.5, (path,)))[0]
    assert len(groups(picture, "edge")) == 1
    assert list(picture.iter(f"{SVG}polygon")) == []


def test_source_and_answer_that_are_the_same_stand_twice() -> None:
    explanation = make(
        PathEdge("a", "q", "a"), 0.5, (make_path(["a", "b", "a"], ["r", "s"]), make_path(["a", "a"], ["r"]))
    )
    for picture in pictures(explanation):
        assert sorted(title(group) for group in groups(picture, "node")) == ["a", "a", "b"]


def test_names_alike_are_different_nodes() -> None:
    edges = (
        PathEdge("Q1", "r", "Q2", labels=("x", "r", "same"), ids=(0, 0, 1)),
        PathEdge("Q2", "r", "Q3", labels=("same", "r", "same"), ids=(1, 0, 2)),
        PathEdge("Q3", "r", "Q4", labels=("same", "r", "y"), ids=(2, 0, 3)),
    )
    explanation = make(PathEdge("Q1", "r", "Q4", labels=("x", "r", "y"), ids=(0, 0, 3)), 0.5,
                              (ExplainedPath(1.0, 0.0, 0.0, edges, (0.5, 0.3, 0.2)),))  # fmt: skip
    assert sorted(title(g) for g in groups(pictures(explanation)[0], "node")) == ["same", "same", "x", "y"]


def test_everything_is_escaped() -> None:
    explanation = make(
        PathEdge(NASTY, NASTY, "z" + NASTY), 0.5, (make_path([NASTY, "y" + NASTY, "z" + NASTY], [NASTY, NASTY]),)
    )
    for picture in pictures(explanation):
        assert not list(picture.iter(f"{SVG}script"))
        shown = {title(group) for group in groups(picture, "node")}
        assert any(name.startswith("y<script>alert(\"1\")</script> & 'quotes'") for name in shown)
    page = Balance(draw_html(explanation))
    assert [tag for tag, _ in page.elements].count("script") == 1
    assert not any(name.startswith("on") for _, attributes in page.elements for name in attributes)


def test_the_page_is_whole_and_needs_nothing_else(explanation: Explanation) -> None:
    text = draw_html(explanation)
    page = Balance(text)
    assert text.startswith("<!doctype html>")
    buttons = [attributes for tag, attributes in page.elements if tag == "button"]
    assert [button["data-path"] for button in buttons] == [str(i) for i in range(len(explanation.paths))]
    addresses = re.findall(r"https?://[^\"' <]+", text)
    assert set(addresses) <= {"http://www.w3.org/2000/svg"}
    assert not any({"src", "href"} & attributes.keys() for _, attributes in page.elements)
    plain = unescape("".join(page.text))
    for path in explanation.paths:
        assert all(edge.label in plain and edge.end.strip() in plain for edge in path.edges)


def test_parts_know_their_paths(make_explanation: Callable[[int], Explanation]) -> None:
    explanation = make_explanation(20)
    for picture in pictures(explanation):
        for group in groups(picture, "edge"):
            name = title(group).rsplit(" (", 1)[0]
            owners = [i for i, path in enumerate(explanation.paths) if name in map(str, path.edges)]
            assert group.get("data-paths") == " ".join(map(str, owners))


def test_shortened_text() -> None:
    assert fit_lines("short", 13, 100) == ["short"]
    assert fit_lines("", 13, 100) == ["(no name)"]
    for text in ("word " * 30, "x" * 100, "日本" * 50, "/a/long/path" * 9, "a-b_c " * 20):
        for lines in (1, 2, 3):
            fitted = fit_lines(text, 13, 90, lines)
            assert 1 <= len(fitted) <= lines
            assert all(text_width(line, 13) <= 90 for line in fitted)
            assert any("…" in line for line in fitted)


def test_spread_keeps_order_and_distance() -> None:
    generator = random.Random(0)
    for _ in range(50):
        wanted = [generator.uniform(0, 10) for _ in range(generator.randrange(1, 8))]
        distances = [generator.uniform(0, 4) for _ in wanted[1:]]
        found = spread(wanted, distances)
        assert all(b - a >= d - 1e-9 for a, b, d in zip(found, found[1:], distances, strict=False))
        moved = sum((f - w) ** 2 for f, w in zip(found, wanted, strict=True))
        for i in range(len(found)):  # no single place, moved a little within its room, would be nearer
            for step in (-1e-4, 1e-4):
                other = [*found[:i], found[i] + step, *found[i + 1 :]]
                if all(b - a >= d - 1e-9 for a, b, d in zip(other, other[1:], distances, strict=False)):
                    assert sum((o - w) ** 2 for o, w in zip(other, wanted, strict=True)) >= moved - 1e-9


CHECK = """
<script>
  var told = [];
  var buttons = document.querySelectorAll("button[data-path]");
  var wide = document.querySelector(".wide svg");
  function lit() { return wide.querySelectorAll(".edge.chosen").length; }
  told.push(lit());
  buttons[0].dispatchEvent(new Event("mouseenter")); told.push(lit());
  buttons[0].dispatchEvent(new Event("mouseleave")); told.push(lit());
  buttons[1].click(); told.push(lit());
  buttons[0].dispatchEvent(new Event("mouseenter"));
  buttons[0].dispatchEvent(new Event("mouseleave")); told.push(lit());
  buttons[1].click(); told.push(lit());
  wide.querySelector(".node.source").dispatchEvent(new Event("mouseenter")); told.push(lit());
  told.push(document.documentElement.scrollWidth <= window.innerWidth);
  document.title = told.join(" ");
</script>
"""


@pytest.mark.parametrize("width", [500, 1200])
def test_the_page_in_a_browser(make_explanation: Callable[[int], Explanation], tmp_path: Path, width: int) -> None:
    """Pointing at a path lights exactly its edges; a click keeps them lit, the next one lets go."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("needs a browser: neither chromium nor google-chrome is there")
    explanation = make_explanation(20)
    page = tmp_path / "page.html"
    page.write_text(draw_html(explanation) + CHECK, encoding="utf-8")
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}",
               f"--window-size={width},900", "--dump-dom", page.as_uri()]  # fmt: skip
    run = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    told = re.search(r"<title>([^<]*)</title>", run.stdout)
    assert told is not None, run.stderr
    first, second = (len(path.edges) for path in explanation.paths[:2])
    every = len({edge for path in explanation.paths for edge in path.edges})
    assert told[1] == f"0 {first} 0 {second} {second} 0 {every} true"
