"""The datasets of the paper, one entry each; ``benchmarks.sha256`` has the checksums of the text files."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from nbfnet.graph.datasets.registry_entry import Checksum, RegistryEntry, RemoteFile, Statistics

_GITHUB = "https://raw.githubusercontent.com"
_EMBEDDINGS = f"{_GITHUB}/DeepGraphLearning/KnowledgeGraphEmbedding/master/data"
_GRAIL = f"{_GITHUB}/kkteru/grail/master/data"
_LINQS = "https://linqs-data.soe.ucsc.edu/public"
_MB = 1_000_000  # bytes
_PARTS = ("train.txt", "valid.txt", "test.txt")

# relations, entities, train, valid; entities, facts and queries of the test graph (tab:inductive_statistics)
_INDUCTIVE = {
    "fb15k-237-v1": (180, 1_594, 4_245, 489, 1_093, 1_993, 205),
    "fb15k-237-v2": (200, 2_608, 9_739, 1_166, 1_660, 4_145, 478),
    "fb15k-237-v3": (215, 3_668, 17_986, 2_194, 2_501, 7_406, 865),
    "fb15k-237-v4": (219, 4_707, 27_203, 3_352, 3_051, 11_714, 1_424),
    "wn18rr-v1": (9, 2_746, 5_410, 630, 922, 1_618, 188),
    "wn18rr-v2": (10, 6_954, 15_262, 1_838, 2_757, 4_011, 441),
    "wn18rr-v3": (11, 12_078, 25_901, 3_097, 5_084, 6_327, 605),
    "wn18rr-v4": (9, 3_861, 7_940, 934, 7_084, 12_334, 1_429),
}

# nodes, then the edges of the paper's split (tab:homo_statistics); the archive and its md5 sum
_CITATIONS = {
    "cora": (2_708, 4_614, 271, 544, "lbc/cora.tgz", "2fc040bee8ce3d920e4204effd1e9214"),
    "citeseer": (3_327, 4_022, 236, 474, "lbc/citeseer.tgz", "c8ded8ed395b31899576bfd1e91e4d6e"),
    "pubmed": (19_717, 37_687, 2_216, 4_435, "Pubmed-Diabetes.tgz", "9fa24b917990c47e264a94079b9599fe"),
}


def benchmarks() -> list[RegistryEntry]:
    """Every known dataset, in the order of the paper's tables; the embedded one last."""
    return [
        _fb15k_237(),
        _wn18rr(),
        *(_inductive(name) for name in _INDUCTIVE),
        *(_citations(name) for name in _CITATIONS),
        _ogbl_biokg(),
        _wikikg90m(),
        _world(),
    ]


def _fb15k_237() -> RegistryEntry:
    names = f"{_GITHUB}/DeepGraphLearning/NBFNet/master/data/fb15k237_entity.txt"
    return RegistryEntry(
        name="fb15k-237",
        kind="knowledge",
        layout="triplets",
        location="fb15k-237",
        needs=_in_folder("fb15k-237"),
        description="Freebase: people, films, places, sports",
        source="Toutanova and Chen 2015, from Freebase (CC BY 2.5)",
        statistics=Statistics(14_541, 237, 272_115, 17_535, 20_466),
        files=(
            *(_text(f"{_EMBEDDINGS}/FB15k-237/{part}", f"fb15k-237/{part}", 50 * _MB) for part in _PARTS),
            _text(names, "fb15k-237/entity_names.txt", 2 * _MB),
        ),
        checksums="agree with the md5 sums that TorchDrug and AmpliGraph publish for the triplets",
    )


def _wn18rr() -> RegistryEntry:
    return RegistryEntry(
        name="wn18rr",
        kind="knowledge",
        layout="triplets",
        location="wn18rr",
        needs=_in_folder("wn18rr"),
        description="WordNet: relations between word senses",
        source="Dettmers et al. 2018, from WordNet (WordNet licence)",
        statistics=Statistics(40_943, 11, 86_835, 3_034, 3_134),
        files=tuple(_text(f"{_EMBEDDINGS}/wn18rr/{part}", f"wn18rr/{part}", 8 * _MB) for part in _PARTS),
        checksums="agree with the md5 sums that TorchDrug and AmpliGraph publish",
    )


def _inductive(name: str) -> RegistryEntry:
    base, version = name.rsplit("-", 1)
    folder = {"fb15k-237": "fb237", "wn18rr": "WN18RR"}[base] + f"_{version}"
    relations, entities, train, valid, test_entities, test_facts, test = _INDUCTIVE[name]
    training, testing = f"inductive/{folder}", f"inductive/{folder}_ind"
    return RegistryEntry(
        name=name,
        kind="inductive",
        layout="inductive",
        location=training,
        needs=(*_in_folder(training, _PARTS[:2]), f"{testing}/train.txt", f"{testing}/test.txt"),
        description=f"{base}, tested on entities never seen in training",
        source="Teru, Denis and Hamilton 2020 (GraIL); licence as of the graph it is drawn from",
        statistics=Statistics(entities, relations, train, valid, test, test_entities, test_facts),
        files=tuple(
            _text(f"{_GRAIL}/{Path(place).name}/{part}", f"{place}/{part}", 5 * _MB)
            for place in (training, testing)
            for part in _PARTS
        ),
        checksums="of a copy whose counts are the paper's; the makers publish none",
    )


def _citations(name: str) -> RegistryEntry:
    nodes, train, valid, test, archive, md5 = _CITATIONS[name]
    return RegistryEntry(
        name=name,
        kind="homogeneous",
        layout="edges",
        location=f"{name}/edges.txt",
        needs=(f"{name}/edges.txt",),
        description="citations between papers, undirected",
        source="Sen et al. 2008, published by LINQS; no licence is stated",
        statistics=Statistics(nodes, None, train, valid, test, total=train + valid + test),
        files=(RemoteFile(f"{_LINQS}/{archive}", f"{name}/{Path(archive).name}", Checksum("md5", md5), 20 * _MB),),
        checksums="the md5 sum that TorchDrug publishes for the archive",
    )


def _ogbl_biokg() -> RegistryEntry:
    types = ("disease", "drug", "function", "protein", "sideeffect")
    return RegistryEntry(
        name="ogbl-biokg",
        kind="knowledge",
        layout="biokg",
        location="ogbl_biokg",
        needs=(
            *(f"ogbl_biokg/split/random/{part}.pt" for part in ("train", "valid", "test")),
            *(f"ogbl_biokg/mapping/{kind}_entidx2name.csv.gz" for kind in types),
            "ogbl_biokg/mapping/relidx2relname.csv.gz",
        ),
        description="drugs, diseases, proteins, functions, side effects",
        source="Open Graph Benchmark, Hu et al. 2020 (CC0)",
        statistics=Statistics(93_773, 51, 4_762_678, 162_886, 162_870, total=5_088_434),
        by_hand=(
            "OGB publishes no checksum for its archive, so fetch it yourself: "
            "https://snap.stanford.edu/ogb/data/linkproppred/biokg.zip; unpack what is in its folder 'biokg'"
        ),
    )


def _wikikg90m() -> RegistryEntry:
    folder = "wikikg90m_kddcup2021"
    arrays = ("train_hrt", "val_hr", "val_t_candidate", "val_t_correct_index")
    archive = f"https://dgl-data.s3-accelerate.amazonaws.com/dataset/OGB-LSC/{folder}.zip"
    return RegistryEntry(
        name="wikikg90m",
        kind="knowledge",
        layout="wikikg90m",
        location=folder,
        needs=(f"{folder}/meta.pt", *(f"{folder}/processed/{array}.npy" for array in arrays)),
        description="Wikidata of 2020",
        source="Open Graph Benchmark, Hu et al. 2021 (CC0)",
        statistics=Statistics(87_143_637, 1_315, total=504_220_369),
        files=(
            RemoteFile(archive, f"{folder}.zip", Checksum("md5", "73d4f5dde29d78669330b4db4c12fc9c"), 200_000 * _MB),
        ),
        checksums="the md5 sum that OGB publishes for the archive",
    )


def _world() -> RegistryEntry:
    return RegistryEntry(
        name="world",
        kind="knowledge",
        layout="embedded",
        location="world",
        needs=_in_folder("world"),
        description="countries and cities, inside the package",
        source="comes with nbfnet",
        statistics=Statistics(4_411, 9, 17_224, 957, 957),
    )


def _in_folder(folder: str, parts: tuple[str, ...] = _PARTS) -> tuple[str, ...]:
    return tuple(f"{folder}/{part}" for part in parts)


def _text(url: str, target: str, largest: int) -> RemoteFile:
    return RemoteFile(url, target, Checksum("sha256", _sha256()[target], text=True), largest)


@cache
def _sha256() -> dict[str, str]:
    """Digests by target, from a file that ``sha256sum --check`` understands too."""
    lines = Path(__file__).with_name("benchmarks.sha256").read_text(encoding="utf-8").splitlines()
    return {target: digest for digest, target in (line.split(maxsplit=1) for line in lines)}
