"""nbfnet compare: one table, results that are kept, and what can be wrong."""

from __future__ import annotations

import importlib.util
import json
import signal
import time

import pytest

import nbfnet as package
from nbfnet.evaluation.baselines import BASELINES
from nbfnet.evaluation.evaluator import evaluate
from nbfnet.graph.loading import load

pytestmark = pytest.mark.usefixtures("one_thread")
SECONDS = 2 / 3600
INSTALLED = [name for name in ("pykeen", "torch_geometric", "gensim") if importlib.util.find_spec(name)]


def needs(*packages):
    missing = sorted(set(packages) - set(INSTALLED))
    return pytest.mark.skipif(bool(missing), reason=f"not installed: {', '.join(missing)}; pip install '.[peers]'")


@pytest.fixture
def compare(nbfnet, small, tmp_path):
    def compare(*arguments, kind="knowledge", hours=SECONDS):
        return nbfnet(
            "compare", getattr(small, kind), "-o", tmp_path / "compared", "--hours", hours, *small.options, *arguments
        )

    return compare


@needs("pykeen")
def test_methods_side_by_side(compare, small, tmp_path):
    document = compare("--methods", "nbfnet,distmult,katz,frequency", "--json").document
    methods = document["methods"]
    assert list(methods) == ["nbfnet", "distmult", "katz", "frequency"]
    dataset = load(small.knowledge)
    for name, baseline in (("katz", "katz"), ("frequency", "relation frequency")):
        found = evaluate(BASELINES[baseline](dataset.train), dataset)
        assert methods[name]["metrics"] == pytest.approx(found.metrics.to_dict())
    run = package.Run.open(tmp_path / "compared" / "nbfnet")
    assert run.evaluate().metrics.to_dict() == pytest.approx(methods["nbfnet"]["metrics"])
    protocols = {(found["protocol"], found["ties"], found["queries"]) for found in methods.values()}
    assert protocols == {(run.evaluate().protocol, "realistic", 18)}
    assert run.config.training.hours == pytest.approx(SECONDS) and run.config.model.dim == 4
    assert methods["nbfnet"]["parameters"] == sum(p.numel() for p in run.folder.network(dataset).parameters())
    assert methods["distmult"]["parameters"] == 200 * (24 + 2 * 3)
    assert 0.5 < methods["distmult"]["training_seconds"] < 60
    assert (methods["katz"]["parameters"], methods["katz"]["training_seconds"]) == (0, 0.0)
    for found in methods.values():
        assert found["curve"] and set(found["curve"][0]) == {"seconds", "steps", "valid"}
    written = json.loads((tmp_path / "compared" / "compare.json").read_text())
    assert written == document


@needs("torch_geometric", "gensim")
def test_all_that_fit_a_homogeneous_graph(compare):
    answer = compare(kind="homogeneous")
    assert answer.code == 0, answer.err
    lines = answer.out.splitlines()
    assert lines[1].split() == ["auroc", "ap", "parameters", "training", "ranking"]
    names = ["nbfnet", "vgae", "deepwalk", "katz", "ppr", "distance"]
    assert [line.split()[0] for line in lines[2:8]] == names
    assert "pairs that are edges nowhere" in answer.out
    assert "vgae  " in answer.err  # a line for each validation


def test_what_is_done_is_not_done_again(compare, tmp_path):
    first = compare("--methods", "katz,ppr", "--json").document
    begin = (tmp_path / "compared" / "compare.json").stat().st_mtime_ns
    again = compare("--methods", "ppr", "--json").document
    assert (tmp_path / "compared" / "compare.json").stat().st_mtime_ns == begin
    assert list(again["methods"]) == ["ppr"]
    assert again["methods"]["ppr"] == first["methods"]["ppr"]
    more = compare("--methods", "distance,katz", "--json").document
    assert list(more["methods"]) == ["distance", "katz"]
    kept = json.loads((tmp_path / "compared" / "compare.json").read_text())["methods"]
    assert set(kept) == {"katz", "ppr", "distance"}


def test_other_settings_are_refused(compare, tmp_path, small, nbfnet):
    assert compare("--methods", "katz").code == 0
    compare("--methods", "ppr", "--seed", "1").assert_refused("another seed", "another folder")
    compare("--methods", "ppr", hours=1).assert_refused("another hours")
    compare("--methods", "ppr", "--set", "model.layers=3").assert_refused("another config")
    compare("--methods", "ppr", kind="homogeneous").assert_refused("another graph or split")
    (tmp_path / "compared" / "compare.json").write_text("[1, 2")
    compare("--methods", "ppr").assert_refused("compare.json", "not a file of a comparison")


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (("--methods", "trans"), ("unknown method 'trans'", "did you mean 'transe'", "katz")),
        (("--methods", "vgae"), ("does not fit", "this graph is knowledge")),
        (("--methods", ","), ("no method",)),
        (("--methods", "katz", "--set", "sampling.hops=2"), ("sampling.hops", "leave it out")),
        (("--methods", "katz", "--set", "model.layer=2"), ("model.layer",)),
    ],
)
def test_what_cannot_be_compared(compare, tmp_path, arguments, parts):
    compare(*arguments).assert_refused(*parts)
    assert not (tmp_path / "compared").exists()


def test_no_time_and_no_test_links(compare, nbfnet, tmp_path):
    compare("--methods", "katz", hours=0).assert_refused("hours")
    folder = tmp_path / "untested"
    folder.mkdir()
    (folder / "train.txt").write_text("a\tr\tb\nb\tr\tc\n")
    (folder / "valid.txt").write_text("a\tr\tc\n")
    nbfnet("compare", folder, "-o", tmp_path / "out").assert_refused("no test links", "--split valid")
    assert not (tmp_path / "out").exists()


def test_without_its_package_a_method_says_what_to_install(compare, monkeypatch):
    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "pykeen" else real(name))
    compare("--methods", "katz,rotate").assert_refused("'rotate' needs the package 'pykeen'", "'.[peers]'")


def test_results_and_plot_are_written(compare, tmp_path):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed: pip install '.[plot]'")
    compare("--methods", "katz,distance", "--results", tmp_path / "results")
    found = json.loads((tmp_path / "results" / "compare-knowledge.json").read_text())
    assert list(found["methods"]) == ["katz", "distance"]
    assert (tmp_path / "compared" / "compare.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (tmp_path / "compared" / "compare.svg").read_text()


def test_in_python(small, tmp_path):
    heard = []
    comparison = package.compare(
        small.knowledge, tmp_path / "compared", methods=["katz"], listener=lambda *what: heard.append(what)
    )
    assert [name for name, _ in heard] == ["katz"]
    assert repr(comparison) == "<Comparison knowledge: katz>"
    row = comparison.rows()[0]
    assert row["method"] == "katz" and row["mrr"] == comparison.to_dict()["methods"]["katz"]["metrics"]["mrr"]
    assert "katz" in comparison._repr_html_()


@needs("pykeen")
def test_ctrl_c_keeps_what_is_done(commands, nbfnet, small, tmp_path):
    folder = tmp_path / "compared"
    arguments = ("compare", small.knowledge, "-o", folder, "--methods", "katz,transe", "--hours")
    running = commands.start(*arguments, 1)
    until = time.monotonic() + 120
    while "transe" not in running.err():
        assert running.code() is None and time.monotonic() < until, running.err()
        time.sleep(0.05)
        if (folder / "compare.json").exists():
            time.sleep(3)  # in the training of the second method
            break
    running.send(signal.SIGINT)
    ended = running.wait()
    assert ended.code == 130 and "Traceback" not in ended.err
    assert "the same command continues" in ended.err
    assert list(json.loads((folder / "compare.json").read_text())["methods"]) == ["katz"]
    assert not list(folder.glob(".*"))
