"""compare: several methods on one graph, each trained for the same time, all evaluated in the same way."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from nbfnet.config import Table, configured, make_config
from nbfnet.errors import ConfigError, MissingExtraError, RunFolderError, WriteError
from nbfnet.evaluation.filtering import links_of
from nbfnet.graph.atomic import alone_in, replacing
from nbfnet.graph.fingerprint import fingerprint
from nbfnet.graph.graph import Dataset
from nbfnet.graph.loading import load
from nbfnet.peers.course import Point, quality_metric
from nbfnet.peers.methods import choose_methods
from nbfnet.peers.trial import Setting, run_trial
from nbfnet.reproduction import describe_machine, this_commit
from nbfnet.strict_json import strict_json
from nbfnet.tables import data_frame, html_table
from nbfnet.training.defaults import default_config
from nbfnet.training.start import check_dataset

RESULTS, PLOT = "compare.json", "compare"  # in the folder; the plot as .png and .svg
Listener = Callable[[str, Point], None]  # is told the method, and each point of its curve


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """The results of several methods on one graph; ``to_dict()`` is the JSON of ``nbfnet compare``."""

    document: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return self.document

    def rows(self) -> list[dict[str, Any]]:
        """One for each method: its metrics, parameters, and seconds of training and of ranking the test links."""
        numbers = ("parameters", "training_seconds", "ranking_seconds")
        methods = self.document["methods"].items()
        return [{"method": name, **found["metrics"], **{key: found[key] for key in numbers}} for name, found in methods]

    def to_pandas(self) -> Any:
        """The rows as a DataFrame."""
        return data_frame(self.rows())

    def curves(self) -> Any:
        """The valid metric of every method over time, as a matplotlib figure.

        Raises:
            MissingExtraError: matplotlib is not installed.
        """
        if importlib.util.find_spec("matplotlib") is None:
            raise MissingExtraError("a plot of quality over time", "matplotlib", "plot")
        return _draw(self.document)

    def __repr__(self) -> str:
        return f"<Comparison {self.document['dataset']}: {', '.join(self.document['methods'])}>"

    def _repr_html_(self) -> str:
        rows = self.rows()
        return html_table(f"{self.document['dataset']}, test", list(rows[0]), [list(row.values()) for row in rows])


def compare(
    source: object,
    folder: str | Path,
    *,
    methods: Sequence[str] | None = None,
    hours: float = 1.0,
    seed: int = 0,
    sample: int | None = None,
    config: str | Path | Table | None = None,
    paper_split: bool = False,
    listener: Listener | None = None,
) -> Comparison:
    """Train several methods for the same time, one after another, and evaluate all of them on the test links.

    Args:
        source: the graph, whatever ``nbfnet.load`` takes.
        folder: where results are kept. A method that has one there is not trained again; a network whose training was
            interrupted resumes, any other method begins again.
        methods: names of ``nbfnet.peers.methods.METHODS``; None takes all that fit the graph and are installed.
        hours: of training and validation, for each method that learns.
        seed: of the split and of everything random.
        sample: rank only so many test links, drawn by the seed.
        config: of the method nbfnet: a TOML file or tables; the rest is chosen from the graph.
        paper_split: split a homogeneous graph as the paper did.
        listener: is called with the name of a method and each point of its curve of valid metrics.

    Raises:
        ConfigError: a method is unknown or does not fit, or the network would sample the graph.
        MissingExtraError: a method needs a package that is not installed.
        EvaluationError: there are no test links.
        RunFolderError: the folder holds a comparison with other settings, or another process works in it.
    """
    stated = make_config(*configured(config))
    if not hours > 0:
        raise ConfigError(f"hours = {hours}: give each method some time, such as 0.5")
    if stated.sampling.hops is not None:
        raise ConfigError("sampling.hops: methods are compared on the whole graph; leave it out")
    dataset = load(source, seed=seed, paper_split=paper_split)
    chosen = choose_methods(dataset.kind, methods)
    links_of(dataset, "test")
    tables = stated.model_dump(mode="json", include={"model", "training"}, exclude_unset=True)
    check_dataset(dataset, make_config(default_config(dataset, stated), tables))
    setting = Setting(float(hours), seed, sample, tables)
    path = Path(folder)
    with _alone_in(path):
        document = _begin(path / RESULTS, dataset, setting)
        for method in chosen:
            if method.name not in document["methods"]:
                tell = partial(listener or _ignore, method.name)
                document["methods"][method.name] = run_trial(method, dataset, path / method.name, setting, tell)
                write_document(path / RESULTS, document)
        done = {method.name: document["methods"][method.name] for method in chosen}
        comparison = Comparison({**document, "methods": done})
        _write_plot(comparison, path)
    return comparison


def write_document(file: Path, document: dict[str, Any]) -> None:
    """Replace a file of results."""
    with replacing(file) as partial_file:
        partial_file.write_text(strict_json(document, indent=2) + "\n", encoding="utf-8")


def _ignore(method: str, point: Point) -> None:
    pass


def _begin(file: Path, dataset: Dataset, setting: Setting) -> dict[str, Any]:
    """The document so far: what is in the file, if it is of the same graph and setting."""
    new = {
        "dataset": dataset.name,
        "kind": dataset.kind,
        "fingerprint": fingerprint(dataset),
        "split": dataset.split,
        **setting.to_dict(),
        "metric": quality_metric(dataset),
        "machine": describe_machine(),
        "commit": this_commit(),
        "methods": {},
    }
    if not file.exists():
        return new
    try:
        found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        kept = ("fingerprint", *setting.to_dict())
        differing = [key for key in kept if found[key] != json.loads(strict_json(new[key]))]
        is_one = isinstance(found["methods"], dict)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        is_one, differing = False, []
    if not is_one:
        raise RunFolderError(file, "this is not a file of a comparison", "remove it, or choose another folder")
    if differing:
        words = " and ".join("graph or split" if key == "fingerprint" else key for key in differing)
        raise RunFolderError(file, f"this is a comparison with another {words}", "choose another folder")
    return found


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    with ExitStack() as stack:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            stack.enter_context(alone_in(folder, wait=False))
        except BlockingIOError:
            what, remedy = "another process compares in this folder", "wait for it, or stop it first"
            raise RunFolderError(folder, what, remedy) from None
        except OSError as error:
            remedy = "check its permissions, or choose another folder"
            raise WriteError(f"cannot be written: {error.strerror}", file=folder, remedy=remedy) from None
        yield


def _write_plot(comparison: Comparison, folder: Path) -> None:
    """As PNG and SVG; without matplotlib there is none."""
    try:
        figure = comparison.curves()
    except MissingExtraError:
        return
    for kind in ("png", "svg"):
        with replacing(folder / f"{PLOT}.{kind}") as partial_file:
            figure.savefig(partial_file, format=kind, dpi=150)


def _draw(document: dict[str, Any]) -> Any:
    """A line for each method that learns, a dashed one for each that does not."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.2), layout="constrained")
    axes = figure.subplots()
    metric = document["metric"]
    for number, (name, found) in enumerate(document["methods"].items()):
        points = [(point["seconds"] / 60, point["valid"][metric]) for point in found["curve"] if point["valid"]]
        colour = f"C{number % 10}"
        if points and found["training_seconds"]:
            axes.plot(*zip(*points, strict=True), marker="o", markersize=3, label=name, color=colour)
        elif points:
            axes.axhline(points[-1][1], linestyle="--", linewidth=1, label=name, color=colour)
    axes.set(title=document["dataset"], xlabel="minutes of training and validation", ylabel=f"valid {metric}")
    if axes.lines:
        axes.legend(fontsize="small")
    return figure
