"""Values that nobody means: each is refused in one clear message, or means what it says; never a traceback."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

DIGITS, DEEP = "9" * 6000, "[" * 3000 + "]" * 3000


@pytest.mark.parametrize(
    "text",
    [
        f"a = {DEEP}",
        ".".join(["a"] * 3000) + " = 1",
        f"[model]\ndim = {DIGITS}",
        "[training]\nseed = 0x" + "f" * 6000,
    ],
    ids=["nested lists", "nested tables", "digits", "hexadecimal digits"],
)
def test_configurations(nbfnet, triplets, tmp_path, text):
    file = tmp_path / "config.toml"
    file.write_text(text)
    answer = nbfnet("train", triplets, "-o", tmp_path / "run", "--config", file)
    answer.assert_refused("config.toml")
    assert len(answer.err) < 2000
    nbfnet("reproduce", file).assert_refused("config.toml")


@pytest.mark.parametrize(
    "setting",
    [
        f"model.dim={DIGITS}",
        f"model.hidden={DEEP}",
        ".".join(["a"] * 3000) + "=1",
        "a\udcff=1",
        "training.seed=0x" + DIGITS,
    ],
    ids=["digits", "nested lists", "nested keys", "not text", "hexadecimal digits"],
)
def test_settings(nbfnet, triplets, tmp_path, setting):
    answer = nbfnet("train", triplets, "-o", tmp_path / "run", "--set", setting)
    answer.assert_refused()
    assert len(answer.err) < 2000


@pytest.mark.parametrize("device", ["hpu", "privateuseone", "meta", "mkldnn", "cuda:99", "nowhere"])
def test_devices(nbfnet, triplets, tmp_path, device):
    answer = nbfnet("train", triplets, "-o", tmp_path / "run", "--set", f"training.device={device}")
    answer.assert_refused(f"training.device = '{device}'")
    assert "Warning" not in answer.err


def test_more_paths_than_there_can_be(nbfnet, things_run):
    link = ("explain", things_run.folder.path, "leaf 3", "next to", "leaf 4", "--json")
    every = nbfnet(*link, "-k", 10_000).document
    for number in (2**62, 2**63, 10**30):
        assert nbfnet(*link, "-k", number).document == every
        assert nbfnet(*link, "-k", 10_000, "--beam", number).code == 0
        assert nbfnet("rules", things_run.folder.path, "next to", "-k", number).code == 0


def test_a_manifest_of_nested_lists(nbfnet, tmp_path):
    (tmp_path / "manifest.json").write_text("[" * 100_000)
    nbfnet("info", tmp_path).assert_refused("manifest.json")


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".jsonl"])
def test_an_output_name_that_is_not_text(nbfnet, things_run, tmp_path, ending):
    output = os.fsdecode(os.fsencode(tmp_path / "a") + b"\xff" + ending.encode())
    answer = nbfnet("predict", things_run.folder.path, "--all", "--minutes", 0.01, "-o", output)
    answer.assert_refused("not UTF-8")


@pytest.mark.parametrize("method", ["katz", "ppr", "distance"])
@pytest.mark.parametrize("weight", ["1e308", "1e400", "nan", "9" * 400])
def test_weights(nbfnet, triplets, method, weight):
    answer = nbfnet("paths", triplets, "--method", method, "--from", "e1", "--weight", f"r0={weight}")
    if method == "distance" and float(weight) == float("inf"):  # an edge of no use
        assert answer.code == 0
    else:
        answer.assert_refused("weigh")


def test_no_home_folder(nbfnet, monkeypatch, tmp_path):
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)  # as it is for a user whom the system does not know
    monkeypatch.delenv("NBFNET_DATA", raising=False)
    nbfnet("data", "info", "cora").assert_refused("no home folder", "XDG_CACHE_HOME")
    monkeypatch.setenv("NBFNET_DATA", str(tmp_path))
    assert nbfnet("data", "list").code == 0
    monkeypatch.setenv("NBFNET_DATA", "~nobody-of-that-name/data")
    nbfnet("data", "info", "cora").assert_refused("NBFNET_DATA")


@pytest.mark.parametrize(
    "kind", ["candidates", "facts", "more-facts", "queries", "config", "experiment", "array", "network"]
)
def test_pipes_that_nobody_writes_to(commands, things_run, triplets, tmp_path, kind):
    import shutil

    pipe, run = tmp_path / "pipe", things_run.folder.path
    if kind in ("array", "network"):
        shutil.copytree(run, tmp_path / "run")
        run = tmp_path / "run"
        pipe = run / ("data/train/head.npy" if kind == "array" else "model.safetensors")
        pipe.unlink()
    os.mkfifo(pipe)
    query = ["predict", run, "--head", "leaf 3", "--relation", "next to"]
    arguments = {
        "config": ["train", triplets, "-o", tmp_path / "new", "--config", pipe],
        "experiment": ["reproduce", pipe],
        "queries": ["predict", run, "--queries", pipe, "-o", tmp_path / "answers.csv"],
        "array": query,
        "network": query,
    }.get(kind, [*query, f"--{kind}", pipe])
    ended = commands.run(*arguments)
    assert ended.code == 2 and "pipe or a device" in ended.err, ended.err


names = st.text(max_size=30) | st.sampled_from(["e1", "r0", "\u202e", "a\nb", "%s", "{0}", "--", "-1", "0" * 5000])
numbers = (
    st.integers()
    | st.integers(-3, 3)
    | st.floats()
    | st.sampled_from(["1e9", "", "١", "0x10", 10**5000 // 9 % 10**4000])
)
keys = (
    st.sampled_from(["model.dim", "model.hidden", "training.seed", "training.device", "training.epochs", "model", ""])
    | names
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25)
@given(name=names, number=numbers, key=keys, value=names | numbers.map(str))
def test_any_value(nbfnet, triplets, tmp_path, things_run, name, number, key, value):
    run = things_run.folder.path
    name, value = (text.replace("\0", "") for text in (name, value))
    key = key.replace("\0", "")
    for arguments in (
        ["predict", run, "--head", name, "--relation", "next to", "-k", number],
        ["explain", run, "leaf 3", "next to", name],
        ["paths", triplets, "--method", "katz", "--from", name, "-k", number],
        ["train", triplets, "-o", tmp_path / "never", "--set", f"{key}={value}", "--set", "nothing.at=all"],
    ):
        answer = nbfnet(*arguments)
        assert answer.code in (0, 2), (arguments, answer.err)
        assert "Traceback" not in answer.err
