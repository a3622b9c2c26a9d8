"""nbfnet reproduce: an experiment of one's own, run, gone on with, written down."""

from __future__ import annotations

import json

import pytest

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture
def experiment(small, tmp_path):
    """A small one with two seeds."""

    def experiment(kind="knowledge", paper='{ mrr = 0.5, "hits@10" = 0.9 }', name="tiny", **training):
        file = tmp_path / f"{name}.toml"
        keys = {"epochs": 2, "batch_size": 16, "negatives": 4, **training}
        lines = [f"{key} = {value}" for key, value in keys.items()]
        file.write_text(
            f'[experiment]\nsource = "{getattr(small, kind)}"\ntable = "mine"\nseeds = [3, 4]\npaper = {paper}\n'
            "[model]\ndim = 4\nlayers = 2\nhidden = [4]\n"
            f"symmetric = {str(kind == 'homogeneous').lower()}\n[training]\n" + "\n".join(lines)
        )
        return file

    return experiment


@pytest.fixture
def reproduce(nbfnet, tmp_path):
    def reproduce(file, *arguments):
        return nbfnet("reproduce", file, "--runs", tmp_path / "runs", "--results", tmp_path / "results", *arguments)

    return reproduce


def numbers(document):
    """All but the times."""
    timed = {"training_seconds", "validation_seconds", "evaluation_seconds"}
    seeds = [{key: value for key, value in seed.items() if key not in timed} for seed in document["seeds"]]
    return {**document, "seeds": seeds}


def test_a_result_is_written_down_and_gone_on_with(reproduce, nbfnet, experiment, tmp_path, listing):
    file = experiment()
    document = reproduce(file, "--json").document
    assert json.loads((tmp_path / "results" / "tiny.json").read_text()) == document
    assert (document["experiment"], document["table"]) == ("tiny", "mine")
    assert document["paper"] == {"mrr": 0.5, "hits@10": 0.9}
    assert [seed["seed"] for seed in document["seeds"]] == [3, 4]
    assert document["seeds"][0]["metrics"] != document["seeds"][1]["metrics"]
    for name, mean in document["mean"].items():
        assert mean == pytest.approx(sum(seed["metrics"][name] for seed in document["seeds"]) / 2)
    for seed in document["seeds"]:
        assert seed["epochs"] == 2 and len(seed["curve"]) == 2
        assert all(seed[f"{what}_seconds"] > 0 for what in ("training", "validation", "evaluation"))
        assert seed["ties"] == "realistic" and "filtered ranking" in seed["protocol"]
        run = tmp_path / "runs" / f"tiny-seed{seed['seed']}"
        assert nbfnet("evaluate", run, "--json").document["metrics"] == seed["metrics"]
    assert document["machine"].keys() >= {"processor", "cores", "memory_gb", "python", "torch", "nbfnet"}
    assert "commit" in document
    before = listing(tmp_path / "runs")
    again = reproduce(file, "--json").document
    assert numbers(again) == numbers(document)
    assert listing(tmp_path / "runs") == before


def test_what_was_begun_is_gone_on_with(reproduce, experiment, tmp_path):
    first = reproduce(experiment(), "--epochs", "1", "--json").document
    assert [seed["epochs"] for seed in first["seeds"]] == [1, 1]
    second = reproduce(experiment(), "--json").document
    assert [seed["epochs"] for seed in second["seeds"]] == [2, 2]
    whole = reproduce(experiment(name="whole"), "--json").document
    assert [seed["curve"] for seed in whole["seeds"]] == [seed["curve"] for seed in second["seeds"]]
    assert whole["mean"] == second["mean"]


def test_hours_end_a_training_and_the_same_command_goes_on(reproduce, experiment):
    short = reproduce(experiment(validations_per_epoch=2), "--stop-after", "0", "--json").document
    assert [seed["epochs"] for seed in short["seeds"]] == [0, 0]
    one = reproduce(experiment(validations_per_epoch=2), "--stop-after", "1e-9", "--json").document
    assert [seed["epochs"] for seed in one["seeds"]] == [0.5, 0.5]
    rest = reproduce(experiment(validations_per_epoch=2), "--stop-after", "1", "--json").document
    assert [seed["epochs"] for seed in rest["seeds"]] == [2, 2]
    whole = reproduce(experiment(name="whole", validations_per_epoch=2), "--json").document
    assert [seed["curve"] for seed in whole["seeds"]] == [seed["curve"] for seed in rest["seeds"]]


def test_beside_the_papers(reproduce, experiment):
    answer = reproduce(experiment("homogeneous", "{ auroc = 0.5 }", hiding='"pair"'))
    assert answer.code == 0, answer.err
    assert answer.out.startswith("tiny: mean over the seeds 3, 4\n")
    rows = {line.split()[0]: line.split() for line in answer.out.splitlines()[2:4]}
    assert rows["auroc"][2] == "0.5" and float(rows["auroc"][3]) == pytest.approx(float(rows["auroc"][1]) - 0.5)
    assert len(rows["ap"]) == 2  # the paper has none


def test_experiments_that_are_none(reproduce, experiment, tmp_path):
    reproduce(tmp_path / "gone.toml").assert_refused("gone.toml: No such file")
    (tmp_path / "plain.toml").write_text("[model]\nlayers = 2\n")
    reproduce(tmp_path / "plain.toml").assert_refused("no table [experiment]")
    (tmp_path / "wrong.toml").write_text('[experiment]\nsauce = "x"\n')
    refused = reproduce(tmp_path / "wrong.toml")
    refused.assert_refused("wrong.toml: unknown key 'experiment.sauce'", "'experiment.source'")
    assert not (tmp_path / "results").exists() and not (tmp_path / "runs").exists()


def test_another_configuration_in_the_same_folder(reproduce, experiment, tmp_path):
    assert reproduce(experiment(), "--epochs", "0").code == 0
    reproduce(experiment(negatives=5)).assert_refused("tiny-seed3", "cannot change training.negatives")


def test_an_experiment_that_begins_with_a_network(reproduce, small, tmp_path):
    file = tmp_path / "begun.toml"
    file.write_text(
        f'[experiment]\nsource = "{small.knowledge}"\ntable = "mine"\nstart = "universal"\npaper = {{ mrr = 0.5 }}\n'
        "[training]\nanswers = 4\n"
    )
    document = reproduce(file, "--json").document
    assert (document["config"]["model"]["edges"], document["config"]["training"]["loss"]) == ("pairwise", "softmax")
    assert [entry["epoch"] for entry in document["seeds"][0]["curve"]] == [0, 1, 2, 3, 4, 5]  # that network, then ours
    assert reproduce(file, "--json").document["mean"] == document["mean"]
