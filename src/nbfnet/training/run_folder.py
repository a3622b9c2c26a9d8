"""RunFolder: a trained network with everything it needs, on disk.

    manifest.json           format version, configuration, graph, metrics
    model.safetensors       the parameters with the best validation metric
    data/                   the graph it learned from, with its names and its valid and test links: a store; a run that
                            samples a store has none, and refers to that by its fingerprint
    log.jsonl               one line for each validation
    checkpoint.safetensors  parameters, Adam's moments and counters, to resume from

The folder appears whole, and every file in it is replaced whole: it can be opened at any moment.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import torch
from pydantic import BaseModel, Field, ValidationError, model_validator

from nbfnet.config import Config, make_config
from nbfnet.errors import NbfnetError, RunFolderError
from nbfnet.graph.atomic import new_folder, replacing
from nbfnet.graph.fingerprint import fingerprint
from nbfnet.graph.graph import Dataset
from nbfnet.graph.store import fill_store, fingerprint_of, is_store, read_store
from nbfnet.model.network import NeuralBellmanFordNetwork
from nbfnet.strict_json import strict_json
from nbfnet.training.checkpoint import pack_tensors, read_tensors, write_error, write_tensors

MAY_CHANGE = {"epochs", "patience", "checkpoint_minutes", "device"}  # what --resume may change
FORMAT, VERSION = "nbfnet-run", 1
_SIGNED = ("config", "calibration", "store")
MANIFEST, MODEL, DATA = "manifest.json", "model.safetensors", "data"
UNIVERSAL, SHIPPED = "universal", Path(__file__).parents[1] / "universal"
_NOT_A_RUN, _RESTORE = "give a folder that 'nbfnet train' wrote", "restore it from a copy, or train again"


class _TrainedOn(BaseModel):
    name: str
    fingerprint: str


class _Best(BaseModel):
    epoch: float
    valid: dict[str, float]


class _Calibration(BaseModel):
    logit: list[float] = []
    probability: list[float] = []

    @model_validator(mode="after")
    def _is_a_curve(self) -> _Calibration:
        if len(self.logit) != len(self.probability):
            raise ValueError("a curve has as many probabilities as logits")
        return self


class _Reference(BaseModel):
    folder: str
    fingerprint: str


class _Manifest(BaseModel):
    """What a manifest must have; a network that was never validated has no metrics."""

    dataset: _TrainedOn
    config: dict[str, Any]
    metrics: _Best | Annotated[dict[str, Any], Field(max_length=0)]
    calibration: _Calibration | None = None
    store: _Reference | None = None  # instead of data/


@dataclass(frozen=True)
class RunFolder:
    """An existing run folder, with its manifest."""

    path: Path
    manifest: dict[str, Any]

    @classmethod
    def create(
        cls,
        path: Path,
        dataset: Dataset,
        config: Config,
        network: NeuralBellmanFordNetwork | None = None,
        learned: Mapping[str, Any] | None = None,
        /,
        **origin: str,
    ) -> RunFolder:
        """A new folder with a network, or a freshly initialized one; it appears complete or not at all.

        It holds a copy of its data, or, where a store is sampled, refers to that. ``learned`` holds more entries of the
        manifest: the graphs of a pre-training. ``origin`` says where it comes from: the source that was named, the
        command.

        Raises:
            GraphFormatError: the folder exists already, or cannot be written.
        """
        manifest: dict[str, Any] = {
            "format": FORMAT,
            "version": VERSION,
            "dataset": {
                "name": dataset.name,
                "kind": dataset.kind,
                "split": dataset.split,
                "fingerprint": fingerprint(dataset),
            },
            "vocabulary": f"{DATA}/train",  # where the names are, for whoever reads the folder
            "made_by": {
                "nbfnet": version("nbfnet"),
                "date": datetime.now(UTC).isoformat(timespec="seconds"),
                **origin,
            },
            "config": config.model_dump(mode="json"),
            "metrics": {},
            **(learned or {}),
        }
        first = initial_network(config, dataset) if network is None else network
        given = [] if network is None else [pack_tensors(network.state_dict(), {})]
        manifest["id"] = _id(manifest["dataset"]["fingerprint"], config, learned, given)
        if config.sampling.hops is not None and dataset.stored is not None:
            manifest["store"] = {"folder": str(dataset.stored.folder), "fingerprint": dataset.stored.fingerprint}
            manifest["vocabulary"] = str(dataset.stored.folder / "train")
        _sign(manifest)
        with new_folder(path) as draft:
            if "store" not in manifest:
                fill_store(dataset, draft / DATA, rows=False)
                manifest["data"] = _stamp(draft / DATA)
            description = {"epoch": 0, "training": manifest["id"]}
            (draft / MODEL).write_bytes(pack_tensors(first.state_dict(), description))
            _write_json(draft / MANIFEST, manifest)
        return cls(path, manifest)

    @property
    def name(self) -> str:
        """What a user calls it."""
        return UNIVERSAL if self.path == SHIPPED else str(self.path)

    @classmethod
    def open(cls, path: Path) -> RunFolder:
        """An existing folder; 'universal' is the network for any graph that comes with nbfnet.

        Raises:
            RunFolderError: it is not there, not a run folder, of another version, or damaged.
        """
        path = located(path)
        file = path / MANIFEST
        if not path.is_dir():
            raise RunFolderError(path, "there is no such folder", _NOT_A_RUN)
        if not file.is_file():
            raise RunFolderError(path, f"it has no {MANIFEST}, so it is not a run folder", _NOT_A_RUN)
        try:
            manifest = json.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            raise RunFolderError(file, f"it cannot be read: {error}", _RESTORE) from None
        if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
            raise RunFolderError(path, f"{MANIFEST} is not that of a run folder", _NOT_A_RUN)
        if manifest.get("version") != VERSION:
            found = manifest.get("version")
            remedy = "use the release of nbfnet that wrote it, or train again"
            raise RunFolderError(path, f"its format is version {found}, this release reads {VERSION}", remedy)
        try:
            _Manifest.model_validate(manifest)
        except ValidationError as error:
            key = error.errors()[0]["loc"][0]
            raise RunFolderError(file, f"its key {key!r} is missing or damaged", _RESTORE) from None
        _check_signed(file, manifest)
        return cls(path, manifest)

    @property
    def id(self) -> str | None:
        """Which training this is, the same for the same graph, configuration and seed: its tensor files have it too."""
        return self.manifest.get("id")

    def config(self) -> Config:
        """The configuration of the training."""
        return make_config(self.manifest["config"], origin=str(self.path / MANIFEST))

    def dataset(self) -> Dataset:
        """The graph it learned from, and its links; all of it is read only if its files were touched since."""
        if (store := self.manifest.get("store")) is not None:
            return self._referred(str(store["folder"]), str(store["fingerprint"]))
        try:
            dataset = read_store(self.path / DATA)
            if self.manifest.get("data") == _stamp(self.path / DATA):
                return dataset
            if fingerprint(dataset) != self.manifest["dataset"]["fingerprint"]:
                read_store(self.path / DATA, check=True)  # names the file, if it is one
                raise RunFolderError(self.path / DATA, "it is damaged, or of another training", _RESTORE)
        except RunFolderError:
            raise
        except NbfnetError as error:
            what = str(error).partition("\n")[0].removeprefix(f"{self.path / DATA}: ")
            raise RunFolderError(self.path / DATA, what, _RESTORE) from None
        return dataset

    def _referred(self, folder: str, wanted: str) -> Dataset:
        """The store that it refers to: where it was, beside the run, or in a folder that NBFNET_STORES names."""
        others = [self.path.resolve().parent, *map(Path, filter(None, os.environ.get("NBFNET_STORES", "").split(":")))]
        beside = (place for other in others if other.is_dir() for place in sorted(other.iterdir()))
        for place in chain([Path(folder)], beside):
            try:
                if is_store(place) and fingerprint_of(place) == wanted:
                    return read_store(place)
            except (NbfnetError, OSError):
                continue
        raise RunFolderError(
            self.path,
            f"it refers to the store {folder} with the fingerprint {wanted}, which is not there",
            "put the store back or beside the run, or name the folder that has it in NBFNET_STORES",
        )

    def network(self, dataset: Dataset, device: str = "cpu") -> NeuralBellmanFordNetwork:
        """The best network so far."""
        return self.network_and_epoch(dataset, device)[0]

    def network_and_epoch(self, dataset: Dataset, device: str = "cpu") -> tuple[NeuralBellmanFordNetwork, float]:
        """The best network so far and the epoch it is of, from one file: the manifest may be older or newer."""
        network = initial_network(self.config(), dataset)  # which leaves the random numbers of others alone
        tensors, description = read_tensors(self.path / MODEL)
        if description.get("training", self.id) != self.id:
            raise RunFolderError(self.path / MODEL, "it is of another training", _RESTORE)
        try:
            network.load_state_dict(tensors)
        except RuntimeError:
            what = "its tensors are not those of the network that the manifest describes"
            raise RunFolderError(self.path / MODEL, what, _RESTORE) from None
        return network.to(device).eval(), description["epoch"]

    def write_network(self, network: NeuralBellmanFordNetwork, epoch: float) -> None:
        """Replace the best network."""
        write_tensors(self.path / MODEL, network.state_dict(), {"epoch": epoch, "training": self.id})

    def update(self, **entries: Any) -> None:
        """Replace some entries of the manifest, and no other that was written meanwhile."""
        self.manifest.update({**RunFolder.open(self.path).manifest, **entries})
        _sign(self.manifest)
        try:
            _write_json(self.path / MANIFEST, self.manifest)
        except OSError as error:
            raise write_error(self.path / MANIFEST, error) from None


def located(path: Path) -> Path:
    """The folder that a user names as a run: that of the shipped network for 'universal', unless there is one."""
    return SHIPPED if str(path) == UNIVERSAL and not path.exists() else path


def _stamp(folder: Path) -> str:
    """A digest of the names, sizes and times of all files of a folder: the same as long as nobody touches them."""
    files = sorted((file.relative_to(folder).as_posix(), file.stat()) for file in folder.rglob("*") if file.is_file())
    return _digest([(name, found.st_size, found.st_mtime_ns) for name, found in files])


def initial_network(config: Config, dataset: Dataset) -> NeuralBellmanFordNetwork:
    """A network for a dataset's relations, initialized by the seed."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.training.seed)
        return NeuralBellmanFordNetwork(config.model, dataset.train.num_relation_ids)


def described(datasets: Sequence[Dataset]) -> list[dict[str, Any]]:
    """What a manifest says of the graphs of a pre-training."""
    return [
        {"name": each.name, "facts": len(each.train.triplets), "fingerprint": fingerprint(each)} for each in datasets
    ]


def _id(fingerprint: str, config: Config, learned: Mapping[str, Any] | None, given: Sequence[bytes]) -> str:
    lasting = config.model_dump(mode="json", exclude={"experiment": True, "training": MAY_CHANGE})
    stated = [fingerprint, lasting, *([] if learned is None else [learned])]
    digest = hashlib.blake2b(json.dumps(stated).encode(), digest_size=16)
    for content in given:
        digest.update(content)
    return digest.hexdigest()


def _sign(manifest: dict[str, Any]) -> None:
    """Note a digest of what a training or a prediction depends on and nothing else would show to be edited."""
    manifest["digests"] = {key: _digest(manifest[key]) for key in _SIGNED if key in manifest}


def _check_signed(file: Path, manifest: dict[str, Any]) -> None:
    digests = manifest.get("digests")
    if digests is None:
        return  # written before manifests had digests
    for key in _SIGNED:
        signed = digests.get(key) if isinstance(digests, dict) else None
        if signed != (_digest(manifest[key]) if key in manifest else None):
            remedy = f"{_RESTORE}; 'nbfnet train --set' and '--config' change a configuration"
            raise RunFolderError(file, f"its key {key!r} was edited: the run is not of what it states", remedy)


def _digest(value: object) -> str:
    return hashlib.blake2b(strict_json(value, sort_keys=True).encode(), digest_size=16).hexdigest()


def _write_json(file: Path, document: dict[str, Any]) -> None:
    with replacing(file) as partial:
        partial.write_text(strict_json(document, indent=2) + "\n", encoding="utf-8")
