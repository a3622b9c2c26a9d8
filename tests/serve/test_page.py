"""The page in a real browser: what a person does with it, by mouse, by keyboard and on a phone."""

from __future__ import annotations

import csv
import io
import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit
from xml.etree import ElementTree

import pytest

import nbfnet
from nbfnet.serve.asked_run import AskedRun

ASK = "/ask?head=captopril&relation=treats"
WHY = "/why?head=captopril&relation=treats&tail=heart+failure"
VIEWS = {
    "home": "/",
    "entity": "/entity?name=captopril",
    "ask": ASK,
    "why": WHY,
    "card": "/card",
    "docs": "/docs",
    "licences": "/licences",
    "unknown name": "/entity?name=nobody",
    "no such page": "/",
}
PHONE = {"width": 390, "height": 844}


class Visit:
    """A page of the browser that notes everything it asks for and every complaint."""

    def __init__(self, context: Any, url: str) -> None:
        self.page, self._url = context.new_page(), url
        self.page.set_default_timeout(60_000)  # a busy machine must not fail a test
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("console", lambda message: self._note(message))

    def _note(self, message: Any) -> None:
        if (
            message.type in ("error", "warning")
            and "status of 4" not in message.text
            and "status of 5" not in message.text
        ):
            self.complaints.append(message.text)

    def open(self, path: str) -> Any:
        self.page.goto(self._url + path)
        self.settle()
        return self.page

    def settle(self) -> None:
        self.page.wait_for_selector("main:not([aria-busy]) h1")

    @property
    def title(self) -> str:
        return self.page.locator("h1").inner_text()

    @property
    def answers(self) -> list[str]:
        return self.page.locator(".answers .name").all_inner_texts()


@pytest.fixture
def visit(browser: Any, drugs: Any) -> Iterator[Callable[..., Visit]]:
    """Opens a window of its own on a server, and checks in the end that nothing went elsewhere and nothing broke."""
    visits: list[tuple[Visit, Any, str]] = []

    def open_window(server: Any = drugs, **options: Any) -> Visit:
        context = browser.new_context(**{"viewport": {"width": 1200, "height": 850}, **options})
        made = Visit(context, server.url)
        visits.append((made, context, server.url))
        return made

    yield open_window
    for made, context, url in visits:
        made.page.unroute_all()
        context.close()
        elsewhere = [each for each in made.requests if not each.startswith((url, "data:", "blob:"))]
        assert elsewhere == []
        assert made.complaints == []


def test_search_finds_an_entity_while_typing(visit) -> None:
    window = visit()
    page = window.open("/")
    page.get_by_role("combobox").last.fill("captoprl")  # misspelt
    page.get_by_role("option", name="captopril").first.click()
    page.wait_for_url("**/entity?name=captopril")
    window.settle()
    assert "captopril" in window.title
    assert "drug" in page.locator(".title .type").inner_text()


def test_a_relation_that_makes_sense_leads_to_answers(visit, drugs_run: nbfnet.Run) -> None:
    window = visit()
    page = window.open("/entity?name=captopril")
    ways = page.locator(".ways").first.locator("a").all_inner_texts()
    assert len(ways) == 2 and all("captopril" in way for way in ways)  # treats and targets, of which a drug is the head
    page.locator(".ways a", has_text="treats").first.click()
    page.wait_for_selector(".answers")
    expected = drugs_run.predict("captopril", "treats")
    assert window.answers == [answer.label for answer in expected]
    known = page.locator("li.known .name").all_inner_texts()
    assert known == [answer.label for answer in expected if answer.known] != []
    shown = page.locator(".answers .percent").all_inner_texts()
    assert len(shown) == len(expected) and all(re.fullmatch(r"[<>]?\d+\.\d%", each) for each in shown)
    widths = page.locator(".answers .bar > span").evaluate_all("bars => bars.map(bar => parseFloat(bar.style.width))")
    assert widths == pytest.approx([max(0.5, 100 * answer.probability) for answer in expected], abs=0.1)


def test_an_answer_leads_to_its_paths_in_words_and_as_a_graph(visit, drugs_run: nbfnet.Run) -> None:
    window = visit()
    page = window.open(ASK)
    page.locator("a.answer", has_text="heart failure").click()
    page.wait_for_selector(".stage canvas")
    explanation = drugs_run.explain("captopril", "treats", "heart failure")
    assert page.locator(".path").count() == len(explanation.paths)
    hops = page.locator(".sentence").all_inner_texts()
    edges = [edge for path in explanation.paths for edge in path.edges]
    arrows = [f"← {edge.label} —" if edge.inverse else f"— {edge.label} →" for edge in edges]
    assert sorted(hops) == sorted(f"{e.start} {arrow} {e.end}" for e, arrow in zip(edges, arrows, strict=True))
    groups = page.locator(".pattern").count()
    assert groups == len({tuple(edge.arrow for edge in path.edges) for path in explanation.paths})


def test_only_one_path_is_shown_and_has_an_address(visit) -> None:
    window = visit()
    page = window.open(WHY)
    page.get_by_role("button", name="Show only this path").nth(1).click()
    assert parse_qs(urlsplit(page.url).query)["path"]
    assert page.locator("button[aria-pressed=true]").count() == 1
    again = visit()
    there = again.open(page.url.removeprefix(f"{urlsplit(page.url).scheme}://{urlsplit(page.url).netloc}"))
    assert there.locator("button[aria-pressed=true]").inner_text() == "Show all paths"


def test_relations_can_be_hidden(visit) -> None:
    window = visit()
    page = window.open(WHY)
    page.wait_for_selector(".stage canvas")
    picture = "[...document.querySelectorAll('.stage canvas')].map(canvas => canvas.toDataURL()).join()"
    page.wait_for_timeout(300)
    before = page.evaluate(picture)
    page.locator(".relations input").first.uncheck()
    page.wait_for_function(f"before => {picture} !== before", arg=before)
    page.locator(".relations input").first.check()
    page.wait_for_function(f"before => {picture} === before", arg=before)


def test_walking_on_from_a_node_of_the_graph(visit) -> None:
    window = visit()
    page = window.open(WHY)
    page.wait_for_selector(".stage canvas")
    page.locator(".stage").focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("document.querySelector('.hover-note').textContent.includes('Enter goes to it')")
    chosen = page.locator(".hover-note").inner_text()
    page.keyboard.press("Enter")
    page.wait_for_url("**/entity?name=*")
    window.settle()
    assert chosen.startswith(window.title)


def test_a_click_on_a_node_walks_on(visit) -> None:
    """The first node stands at the left edge of the picture, in the middle of its box."""
    window = visit()
    page = window.open(WHY)
    page.wait_for_selector(".stage canvas")
    box = page.locator(".stage").bounding_box()
    for x in range(20, int(box["width"] / 2), 15):
        for y in range(15, int(box["height"]), 15):
            page.mouse.move(box["x"] + x, box["y"] + y)
            if "on " in page.locator(".hover-note").inner_text() and page.locator(".stage.pointing").count():
                name = page.locator(".hover-note").inner_text()
                page.mouse.click(box["x"] + x, box["y"] + y)
                page.wait_for_url("**/entity?name=*")
                window.settle()
                assert name.startswith(window.title)
                return
    pytest.fail("no node was met")


def test_what_if_a_fact_were_there(visit, drugs_run: nbfnet.Run) -> None:
    window = visit()
    page = window.open("/ask?head=captopril&relation=treats")
    before = window.answers
    page.locator(".what-if summary").click()
    page.get_by_label("Relation of the fact").select_option("targets")
    page.get_by_label("Tail of the fact").fill("COX-2")
    page.get_by_role("button", name="Add", exact=True).click()
    page.wait_for_selector(".compare")
    columns = page.locator(".compare ol")
    assert columns.nth(0).locator(".name").all_inner_texts() == before
    expected = drugs_run.with_facts([("captopril", "targets", "COX-2")]).predict("captopril", "treats")
    assert columns.nth(1).locator(".name").all_inner_texts() == [answer.label for answer in expected]
    assert page.locator(".moved").all_inner_texts() != ["="] * len(expected)  # something changed
    other = visit()
    other.open("/ask?head=captopril&relation=treats")
    assert (
        other.answers == before and other.page.locator(".compare").count() == 0
    )  # another browser knows nothing of it
    page.get_by_role("button", name="Take everything back").click()
    page.wait_for_selector(".compare", state="detached")
    assert window.answers == before


def test_what_if_a_fact_of_a_path_were_not_there(visit) -> None:
    window = visit()
    page = window.open(WHY)
    sentence = page.locator(".sentence").first.inner_text()
    page.get_by_role("button", name=re.compile("^What if not")).first.click()
    page.wait_for_selector(".verdict .was")
    assert "removed" in page.locator(".edits").inner_text()
    assert sentence not in page.locator(".sentence").all_inner_texts()


def test_a_fact_that_is_not_whole_is_not_sent(visit) -> None:
    window = visit()
    page = window.open(ASK)
    page.locator(".what-if summary").click()
    page.get_by_label("Tail of the fact").fill("")
    page.get_by_role("button", name="Add", exact=True).click()
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "Tail of the fact"
    assert page.locator(".compare").count() == 0


def test_a_deep_link_shows_its_view(visit) -> None:
    window = visit()
    window.open(ASK + "&k=25&new=1")
    assert "captopril" in window.title and "?" in window.title
    assert window.page.locator("li.known").count() == 0
    assert window.page.get_by_label("Answers", exact=False).first.input_value() == "25"
    assert "captopril" in window.page.title()


def test_back_and_forward(visit) -> None:
    window = visit()
    page = window.open("/entity?name=captopril")
    page.locator(".ways a", has_text="treats").first.click()
    page.wait_for_selector(".answers")
    page.locator("a.answer").first.click()
    page.wait_for_selector(".verdict")
    page.go_back()
    page.wait_for_selector(".answers")
    page.go_back()
    page.wait_for_selector(".entity")
    assert page.url.endswith("/entity?name=captopril")
    page.go_forward()
    page.wait_for_selector(".answers")
    assert "relation=treats" in page.url


def test_nothing_is_found_and_no_path_leads_there(visit, start, things_run: nbfnet.Run) -> None:
    window = visit()
    page = window.open("/")
    page.get_by_role("combobox").last.fill("qqqqqq")
    page.get_by_text("No entity has such a name").wait_for()
    window.open("/entity?name=captoprill")
    assert window.title == "Not in this graph"
    assert page.locator(".chips a").first.inner_text() == "captopril"
    page.locator(".chips a").first.click()
    page.wait_for_selector(".entity")
    far = visit(start(things_run))
    far.open("/why?head=alone+5&relation=next+to&tail=alone+6")
    assert "No path leads there" in far.page.locator(".empty").inner_text()


def test_a_failing_server_is_told_and_tried_again(visit, start, things_run: nbfnet.Run, monkeypatch) -> None:
    broken = threading.Event()
    broken.set()
    ask = AskedRun.predict

    def sometimes(self: AskedRun, *query: Any) -> Any:
        if broken.is_set():
            raise RuntimeError("a secret of the server")
        return ask(self, *query)

    monkeypatch.setattr(AskedRun, "predict", sometimes)
    window = visit(start(things_run))
    page = window.open("/ask?head=a,b&relation=next+to")
    assert window.title == "Something went wrong"
    assert "secret" not in page.content()
    broken.clear()
    page.get_by_role("button", name="Try again").click()
    page.wait_for_selector(".answers")


def test_a_server_that_is_gone_is_told(visit) -> None:
    window = visit()
    page = window.open("/entity?name=captopril")
    page.route("**/api/**", lambda route: route.abort())
    page.locator(".ways a").first.click()
    page.get_by_text("The server cannot be reached").wait_for()
    window.complaints = [each for each in window.complaints if "ERR_FAILED" not in each]


def test_a_token_is_asked_for_once(visit, start, things_run: nbfnet.Run) -> None:
    server = start(things_run, token="s3cret")
    window = visit(server)
    page = window.open("/card")
    assert window.title == "This server asks for a token"
    page.get_by_label("Token").fill("s3cret")
    page.get_by_role("button", name="Continue").click()
    page.wait_for_selector(".card")
    assert "s3cret" not in page.url
    linked = visit(server)
    there = linked.open("/card#token=s3cret")
    assert linked.title == "Model card" and "token" not in there.url
    assert not any("s3cret" in each for each in linked.requests[1:])


@pytest.mark.parametrize("view", ["home", "entity", "ask", "why", "card", "docs"])
def test_a_phone_never_scrolls_sideways(visit, view: str) -> None:
    window = visit(viewport=PHONE, has_touch=True, is_mobile=True)
    page = window.open(VIEWS[view])
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


def test_what_if_and_answers_fit_a_phone(visit) -> None:
    window = visit(viewport=PHONE, has_touch=True, is_mobile=True)
    page = window.open(ASK)
    page.locator(".what-if summary").tap()
    page.get_by_label("Tail of the fact").fill("fever")
    page.get_by_role("button", name="Add", exact=True).tap()
    page.wait_for_selector(".compare")
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


def test_dark_and_light(visit) -> None:
    def brightness(page: Any) -> int:
        colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
        return sum(map(int, re.findall(r"\d+", colour)[:3]))

    light, dark = visit(color_scheme="light"), visit(color_scheme="dark")
    assert brightness(light.open("/")) > 600
    page = dark.open("/")
    assert brightness(page) < 150
    page.get_by_role("button", name="Use light colours").click()
    assert brightness(page) > 600
    assert brightness(dark.open("/card")) > 600  # it stays as chosen


def test_everything_can_be_done_with_the_keyboard_alone(visit) -> None:
    window = visit()
    page = window.open("/card")
    page.keyboard.press("/")  # into the search box
    page.keyboard.type("capto")
    page.get_by_role("option").first.wait_for()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    page.wait_for_selector(".entity")
    assert page.evaluate("document.activeElement.tagName") == "H1"  # where reading goes on
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('.ways') !== null")
    page.keyboard.press("Enter")
    page.wait_for_selector(".answers")
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.classList.contains('answer')"):
            break
    page.keyboard.press("Enter")
    page.wait_for_selector(".verdict")
    for _ in range(30):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.classList.contains('stage')"):
            break
    for key in ("+", "-", "0", "ArrowRight", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    page.wait_for_selector(".entity")
    page.evaluate("document.querySelector('.ways a').focus({focusVisible: true})")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineWidth") == "3px"


def test_answers_are_saved_as_csv(visit, drugs_run: nbfnet.Run) -> None:
    window = visit(accept_downloads=True)
    page = window.open(ASK)
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save as CSV").click()
    rows = list(csv.DictReader(io.StringIO(Path(saved.value.path()).read_text(encoding="utf-8"), newline="")))
    expected = drugs_run.predict("captopril", "treats")
    assert [row["answer"] for row in rows] == [answer.name for answer in expected]
    assert [float(row["probability"]) for row in rows] == pytest.approx([answer.probability for answer in expected])


def test_the_picture_is_saved_as_svg_and_png(visit) -> None:
    window = visit(accept_downloads=True)
    page = window.open(WHY)
    page.wait_for_selector(".stage canvas")
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save as SVG").click()
    drawing = ElementTree.fromstring(Path(saved.value.path()).read_text(encoding="utf-8"))
    words = {text.text for text in drawing.iter("{http://www.w3.org/2000/svg}text")}
    assert {"captopril", "heart failure"} <= words
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save as PNG").click()
    assert Path(saved.value.path()).read_bytes().startswith(b"\x89PNG")


def test_the_command_line_is_there_to_copy(visit, drugs_run: nbfnet.Run) -> None:
    window = visit()
    page = window.open(ASK)
    page.get_by_text("Command line").click()
    assert (
        page.locator(".command code").inner_text()
        == f"nbfnet predict {drugs_run.folder.path} --head captopril --relation treats -k 10"
    )


def test_hostile_names_are_inert(visit, start, hostile_run: nbfnet.Run) -> None:
    server = start(hostile_run)
    window = visit(server)
    names = list(hostile_run.graph.entities)
    first, relation = names[0], hostile_run.graph.relations[0]
    for path in (
        "/",
        f"/entity?name={quote(first)}",
        f"/ask?head={quote(first)}&relation={quote(relation)}",
        f"/why?head={quote(first)}&relation={quote(relation)}&tail={quote(names[1])}",
        f"/entity?name={quote('<img src=x onerror=alert(1)>no such name')}",
        "/card",
    ):
        page = window.open(path)
        assert page.locator("main img, main script, main b, main u, main i:not(.key)").count() == 0
        assert page.title() != "owned" and not page.title().startswith("owned")
        shown = page.locator("main").inner_text()
        assert not re.search("[\u202e\x00\x07]", shown)
    page = window.open(f"/entity?name={quote(names[2])}")
    assert "\\u202e" in window.title


def test_the_policy_stops_what_is_inline(visit) -> None:
    window = visit()
    page = window.open("/")
    inline = "Object.assign(document.createElement('script'), {textContent: \"document.title='owned'\"})"
    page.evaluate(f"document.body.append({inline})")
    assert page.title() != "owned"
    assert any("Content Security Policy" in each for each in window.complaints)
    window.complaints.clear()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_no_view_has_a_serious_fault_of_accessibility(visit, packages: Path, theme: str) -> None:
    """axe-core looks at every view, with what can be opened in it opened."""
    axe = (packages / "node_modules" / "axe-core" / "axe.min.js").read_text(encoding="utf-8")
    window = visit(color_scheme=theme, bypass_csp=True, reduced_motion="reduce")
    faults = []
    for name, path in [*VIEWS.items(), ("what if", ASK)]:
        page = window.open(path)
        if name == "no such page":
            page.evaluate("history.pushState(null, '', '/nowhere'); dispatchEvent(new PopStateEvent('popstate'))")
            page.get_by_text("There is no such page").wait_for()
        if name == "what if":
            page.locator(".what-if summary").click()
            page.get_by_label("Tail of the fact").fill("fever")
            page.get_by_role("button", name="Add", exact=True).click()
            page.wait_for_selector(".compare")
        page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")
        if name == "home":
            page.get_by_role("combobox").last.fill("cap")
            page.get_by_role("option").first.wait_for()
        page.evaluate(axe)
        found = page.evaluate("axe.run().then(result => result.violations)")
        faults += [(name, each["id"], each["impact"], [node["target"] for node in each["nodes"]][:3]) for each in found]
    assert [fault for fault in faults if fault[2] in ("serious", "critical")] == []
