"""nbfnet predict: named answers, from one query or a file of them."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time

import pandas as pd
import pytest

import nbfnet as package
from nbfnet.training.run_folder import RunFolder

HUB, PART = "北京 市", "has part"


@pytest.fixture
def run(sigmoid_run):
    return sigmoid_run.folder.path


def answers_of(document, role="tail"):
    return [(answer["rank"], answer[role], answer["probability"], answer["known"]) for answer in document["answers"]]


def test_json_is_what_python_answers(nbfnet, run, sigmoid_run):
    forms = [
        (["--head", HUB, "--relation", PART], (HUB, PART, None), "tail"),
        (["--tail", "a,b", "--relation", PART], (None, PART, "a,b"), "head"),
        (["--head", HUB, "--tail", "two\u2028lines"], (HUB, None, "two\u2028lines"), "relation"),
    ]
    for options, query, asked in forms:
        document = nbfnet("predict", run, *options, "-k", 40, "--json").document
        expected = sigmoid_run.predict(*query, k=40)
        assert set(document) == {"query", "asked", "answers", "more_known"}
        assert document["asked"] == asked
        assert document["query"] == {r: n for r, n in zip(("head", "relation", "tail"), query, strict=True) if n}
        assert answers_of(document, asked) == [(a.rank, a.name, a.probability, a.known) for a in expected]
        keys = {"rank", asked, "label", "probability", "score", "known"}
        assert {key for a in document["answers"] for key in a} <= keys


def test_the_table_for_people(nbfnet, run, sigmoid_run):
    lines = nbfnet("predict", run, "--head", "bell\x07ring", "--relation", PART, "-k", 50).out.splitlines()
    assert lines[0] == "bell\\x07ring has part ?"
    assert "probability" in lines[1]
    expected = sigmoid_run.predict("bell\x07ring", PART, k=50)
    assert len(lines) >= 2 + len(expected)
    text = "\n".join(lines)
    assert "\x07" not in text
    assert "\x85" not in text
    assert "Twin" in text  # the readable name
    for answer in expected:
        assert f"{answer.probability:.1%}" in text


def test_restrictions(nbfnet, run, sigmoid_run, tmp_path):
    base = ["predict", run, "--head", HUB, "--relation", PART, "-k", 99, "--json"]
    every = [a[1] for a in answers_of(nbfnet(*base).document)]
    known = {a[1] for a in answers_of(nbfnet(*base).document) if a[3]}
    assert [a[1] for a in answers_of(nbfnet(*base, "--exclude-known").document)] == [n for n in every if n not in known]
    typed = answers_of(nbfnet(*base, "--type", "hub").document)
    assert len(typed) == 3  # not the asked one itself
    assert len(answers_of(nbfnet(*base, "--type", "hub", "--type", "leaf").document)) == 27
    assert len(answers_of(nbfnet(*base, "--any-type").document)) == 35
    assert {a[1] for a in answers_of(nbfnet(*base, "--seen").document)} < set(every)
    listed = tmp_path / "candidates.txt"
    listed.write_text("\ufeffleaf 7\r\ntwo\u2028lines\r\nnext\x85line\n\nalone 3\nleaf 7\n", encoding="utf-8")
    found = {a[1] for a in answers_of(nbfnet(*base, "--candidates", listed).document)}
    assert found == {"leaf 7", "two\u2028lines", "next\x85line", "alone 3"}
    for content, says in (
        (b"", "empty"),
        (b"\n \n", "no candidate"),
        (b"leaf 77\n", "'leaf 77'"),
        (b"\xff\n", "not UTF-8"),
    ):
        listed.write_bytes(content)
        nbfnet(*base, "--candidates", listed).assert_refused(says)
    nbfnet(*base, "--candidates", tmp_path / "gone.txt").assert_refused("gone.txt")


def test_where_everything_is_known(nbfnet, run, tmp_path):
    (tmp_path / "only.txt").write_text("leaf 5\n")
    options = ["--tail", "leaf 5", "--relation", PART, "--exclude-known", "--candidates", tmp_path / "only.txt"]
    (tmp_path / "more.tsv").write_text(f"leaf 5\t{PART}\tleaf 5\n")
    options += ["--more-facts", tmp_path / "more.tsv"]
    answer = nbfnet("predict", run, *options)
    assert answer.code == 0
    assert "nothing is left" in answer.out
    assert nbfnet("predict", run, *options, "--json").document["answers"] == []


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--head", HUB], ("exactly one",)),
        (["--relation", PART], ("exactly one",)),
        (["--head", HUB, "--relation", PART, "--tail", "a,b"], ("exactly one",)),
        ([], ("exactly one",)),
        (["--head", "laef 20", "--relation", PART], ("'laef 20'", "did you mean 'leaf 20'")),
        (["--head", HUB, "--relation", "has parts"], ("'has parts'", "did you mean 'has part'")),
        (["--head", "Twin", "--relation", PART], ("'leaf 3', 'leaf 4'",)),
        (["--head", HUB, "--relation", PART, "-k", "0"], ("-k",)),
        (["--head", HUB, "--relation", PART, "--type", "hubs"], ("did you mean 'hub'",)),
        (["--head", HUB, "--tail", "a,b", "--type", "hub"], ("choose entities",)),
        (["--head", HUB, "--relation", PART, "--shard", "1/2"], ("--queries",)),
        (["--head", HUB, "--relation", PART, "--engine", "ray"], ("--engine ray", "--queries FILE and -o FOLDER")),
        (["--queries", "q.tsv", "-o", "x.csv", "--workers", "2"], ("--workers", "--engine ray")),
        (["--queries", "q.tsv", "-o", "x.csv", "--threads", "2"], ("--threads", "--engine ray")),
        (["--queries", "q.tsv", "-o", "x.csv", "--address", "auto"], ("--address", "--engine ray")),
        (["--queries", "q.tsv"], ("-o FILE",)),
        (["--queries", "q.tsv", "-o", "x.csv", "--head", HUB], ("no query of your own",)),
        (["--queries", "q.tsv", "-o", "x.xlsx"], ("x.xlsx", ".csv, .parquet, .jsonl")),
        (["--queries", "gone.tsv", "-o", "x.csv"], ("gone.tsv", "no such file")),
        (["--queries", "q.tsv", "-o", "x.csv", "--shard", "3/2"], ("3/2",)),
        (["--queries", "q.tsv", "-o", "x.csv", "--type", "hub"], ("query 2 asks for a relation",)),
        (["--facts", "gone.tsv", "--head", HUB, "--relation", PART], ("gone.tsv",)),
    ],
    ids=" ".join,
)
def test_mistakes(nbfnet, run, tmp_path, monkeypatch, options, says):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "q.tsv").write_text(f"{HUB}\t{PART}\t?\n{HUB}\t?\ta,b\n", encoding="utf-8")
    nbfnet("predict", run, *options).assert_refused(*says)
    assert [path.name for path in tmp_path.iterdir()] == ["q.tsv"]


def test_no_run_folder(nbfnet, tmp_path):
    nbfnet("predict", tmp_path / "gone", "--head", "a", "--relation", "b").assert_refused("gone", "nbfnet train")
    nbfnet("predict").assert_refused("RUN...")


def test_other_facts(nbfnet, run, sigmoid_run, things, tmp_path):
    new = tmp_path / "more.tsv"
    new.write_text(f"{HUB}\t{PART}\tbrand new\nbrand new\tnext to\tleaf 3\n", encoding="utf-8")
    whole = tmp_path / "all.tsv"
    whole.write_text(
        (things / "train.txt").read_text(encoding="utf-8") + new.read_text(encoding="utf-8"), encoding="utf-8"
    )
    asked = ["--head", "brand new", "--relation", PART, "-k", 99, "--json"]
    nbfnet("predict", run, *asked).assert_refused("'brand new'")
    expected = sigmoid_run.on(package.read(whole)).predict("brand new", PART, k=99)
    shown = answers_of(nbfnet("predict", run, *asked, "--facts", whole).document)
    assert shown == [(a.rank, a.name, a.probability, a.known) for a in expected]
    joined = answers_of(nbfnet("predict", run, *asked, "--more-facts", new).document)
    assert {a[1] for a in joined} > {a[1] for a in shown}  # entities that no fact has stay candidates
    asked[1] = HUB
    before, after = (nbfnet("predict", run, *asked, *more).document for more in ([], ["--more-facts", new]))
    assert ("brand new", True) in {(a[1], a[3]) for a in answers_of(after)}
    assert before != after
    new.write_text(f"{HUB}\tnext too\tleaf 3\n", encoding="utf-8")
    for option in ("--facts", "--more-facts"):
        nbfnet("predict", run, *asked, option, new).assert_refused("more.tsv", "'next too'", "did you mean 'next to'")


def test_a_homogeneous_graph(nbfnet, friends_run):
    path = friends_run.folder.path
    document = nbfnet("predict", path, "--head", "a0", "--json").document
    assert document["query"] == {"head": "a0", "relation": friends_run.graph.relations[0]}
    assert answers_of(document) == [(a.rank, a.name, a.probability, a.known) for a in friends_run.predict("a0")]
    assert nbfnet("predict", path, "--tail", "a0").code == 0
    nbfnet("predict", path, "--head", "a0", "--relation", "likes").assert_refused("'likes'")


def test_several_runs(nbfnet, run, sigmoid_run, friends_run):
    twice = nbfnet("predict", run, run, "--head", HUB, "--relation", PART, "-k", 99, "--json").document
    one = {a.name: a.probability for a in sigmoid_run.predict(HUB, PART, k=99)}
    assert {a[1]: a[2] for a in answers_of(twice)} == one
    nbfnet("predict", run, friends_run.folder.path, "--head", HUB, "--relation", PART).assert_refused("homogeneous")


@pytest.fixture
def queries(tmp_path, sigmoid_run):
    """A query of every form for many entities."""
    names = list(sigmoid_run.graph.entities)
    lines = [
        line
        for i, name in enumerate(names)
        for line in (f"{name}\t{PART}\t?", f"?\tnext to\t{name}", f"{name}\t?\t{names[i - 7]}")
    ]
    file = tmp_path / "queries.tsv"
    file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return file


def read_rows(file):
    if file.suffix == ".jsonl":
        return pd.DataFrame([json.loads(line) for line in file.read_text(encoding="utf-8").split("\n")[:-1]])
    if file.suffix == ".parquet":
        return pd.read_parquet(file)
    return pd.read_csv(file, lineterminator="\n")


def rows_of(table):
    return [tuple(None if pd.isna(cell) else cell for cell in row) for row in table.itertuples(index=False)]


def test_a_file_of_queries(nbfnet, run, queries, sigmoid_run, tmp_path):
    tables = {}
    count = len(queries.read_text(encoding="utf-8").split("\n")) - 1
    for ending in ("csv", "parquet", "jsonl"):
        file = tmp_path / "out" / f"answers.{ending}"
        document = nbfnet("predict", run, "--queries", queries, "-o", file, "-k", 3, "--json").document
        assert document == {"output": str(file), "queries": count, "answered_before": 0}
        tables[ending] = rows_of(read_rows(file))
    assert tables["csv"] == tables["parquet"] == tables["jsonl"]
    asked = [tuple(line.split("\t")) for line in queries.read_text(encoding="utf-8").split("\n")[:-1]]
    expected = []
    for number, parts in enumerate(asked, start=1):
        head, relation, tail = (None if part == "?" else part for part in parts)
        found = sigmoid_run.predict(head, relation, tail, k=3)
        expected += [
            (number, head, relation, tail, found.asked, a.rank, a.name, a.label, a.probability, a.score, a.known)
            for a in found
        ]
    assert tables["jsonl"] == expected
    shards = [tmp_path / f"part{i}.jsonl" for i in (1, 2, 3)]
    for i, file in enumerate(shards, start=1):
        assert nbfnet("predict", run, "--queries", queries, "-o", file, "-k", 3, "--shard", f"{i}/3").code == 0
    assert [row for file in shards for row in rows_of(read_rows(file))] == expected


def test_malformed_queries_leave_nothing(nbfnet, run, tmp_path):
    file = tmp_path / "queries.tsv"
    file.write_text(f"{HUB}\t{PART}\t?\nleaf 3\t{PART}\t?\nlaef 3\t{PART}\t?\n", encoding="utf-8")
    nbfnet("predict", run, "--queries", file, "-o", tmp_path / "a.csv").assert_refused(
        "query 3", "'laef 3'", "did you mean"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["queries.tsv"]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
def test_killed_and_called_again(nbfnet, run, queries, tmp_path):
    queries.write_text(queries.read_text(encoding="utf-8") * 4, encoding="utf-8")
    file, progress, whole = tmp_path / "a.csv", tmp_path / "a.csv.progress", tmp_path / "whole.csv"
    arguments = ["predict", run, "--queries", queries, "-k", 3]
    command = [sys.executable, "-m", "nbfnet", *map(str, arguments), "-o", str(file)]
    with subprocess.Popen(
        command, stderr=subprocess.DEVNULL, env=dict(os.environ) | {"OMP_NUM_THREADS": "1"}
    ) as process:
        until = time.monotonic() + 180
        while not (progress.exists() and b'{"done": 5}' in progress.read_bytes()):
            assert process.poll() is None, "the command ended before it could be killed"
            assert time.monotonic() < until
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
    assert not file.exists()
    done = progress.read_bytes().count(b'{"done"')
    document = nbfnet(*arguments, "-o", file, "--json").document
    assert 5 <= done <= document["answered_before"] + 1
    assert document["answered_before"] >= 5
    nbfnet(*arguments, "-o", whole)
    assert file.read_bytes() == whole.read_bytes()
    assert not progress.exists()


def test_other_queries_another_run_or_other_wishes_begin_anew(nbfnet, run, queries, tmp_path, small_config):
    file, progress = tmp_path / "a.jsonl", tmp_path / "a.jsonl.progress"
    base = tmp_path / "run"
    shutil.copytree(run, base)
    few = queries.read_text(encoding="utf-8").split("\n")[:12]
    queries.write_text("".join(f"{line}\n" for line in few), encoding="utf-8")

    assert nbfnet("predict", base, "--queries", queries, "-o", tmp_path / "b.jsonl").code == 0
    rows = (tmp_path / "b.jsonl").read_text(encoding="utf-8").split("\n")[:-1]

    def interrupted():
        """As if the process had been killed after five queries."""
        lines = [identity_line(base)]
        for number in range(1, 6):
            lines += [row for row in rows if json.loads(row)["query"] == number] + [json.dumps({"done": number})]
        progress.write_text("\n".join(lines) + "\n", encoding="utf-8")

    def identity_line(folder):
        from nbfnet.cli.predict import _identity
        from nbfnet.prediction.answer_file import digest_of
        from nbfnet.prediction.asking import Wanted
        from nbfnet.prediction.query_file import read_queries
        from nbfnet.run import Run

        asked = list(enumerate(read_queries(queries, Run.open(folder).graph), start=1))
        sources = [folder, None, None, queries]
        identity = _identity(sources, Wanted(), asked[0], False, False, None)
        return json.dumps({"identity": digest_of(identity, asked)})

    def before(*options, folder=base):
        answer = nbfnet("predict", folder, "--queries", queries, "-o", file, *options, "--json")
        return answer.document["answered_before"]

    interrupted()
    assert before() == 5
    others = [["-k", 4], ["--exclude-known"], ["--any-type"], ["--train-only"], ["--reasons"], ["--shard", "1/2"]]
    for options in (*others, ["--more-facts", tmp_path / "more.tsv"]):
        (tmp_path / "more.tsv").write_text(f"leaf 3\t{PART}\tleaf 4\n")
        interrupted()
        assert before(*options) == 0
    interrupted()
    queries.write_text(queries.read_text(encoding="utf-8") + f"leaf 3\t{PART}\t?\n", encoding="utf-8")
    assert before() == 0
    # The same weights for another graph, or with another calibration, give other answers.
    interrupted()
    folder = RunFolder.open(base)
    folder.update(calibration={"method": "none", "epoch": folder.manifest["metrics"]["epoch"]})
    assert before() == 0


def test_one_question_into_a_file(nbfnet, run, sigmoid_run, tmp_path):
    file = tmp_path / "one.csv"
    answer = nbfnet("predict", run, "--head", HUB, "--relation", PART, "-k", 3, "-o", file)
    assert answer.out == f"{file}: the answers to 1 query\n"
    expected = sigmoid_run.predict(HUB, PART, k=3)
    assert [row[6] for row in rows_of(read_rows(file))] == [answer.name for answer in expected]


def test_answers_with_their_reasons(nbfnet, run, sigmoid_run, tmp_path):
    for given, asked in ((["--head", HUB], "tail"), (["--tail", "leaf 9"], "head")):
        query = ["predict", run, *given, "--relation", PART, "-k", 2, "--reasons"]
        answers = nbfnet(*query, "--json").document["answers"]
        names = {"head": HUB, "tail": "leaf 9"}
        for answer in answers:
            link = {**names, asked: answer[asked]}
            paths = sigmoid_run.explain(link["head"], PART, link["tail"], k=1, asked=asked).paths
            assert answer["reason"] == (str(paths[0]) if paths else None)
        assert any(answer["reason"] for answer in answers)
        table = nbfnet(*query).out
        assert "because" in table and any(a["reason"] in table for a in answers if a["reason"])
        nbfnet(*query, "-o", tmp_path / "reasons.csv")
        assert read_rows(tmp_path / "reasons.csv").columns[-1] == "reason"


def test_the_best_missing_links(nbfnet, run, sigmoid_run, tmp_path):
    document = nbfnet("predict", run, "--all", "-k", 5, "--json").document
    expected = sigmoid_run.missing_links(5)
    found = [(link["head"], link["relation"], link["tail"], link["probability"]) for link in document["links"]]
    assert found == [(link.head, link.relation, link.tail, link.probability) for link in expected]
    assert [link["rank"] for link in document["links"]] == [1, 2, 3, 4, 5]
    assert document["complete"] and document["scored"] > 5
    of_one = nbfnet("predict", run, "--all", "--relation", "next to", "-k", 3, "--json").document["links"]
    assert {link["relation"] for link in of_one} == {"next to"}
    graph = sigmoid_run.graph
    for link in [*document["links"], *of_one]:
        (scored,) = sigmoid_run.score([(link["head"], link["relation"], link["tail"])])
        assert not scored.known and scored.probability == pytest.approx(link["probability"], abs=1e-9)
        assert graph.entities.knows(link["head"])
    file = tmp_path / "links.csv"
    assert "5 missing links" in nbfnet("predict", run, "--all", "-k", 5, "-o", file, "--reasons").out
    table = read_rows(file)
    assert list(table.columns) == ["rank", "head", "relation", "tail", "probability", "score", "reason"]
    assert len(table) == 5
    nbfnet("predict", run, "--all", "--head", HUB).assert_refused("--all")
    nbfnet("predict", run, "--all", "--relation", "next too").assert_refused("did you mean 'next to'")


def test_every_unknown_candidate_is_named_with_its_line(nbfnet, run, tmp_path):
    listed = tmp_path / "candidates.txt"
    listed.write_text("leaf 3\nleef 4\n\nleaf 5\nnobody\n", encoding="utf-8")
    nbfnet("predict", run, "--head", HUB, "--relation", PART, "--candidates", listed).assert_refused(
        "candidates.txt", "2 of 4 candidates", "line 2: unknown entity 'leef 4'", "line 5: unknown entity 'nobody'"
    )


def test_a_folder_of_facts(nbfnet, run, things, sigmoid_run):
    """Everything in the folder is asked on: the same as the run's own facts."""
    own = nbfnet("predict", run, "--head", HUB, "--relation", PART, "--json").document
    assert nbfnet("predict", run, "--head", HUB, "--relation", PART, "--facts", things, "--json").document == own
