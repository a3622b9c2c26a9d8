"""ULTRA's published weights as those of a network with relational edges.

ULTRA (Galkin et al. 2024) is the same architecture, but its messages pass against the edges: an edge (x, r, v) sends
from v to x. With inverse relations this is a network whose every edge takes the representation of its inverse, and in
whose relation graph the kinds 2 and 3 are exchanged.
"""

from __future__ import annotations

import re
from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load
from torch import Tensor

from nbfnet.config import ModelConfig, make_config
from nbfnet.errors import WeightsError
from nbfnet.model.network import NeuralBellmanFordNetwork
from nbfnet.regular_files import is_special

# Theirs to ours, as patterns of the parameters' names.
_PLACES = [
    (r"^relation_model\.layers\.(\d+)\.relation\.weight$", r"relation_network.layers.\1.edges.relation.weight"),
    (r"^relation_model\.layers\.(\d+)\.((linear|layer_norm)\.\w+)$", r"relation_network.layers.\1.\2"),
    (r"^entity_model\.layers\.(\d+)\.relation_projection\.([02])\.(\w+)$", r"layers.\1.edges.mlp.\2.\3"),
    (r"^entity_model\.layers\.(\d+)\.((linear|layer_norm)\.\w+)$", r"layers.\1.\2"),
    (r"^entity_model\.mlp\.(\d+)\.(\w+)$", r"score_function.mlp.\1.\2"),
]
_KINDS = [0, 1, 3, 2]
_REMEDY = "give one of ULTRA's checkpoints as safetensors, with its names as published"


def read_ultra(file: Path) -> NeuralBellmanFordNetwork:
    """The network of a file of ULTRA's weights.

    Raises:
        WeightsError: it cannot be read, or its tensors are not those of such a network.
        ConfigError: its sizes are out of range.
    """
    tensors = {_our_name(file, name): tensor for name, tensor in _read(file).items()}
    for name in tensors:
        if name.endswith("edges.relation.weight"):
            if tensors[name].shape[0] != len(_KINDS):
                what = f"its relation graph has {tensors[name].shape[0]} kinds of edges, expected {len(_KINDS)}"
                raise WeightsError(what, file=file, remedy=_REMEDY)
            tensors[name] = tensors[name][_KINDS]
    network = NeuralBellmanFordNetwork(_config(file, tensors), 0)
    try:
        network.load_state_dict(tensors)
    except RuntimeError as error:
        what = f"its tensors are not those of such a network: {' '.join(str(error).split())[:300]}"
        raise WeightsError(what, file=file, remedy=_REMEDY) from None
    return network.eval()


def _read(file: Path) -> dict[str, Tensor]:
    try:
        if is_special(file):
            raise ValueError("it is a pipe or a device")
        tensors: dict[str, Tensor] = load(file.read_bytes())
    except FileNotFoundError:
        raise WeightsError("there is no such file", file=file, remedy=_REMEDY) from None
    except (OSError, SafetensorError, ValueError) as error:
        raise WeightsError(f"it cannot be read as safetensors: {error}", file=file, remedy=_REMEDY) from None
    if not all(tensor.is_floating_point() and tensor.isfinite().all() for tensor in tensors.values()):
        raise WeightsError("it holds what is not a finite number", file=file, remedy=_REMEDY)
    return {name: tensor.float() for name, tensor in tensors.items()}


def _our_name(file: Path, name: str) -> str:
    for theirs, ours in _PLACES:
        if re.match(theirs, name):
            return re.sub(theirs, ours, name)
    raise WeightsError(f"its tensor {name[:100]!r} is not one of ULTRA's", file=file, remedy=_REMEDY)


def _config(file: Path, tensors: dict[str, Tensor]) -> ModelConfig:
    """The configuration that the sizes of the tensors say."""
    layers = {int(name.split(".")[1]) for name in tensors if name.startswith("layers.")}
    score = {int(name.split(".")[2]): name for name in tensors if re.fullmatch(r"score_function\.mlp\.\d+\.bias", name)}
    first = tensors.get("layers.0.linear.bias")
    if first is None or not score:
        raise WeightsError("it has no entity network", file=file, remedy=_REMEDY)
    model = {
        "dim": first.numel(),
        "layers": 1 + max(layers),
        "message": "distmult",
        "aggregate": "sum",
        "edges": "relational",
        "inverse_edges": True,
        "layer_norm": "layers.0.layer_norm.weight" in tensors,
        "hidden": [tensors[score[place]].numel() for place in sorted(score)[:-1]],
    }
    return make_config({"model": model}, origin=str(file)).model
