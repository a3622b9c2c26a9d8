"""How much memory a whole graph takes at least: said before the work begins, instead of being killed in it."""

from __future__ import annotations

from nbfnet.available_memory import require_memory
from nbfnet.config import Config
from nbfnet.graph.graph import Graph

# Measured with five million facts between a million entities: edges both ways, their transpose, known answers.
_BYTES_PER_FACT = 280
_BYTES_PER_ENTITY = 100


def whole_graph_memory(graph: Graph, config: Config) -> int:
    """Bytes to train on all of a graph, one query at a time, without what the names take."""
    of_query = 4 * config.model.dim * (config.model.layers + 3) * graph.num_nodes
    return _BYTES_PER_FACT * len(graph.triplets) + _BYTES_PER_ENTITY * graph.num_nodes + of_query


def check_memory(graph: Graph, config: Config, work: str) -> None:
    """Refuse a graph that is too large to be used whole.

    Raises:
        NotEnoughMemoryError: says what it needs, what there is, and which setting would make it fit.
    """
    if config.sampling.hops is None:
        require_whole(graph, config, work)


def require_whole(graph: Graph, config: Config, work: str) -> None:
    """The same for work that uses the whole graph even where queries are sampled.

    Raises:
        NotEnoughMemoryError: as ``check_memory``.
    """
    require_memory(
        f"{work} the whole graph of {graph.num_nodes:,} entities and {len(graph.triplets):,} facts",
        whole_graph_memory(graph, config),
        remedy=_remedy(graph, config),
    )


def _remedy(graph: Graph, config: Config) -> str:
    if config.sampling.hops is not None:
        return "give the facts around the question with --facts (Run.on in Python), or use a machine with more memory"
    if graph.kind == "homogeneous":
        return "use a smaller network, such as --set model.dim=16, or a machine with more memory"
    smaller = f", or a smaller network, such as --set model.dim={max(1, config.model.dim // 2)}"
    return (
        "sample the graph around each query: convert it with 'nbfnet data convert' and train on the store with "
        f"--set sampling.hops=2 --set sampling.neighbours=100{smaller}"
    )
