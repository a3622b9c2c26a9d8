"""ULTRA's published weights give the scores that its authors' own code gives."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from nbfnet.errors import WeightsError
from nbfnet.graph.inverse import with_inverses
from nbfnet.graph.relational_csr import RelationalCSR
from nbfnet.graph.triplets import Triplets
from nbfnet.kernels.backend import use_backend
from nbfnet.model.message_graph import MessageGraph
from nbfnet.model.ultra import read_ultra
from nbfnet.native import native_available

BACKENDS = ["reference", "cpu"] if native_available() else ["reference"]


def given_graph(values: dict[str, Tensor]) -> MessageGraph:
    num_relations = int(values["num_relations"])
    facts = Triplets.of(values["head"], values["relation"], values["tail"])
    both = with_inverses(facts, num_relations)
    return MessageGraph(RelationalCSR.from_triplets(both, int(values["num_nodes"]), 2 * num_relations))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", ["wn18rr-v1", "fb15k-237-v1"])
def test_scores_of_the_authors(name: str, backend: str, ultra_folder: Path) -> None:
    network = read_ultra(ultra_folder / "ultra_3g.safetensors")
    values = load_file(ultra_folder / f"ultra_3g-{name}.safetensors")
    graph, source, relation = given_graph(values), values["query_source"], values["query_relation"]
    assert network.relation_network is not None
    with use_backend(backend), torch.no_grad():  # type: ignore[arg-type]
        known = network.relation_network(graph, relation)
        torch.testing.assert_close(known, values["relation_representations"], atol=1e-4, rtol=0)
        scores = network.score_all(graph, source, relation)
        torch.testing.assert_close(scores, values["scores"], atol=1e-4, rtol=0)
        some = torch.arange(0, graph.num_nodes, 7).expand(len(source), -1)
        given = network.score(graph, source, relation, some)
        torch.testing.assert_close(given, values["scores"].gather(1, some), atol=1e-4, rtol=0)


@pytest.mark.parametrize("name", ["ultra_4g", "ultra_50g"])
def test_the_other_checkpoints_load(name: str, ultra_folder: Path) -> None:
    assert read_ultra(ultra_folder / f"{name}.safetensors").parameter_counts()["total"] == 168_705


def small_weights() -> dict[str, Tensor]:
    """A network of one layer and dim 4, with ULTRA's names."""
    generator = torch.Generator().manual_seed(0)

    def random(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator)

    tensors = {"relation_model.layers.0.relation.weight": random(4, 4)}
    for part in ("relation_model", "entity_model"):
        tensors[f"{part}.layers.0.linear.weight"] = random(4, 8)
        tensors |= {f"{part}.layers.0.{place}": random(4) for place in ("linear.bias", "layer_norm.weight")}
        tensors[f"{part}.layers.0.layer_norm.bias"] = random(4)
    for i in (0, 2):
        tensors[f"entity_model.layers.0.relation_projection.{i}.weight"] = random(4, 4)
        tensors[f"entity_model.layers.0.relation_projection.{i}.bias"] = random(4)
    tensors |= {"entity_model.mlp.0.weight": random(5, 8), "entity_model.mlp.0.bias": random(5)}
    return tensors | {"entity_model.mlp.2.weight": random(1, 5), "entity_model.mlp.2.bias": random(1)}


def test_sizes_are_read_off_the_tensors(tmp_path: Path) -> None:
    save_file(small_weights(), tmp_path / "small.safetensors")
    config = read_ultra(tmp_path / "small.safetensors").config
    assert (config.dim, config.layers, config.hidden, config.edges) == (4, 1, (5,), "relational")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.pop("entity_model.mlp.0.bias"), "tensors are not those"),
        (lambda t: t.pop("entity_model.layers.0.linear.bias"), "no entity network"),
        (lambda t: t.update({"optimizer.state": torch.zeros(1)}), "'optimizer.state' is not one of ULTRA's"),
        (lambda t: t.update({"relation_model.layers.0.relation.weight": torch.zeros(3, 4)}), "3 kinds of edges"),
        (lambda t: t.update({"entity_model.layers.0.linear.weight": torch.zeros(4, 9)}), "tensors are not those"),
        (lambda t: t.update({"entity_model.mlp.2.bias": torch.tensor([torch.nan])}), "not a finite number"),
        (lambda t: t.update({"entity_model.mlp.2.bias": torch.tensor([1])}), "not a finite number"),
        (lambda t: t.clear(), "no entity network"),
    ],
)
def test_other_tensors_are_refused(tmp_path: Path, change: object, message: str) -> None:
    tensors = small_weights()
    change(tensors)  # type: ignore[operator]
    save_file(tensors, tmp_path / "weights.safetensors")
    with pytest.raises(WeightsError, match=message):
        read_ultra(tmp_path / "weights.safetensors")


@pytest.mark.parametrize("content", [b"", b"not a file of tensors", b"\x80\x02pickle"])
def test_other_files_are_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "ultra.pth").write_bytes(content)
    with pytest.raises(WeightsError, match=r"ultra\.pth: it cannot be read as safetensors"):
        read_ultra(tmp_path / "ultra.pth")
    with pytest.raises(WeightsError, match="there is no such file"):
        read_ultra(tmp_path / "none.safetensors")
    with pytest.raises(WeightsError, match="cannot be read"):
        read_ultra(tmp_path)
