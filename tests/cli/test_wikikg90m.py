"""OGB's WikiKG90M from its published files to the metric of the challenge: converted, trained on samples, evaluated."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import sys
import warnings

import numpy as np
import pytest
import torch

from nbfnet.evaluation.drawn_candidates import SampledScorer
from nbfnet.graph.datasets import registry
from nbfnet.graph.datasets.registry_entry import Statistics
from nbfnet.run import Run

pytestmark = pytest.mark.usefixtures("one_thread")
ENTITIES, RELATIONS, LINKS, CANDIDATES = 90, 4, 25, 41
SMALL = (
    *("--set", "model.dim=8", "--set", "model.layers=2", "--set", "model.hidden=[8]", "--epochs", "2"),
    *("--set", "training.batches_per_epoch=4", "--set", "sampling.hops=2", "--set", "sampling.neighbours=5"),
)


@pytest.fixture
def published(tmp_path, nowhere, monkeypatch):
    """The folder as ogb 1.3 unpacks it, with few entities; features, mappings and test queries are there too."""
    generator, folder = np.random.default_rng(5), tmp_path / "data" / "wikikg90m_kddcup2021"
    (folder / "processed").mkdir(parents=True)
    (folder / "mapping").mkdir()
    (folder / "RELEASE_v1.txt").write_text("")
    torch.save({"num_entities": ENTITIES, "num_relations": RELATIONS}, folder / "meta.pt")
    ring = np.stack([np.arange(ENTITIES), np.arange(ENTITIES) % RELATIONS, (np.arange(ENTITIES) + 1) % ENTITIES], 1)
    drawn = generator.integers(0, [ENTITIES, RELATIONS, ENTITIES], (300, 3))
    arrays = {"train_hrt": np.concatenate([ring, drawn]).astype(np.int32)}
    for part in ("val", "test"):
        arrays[f"{part}_hr"] = generator.integers(0, [ENTITIES, RELATIONS], (LINKS, 2)).astype(np.int32)
        rows = [generator.permutation(ENTITIES)[:CANDIDATES] for _ in range(LINKS)]
        arrays[f"{part}_t_candidate"] = np.stack(rows).astype(np.int32)
    arrays["val_t_correct_index"] = generator.integers(0, CANDIDATES, LINKS).astype(np.int16)
    arrays["entity_feat"] = np.zeros((ENTITIES, 3), dtype=np.float16)
    for name, array in arrays.items():
        np.save(folder / "processed" / f"{name}.npy", array)
    original, known = registry.known_datasets, registry.known_datasets()
    facts = Statistics(ENTITIES, RELATIONS, total=len(arrays["train_hrt"]) + LINKS)
    small = {**known, "wikikg90m": dataclasses.replace(known["wikikg90m"], statistics=facts)}
    for module in list(sys.modules.values()):
        if getattr(module, "known_datasets", None) is original:
            monkeypatch.setattr(module, "known_datasets", lambda: small)
    monkeypatch.setenv("NBFNET_DATA", str(folder.parent))
    return folder


def challenge_mrr(scores, answer):
    """By ogb's own evaluator."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sys.modules.setdefault("outdated", None)
        from ogb.lsc import WikiKG90MEvaluator
    top = np.argsort(-scores, axis=1, kind="stable")[:, :10]
    given = {"t_pred_top10": top, "t_correct_index": answer.astype(np.int64)}
    return WikiKG90MEvaluator().eval({"h,r->t": given})["mrr"]


@pytest.mark.skipif(importlib.util.find_spec("ogb") is None, reason="ogb is not installed")
@pytest.mark.parametrize("is_converted", [True, False])
def test_from_published_files_to_the_metric_of_the_challenge(nbfnet, published, tmp_path, is_converted):
    source = "wikikg90m"
    if is_converted:
        source = tmp_path / "store"
        assert nbfnet("data", "convert", "wikikg90m", "-o", source, "--memory-limit", "1GB").code == 0
    trained = nbfnet("train", source, "-o", tmp_path / "run", *SMALL)
    assert trained.code == 0, trained.err
    document = nbfnet("evaluate", tmp_path / "run", "--split", "valid", "--json").document
    assert f"tails against {CANDIDATES - 1} given entities" in document["protocol"]
    assert document["queries"] == 2 * LINKS

    processed = published / "processed"
    names = ("val_hr", "val_t_candidate", "val_t_correct_index")
    hr, candidates, answer = (np.load(processed / f"{name}.npy") for name in names)
    run = Run.open(tmp_path / "run")
    scorer = SampledScorer(run.folder.network(run.dataset), run.dataset.train, run.config.sampling)
    head, relation = (torch.from_numpy(hr[:, column]).long() for column in (0, 1))
    scores = scorer.score(head, relation, torch.from_numpy(candidates).long()).double().numpy()
    own = scores[np.arange(LINKS), answer][:, None]
    assert not ((scores == own).sum(axis=1) > 1).any(), "an answer that ties has no rank that both agree on"
    assert document["ogb"]["mrr"] == pytest.approx(challenge_mrr(scores, answer), abs=1e-6)
    assert "mrr" in nbfnet("evaluate", tmp_path / "run", "--split", "valid").out.split("by OGB's rules: ")[1]

    best = json.loads((tmp_path / "run" / "manifest.json").read_text())["metrics"]["valid"]
    assert best["mrr"] == pytest.approx(document["metrics"]["mrr"]), "it was chosen by the same candidates"


def test_test_links_have_no_answers(nbfnet, published, tmp_path):
    nbfnet("train", "wikikg90m", "-o", tmp_path / "run", *SMALL)
    nbfnet("evaluate", tmp_path / "run").assert_refused("there are no test links", "--split valid", f"{LINKS} valid")
