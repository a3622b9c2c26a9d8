"""The API gives what the run gives, by name, and never mixes up sessions."""

from __future__ import annotations

import hashlib
import shlex
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch

import nbfnet
from nbfnet.serve.asked_run import AskedRun

ASKED = {"head": "captopril", "relation": "treats"}
LINK = {"head": "captopril", "relation": "treats", "tail": "heart failure"}


def digest(folder: Path) -> dict[str, str]:
    files = (file for file in sorted(folder.rglob("*")) if file.is_file())
    return {str(file): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


@pytest.mark.parametrize(
    "query",
    [
        {"head": "captopril", "relation": "treats"},
        {"relation": "treats", "tail": "fever"},
        {"head": "captopril", "tail": "hypertension"},
        {"head": "captopril", "relation": "treats", "any_type": True},
        {"head": "captopril", "relation": "treats", "exclude_known": True, "k": 3},
    ],
)
def test_predictions_are_those_of_the_run(drugs, drugs_run: nbfnet.Run, query: dict[str, Any]) -> None:
    response = drugs.get("/api/predict", **query)
    assert response.status_code == 200, response.text
    expected = drugs_run.predict(**query)
    listed = [(a["name"], a["known"], a["rank"]) for a in response.json()["answers"]]
    assert listed == [(a.name, a.known, a.rank) for a in expected]
    assert [a["probability"] for a in response.json()["answers"]] == pytest.approx([a.probability for a in expected])
    assert response.json()["asked"] == expected.asked


def test_answers_have_types_and_a_command_to_copy(drugs, drugs_run: nbfnet.Run) -> None:
    found = drugs.get("/api/predict", **ASKED, k=3).json()
    assert {answer["type"] for answer in found["answers"]} == {"disease"}
    assert found["query"]["head"]["type"] == "drug"
    command = shlex.split(found["command"])
    assert command == [
        "nbfnet",
        "predict",
        str(drugs_run.folder.path),
        *shlex.split("--head captopril --relation treats -k 3"),
    ]


def test_an_entity_of_a_type_is_asked_for_by_type(drugs) -> None:
    found = drugs.http.get("/api/predict", params=[*ASKED.items(), ("type", "protein"), ("k", 50)]).json()
    assert {answer["type"] for answer in found["answers"]} == {"protein"}


@pytest.mark.parametrize("asked", ["tail", "head"])
def test_explanations_are_those_of_the_run(drugs, drugs_run: nbfnet.Run, asked: Any) -> None:
    found = drugs.get("/api/explain", **LINK, k=3, asked=asked).json()
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # as a worker does: sums in another order differ in their last digits
    expected = drugs_run.explain(*LINK.values(), k=3, asked=asked)
    torch.set_num_threads(threads)
    assert [path["sentence"] for path in found["paths"]] == [str(path) for path in expected.paths]
    assert found["probability"] == pytest.approx(expected.probability)
    for path, other in zip(found["paths"], expected.paths, strict=True):
        assert [edge["importance"] for edge in path["edges"]] == pytest.approx(list(other.importance))
        assert path["deletion_drop"] == pytest.approx(other.deletion_drop, abs=1e-5)
    assert sorted(number for pattern in found["patterns"] for number in pattern["paths"]) == [0, 1, 2]
    assert ("--asked" in found["command"]) == (asked == "head")


def test_paths_of_one_pattern_are_together(drugs) -> None:
    found = drugs.get("/api/explain", **LINK, k=20).json()
    assert len(found["patterns"]) < len(found["paths"])
    for pattern in found["patterns"]:
        assert {found["paths"][number]["pattern"] for number in pattern["paths"]} == {pattern["pattern"]}


def test_relations_that_make_sense_come_first(drugs) -> None:
    ways = drugs.get("/api/relations", entity="captopril").json()["relations"]
    sensible = [(way["name"], way["asked"]) for way in ways if way["sensible"]]
    assert set(sensible) == {("treats", "tail"), ("targets", "tail")}  # a drug is the head of both
    assert [way["sensible"] for way in ways] == sorted((way["sensible"] for way in ways), reverse=True)
    assert len(ways) == 6
    assert len(drugs.get("/api/relations").json()["relations"]) == 3


def test_neighbours_are_the_facts(drugs, drugs_run: nbfnet.Run) -> None:
    found = drugs.get("/api/neighbours", entity="ACE", limit=500).json()
    graph, node = drugs_run.graph, drugs_run.graph.entities.id("ACE")
    facts = zip(*(getattr(graph.triplets, part).tolist() for part in ("head", "relation", "tail")), strict=True)
    expected = set()
    for head, relation, tail in facts:
        if head == node:
            expected.add((graph.relations[relation], "tail", graph.entities[tail]))
        if tail == node:
            expected.add((graph.relations[relation], "head", graph.entities[head]))
    assert {(f["relation"]["name"], f["asked"], f["other"]["name"]) for f in found["facts"]} == expected
    assert found["count"] == len(expected)


def test_a_homogeneous_graph_needs_no_relation(start, friends_run: nbfnet.Run) -> None:
    server = start(friends_run)
    assert [a["name"] for a in server.get("/api/predict", head="a0").json()["answers"]] == [
        a.name for a in friends_run.predict("a0")
    ]
    found = server.get("/api/explain", head="a0", tail="a5").json()
    assert "--asked" not in found["command"] and not found["query"]["directed"]
    ways = server.get("/api/relations", entity="a0").json()["relations"]
    assert [way["asked"] for way in ways] == ["tail"]
    assert server.get("/api/neighbours", entity="a0").json()["count"] == 4
    facts = server.http.post(
        "/api/facts", json={"remove": [{"head": "b0", "tail": "a0"}]}
    ).json()  # the other way round
    session = {"nbfnet-session": facts["session"]}
    without = server.http.get("/api/neighbours", params={"entity": "a0"}, headers=session).json()
    assert "b0" not in {fact["other"]["name"] for fact in without["facts"]}


@pytest.mark.parametrize(
    ("path", "status", "word"),
    [
        ("/api/predict?head=captoprill&relation=treats", 404, "captopril"),
        ("/api/predict?head=captopril&relation=cures", 404, "treats"),
        ("/api/predict?head=captopril", 422, "exactly one"),
        ("/api/predict?head=captopril&relation=treats&k=0", 422, "k"),
        ("/api/predict?head=captopril&relation=treats&k=201", 422, "200"),
        ("/api/predict?head=captopril&relation=treats&k=many", 422, "k"),
        ("/api/predict?head=captopril&relation=treats&type=planet", 404, "planet"),
        (f"/api/predict?relation=treats&head={'x' * 1001}", 422, "1000"),
        ("/api/explain?head=captopril&relation=treats", 422, "tail"),
        ("/api/explain?head=captopril&relation=treats&tail=fever&k=21", 422, "20"),
        ("/api/explain?head=captopril&tail=fever", 422, "relation"),
        ("/api/explain?head=captopril&relation=treats&tail=fever&asked=both", 422, "asked"),
        ("/api/neighbours", 422, "entity"),
        ("/api/nothing", 404, "address"),
        ("/api/entities?limit=51", 422, "50"),
    ],
)
def test_mistakes_are_named(drugs, path: str, status: int, word: str) -> None:
    response = drugs.http.get(path)
    assert response.status_code == status
    assert word in response.json()["error"]["message"]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"{", 400),
        (b"[]", 422),
        (b'{"add": [{"head": "a", "relation": "treats"}]}', 422),
        (b'{"add": [{"head": "", "relation": "treats", "tail": "fever"}]}', 422),
        (b'{"add": [{"head": "a", "relation": "cures", "tail": "fever"}]}', 404),
        (b'{"add": [{"head": "a", "tail": "fever"}]}', 422),
        (b'{"add": [{"head": "\\ud800", "relation": "treats", "tail": "fever"}]}', 422),
        (b'{"more": []}', 422),
        (b"\xff\xfe", 400),
    ],
)
def test_facts_that_cannot_be_are_refused(drugs, body: bytes, status: int) -> None:
    response = drugs.http.post("/api/facts", content=body, headers={"content-type": "application/json"})
    assert response.status_code == status, response.text
    assert response.json()["error"]["message"]


def test_what_if_is_what_the_run_says_on_such_a_graph(drugs, drugs_run: nbfnet.Run) -> None:
    before = digest(drugs_run.folder.path)
    added = {"head": "newdrug", "relation": "targets", "tail": "ACE"}
    facts = drugs.http.post("/api/facts", json={"add": [added]}).json()
    headers = {"nbfnet-session": facts["session"]}
    question = {"head": "newdrug", "relation": "treats"}
    found = drugs.http.get("/api/predict", params=question, headers=headers).json()
    expected = drugs_run.with_facts([("newdrug", "targets", "ACE")]).predict("newdrug", "treats")
    assert [a["name"] for a in found["answers"]] == [a.name for a in expected]
    assert [a["probability"] for a in found["answers"]] == pytest.approx([a.probability for a in expected])
    assert found["what_if"]
    assert drugs.get("/api/predict", **question).status_code == 404  # nobody else knows it
    assert digest(drugs_run.folder.path) == before


def test_a_removed_fact_is_gone_and_comes_back(drugs, drugs_run: nbfnet.Run) -> None:
    fact = {"head": "captopril", "relation": "treats", "tail": "hypertension"}
    session = drugs.http.post("/api/facts", json={"remove": [fact]}).json()["session"]
    headers = {"nbfnet-session": session}

    def known() -> set[str]:
        answers = drugs.http.get("/api/predict", params={**ASKED, "k": 50}, headers=headers).json()["answers"]
        return {answer["name"] for answer in answers if answer["known"]}

    everything = {a.name for a in drugs_run.predict(**ASKED, k=50) if a.known}
    assert known() == everything - {"hypertension"}
    taken_back = drugs.http.post("/api/facts", json={"add": [fact]}, headers=headers).json()
    assert taken_back["added"] == taken_back["removed"] == []
    assert known() == everything
    drugs.http.delete("/api/facts", headers=headers)
    gone = drugs.http.get("/api/predict", params=ASKED, headers=headers)
    assert gone.status_code == 404 and gone.json()["error"]["kind"] == "unknown_session"


def test_adding_a_known_fact_or_removing_an_unknown_one_changes_nothing(drugs) -> None:
    known = {"head": "captopril", "relation": "treats", "tail": "hypertension"}
    unknown = {"head": "captopril", "relation": "treats", "tail": "fever"}
    found = drugs.http.post("/api/facts", json={"add": [known], "remove": [unknown]}).json()
    assert found["added"] == found["removed"] == []


def test_sessions_at_the_same_time_never_mix(drugs, drugs_run: nbfnet.Run) -> None:
    proteins = [drugs_run.graph.entities[i] for i in range(drugs_run.graph.num_nodes)]
    targets = [
        name for name in proteins if drugs.get("/api/neighbours", entity=name).json()["entity"]["type"] == "protein"
    ]
    sessions = {}
    for number, protein in enumerate(targets[:6]):
        fact = {"head": f"drug of session {number}", "relation": "targets", "tail": protein}
        sessions[number] = (drugs.http.post("/api/facts", json={"add": [fact]}).json()["session"], protein)

    def ask(number: int) -> bool:
        session, protein = sessions[number % len(sessions)]
        name = f"drug of session {number % len(sessions)}"
        found = drugs.http.get("/api/neighbours", params={"entity": name}, headers={"nbfnet-session": session}).json()
        return [fact["other"]["name"] for fact in found["facts"]] == [protein]

    with ThreadPoolExecutor(6) as threads:
        assert all(threads.map(ask, range(120)))


def test_a_label_that_several_share_is_not_a_new_entity(start, things_run: nbfnet.Run) -> None:
    server = start(things_run)
    shared = server.http.post("/api/facts", json={"add": [{"head": "Twin", "relation": "next to", "tail": "a,b"}]})
    assert shared.status_code == 404 and "stands for 2" in shared.json()["error"]["message"]
    own = server.http.post("/api/facts", json={"add": [{"head": "Fifth leaf", "relation": "next to", "tail": "a,b"}]})
    assert own.json()["added"][0]["head"]["name"] == "leaf 5"


def test_an_edge_of_a_homogeneous_graph_is_added_once(start, friends_run: nbfnet.Run) -> None:
    server = start(friends_run)
    both = [{"head": "a0", "tail": "a5"}, {"head": "a5", "tail": "a0"}]
    facts = server.http.post("/api/facts", json={"add": both}).json()
    assert len(facts["added"]) == 1
    headers = {"nbfnet-session": facts["session"]}
    assert server.http.post("/api/facts", json={"remove": both[1:]}, headers=headers).json()["added"] == []


def test_too_many_facts_of_a_session_are_refused(start, things_run: nbfnet.Run) -> None:
    server = start(things_run, facts=2)
    facts = [{"head": f"new {i}", "relation": "next to", "tail": "a,b"} for i in range(3)]
    assert server.http.post("/api/facts", json={"add": facts}).json()["error"]["kind"] == "too_many_facts"
    assert server.http.post("/api/facts", json={"add": facts[:2]}).status_code == 200


def test_the_server_stays_well_while_workers_are_busy(start, things_run: nbfnet.Run, monkeypatch) -> None:
    free, asked = threading.Event(), AskedRun.predict

    def slow(self: AskedRun, *query: Any) -> Any:
        free.wait(60)
        return asked(self, *query)

    monkeypatch.setattr(AskedRun, "predict", slow)
    server = start(things_run, workers=1, waiting=1)
    question = {"head": "a,b", "relation": "next to"}
    with ThreadPoolExecutor(4) as threads:
        waiting = [threads.submit(server.get, "/api/predict", **question) for _ in range(3)]
        refused = next(response for future in waiting if (response := _refusal(waiting)) is not None)
        assert refused.status_code == 429 and refused.headers["retry-after"] == "1"
        assert server.get("/api/health").json()["status"] == "ok"
        assert server.get("/api/entities", q="leaf").json()["entities"]
        assert "nbfnet_computations_in_flight 2" in server.get("/api/metrics").text
        free.set()
        assert sorted(future.result().status_code for future in waiting) == [200, 200, 429]


def _refusal(waiting: list[Any]) -> Any:
    """The response that comes while two are still being computed."""
    from concurrent.futures import FIRST_COMPLETED, wait

    done, _ = wait(waiting, timeout=60, return_when=FIRST_COMPLETED)
    return next(iter(done)).result()


def test_a_question_that_takes_too_long_is_given_up(start, things_run: nbfnet.Run, monkeypatch) -> None:
    free, asked = threading.Event(), AskedRun.predict

    def slow(self: AskedRun, *query: Any) -> Any:
        free.wait(60)
        return asked(self, *query)

    monkeypatch.setattr(AskedRun, "predict", slow)
    server = start(things_run, workers=1, seconds=0.1)
    response = server.get("/api/predict", head="a,b", relation="next to")
    assert response.status_code == 408 and response.json()["error"]["kind"] == "took_too_long"
    free.set()


def test_a_failure_tells_the_client_nothing(start, things_run: nbfnet.Run, monkeypatch) -> None:
    def fail(*_: Any) -> Any:
        raise RuntimeError("a secret of the server")

    monkeypatch.setattr(AskedRun, "predict", fail)
    response = start(things_run).get("/api/predict", head="a,b", relation="next to")
    assert response.status_code == 500
    assert "secret" not in response.text and "Traceback" not in response.text and ".py" not in response.text
    assert "default-src 'none'" in response.headers["content-security-policy"]


def test_metrics_count_requests_by_route_and_status(start: Callable[..., Any], things_run: nbfnet.Run) -> None:
    server = start(things_run)
    server.get("/api/health")
    server.get("/api/predict", head="nobody", relation="next to")
    server.get("/made/up/by/a/client")
    text = server.get("/api/metrics").text
    assert 'nbfnet_requests_total{route="/api/health",status="200"} 1' in text
    assert 'nbfnet_requests_total{route="/api/predict",status="404"} 1' in text
    assert 'nbfnet_request_seconds_count{route="/api/predict"} 1' in text
    assert "made" not in text


def test_the_model_card_comes_from_the_run_folder(drugs, drugs_run: nbfnet.Run) -> None:
    import time

    found = drugs.get("/api/card").json()
    until = time.monotonic() + 120
    while found["test"]["state"] == "measuring" and time.monotonic() < until:
        time.sleep(0.1)
        found = drugs.get("/api/card").json()
    expected = drugs_run.evaluate()
    assert found["test"]["metrics"]["mrr"] == pytest.approx(expected.metrics.to_dict()["mrr"])
    assert {row["relation"] for row in found["test"]["by_relation"]} == {row.relation for row in expected.by_relation}
    assert found["history"] == drugs_run.history
    assert found["graph"]["train"] == len(drugs_run.dataset.train.triplets)
    points = found["calibration"]["points"]
    assert all(later[1] >= earlier[1] for earlier, later in pairwise(points))  # isotonic
