from __future__ import annotations

import hashlib
import io
import os
import subprocess
import sys
import tarfile
import zipfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from nbfnet.errors import DatasetError, UnknownNameError
from nbfnet.graph.datasets import download as downloading
from nbfnet.graph.datasets.registry import check_statistics, find_dataset, known_datasets, locate
from nbfnet.graph.datasets.registry_entry import Checksum, RemoteFile, Statistics, count_dataset, count_graph
from nbfnet.graph.graph import Dataset, Graph
from nbfnet.graph.reading.folders import inductive_twin
from nbfnet.graph.triplets import Triplets
from nbfnet.graph.vocabulary import Vocabulary

NAMES = [
    *("fb15k-237", "wn18rr", "cora", "citeseer", "pubmed", "ogbl-biokg", "wikikg90m", "world"),
    *(f"{base}-v{version}" for base in ("fb15k-237", "wn18rr") for version in (1, 2, 3, 4)),
]
DATA = os.environ.get("NBFNET_DATA")
needs_data = pytest.mark.skipif(DATA is None, reason="NBFNET_DATA is not set: the benchmark graphs are not here")


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """An empty NBFNET_DATA folder, and an empty cache folder."""
    monkeypatch.setenv("NBFNET_DATA", str(tmp_path / "given"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(downloading, "WAITS", [])
    return tmp_path / "given", tmp_path / "cache" / "nbfnet"


def fill(entry, folder, content=b"x"):
    for needed in entry.needs:
        (folder / needed).parent.mkdir(parents=True, exist_ok=True)
        (folder / needed).write_bytes(content)


def served(entry, server, contents):
    """The entry with its files on a server of this machine, with these contents by target."""
    files = tuple(
        RemoteFile(
            server.put(file.target, contents[file.target]),
            file.target,
            Checksum("sha256", hashlib.sha256(contents[file.target]).hexdigest()),
            file.largest,
        )
        for file in entry.files
    )
    return replace(entry, files=files)


def test_every_dataset_is_known_by_its_name():
    assert sorted(known_datasets()) == sorted(NAMES)
    for name in NAMES:
        entry = find_dataset(name)
        assert entry.name == name
        assert entry.description
        assert entry.source
        # what can be downloaded has checksums of a known origin; what cannot says how to get it
        assert bool(entry.files) == bool(entry.checksums)
        assert entry.layout == "embedded" or bool(entry.files) != bool(entry.by_hand)
        for file in entry.files:
            assert file.url.startswith("https://")
            assert len(file.checksum.digest) == {"sha256": 64, "md5": 32}[file.checksum.algorithm]


def test_a_download_may_be_about_as_large_as_what_was_published():
    general = RemoteFile("", "", Checksum("md5", "")).largest
    for entry in known_datasets().values():
        for file in entry.files:
            assert file.largest < general or entry.name == "wikikg90m", file
            copy = Path(DATA or "") / file.target
            if DATA and copy.exists():
                assert 2 * copy.stat().st_size <= file.largest, file


def test_upper_and_lower_case_count_as_equal():
    assert find_dataset("FB15k-237") is find_dataset("fb15k-237")


def test_a_misspelt_name_gets_the_closest_ones():
    with pytest.raises(UnknownNameError, match="'wn18rr'") as raised:
        find_dataset("wn18r")
    assert raised.value.role == "dataset"


@pytest.mark.parametrize("name", [name for name in NAMES if name != "world"])
def test_the_given_folder_comes_before_the_cache(folders, name):
    given, cache = folders
    entry = find_dataset(name)
    fill(entry, cache)
    assert locate(entry, download=False) == cache / entry.location
    fill(entry, given)
    assert locate(entry, download=False) == given / entry.location


def test_an_inductive_dataset_has_a_second_folder(folders):
    given, _ = folders
    entry = find_dataset("wn18rr-v3")
    fill(entry, given)
    located = locate(entry)
    assert located == given / "inductive" / "WN18RR_v3"
    assert inductive_twin(located) == given / "inductive" / "WN18RR_v3_ind"


def test_a_folder_with_a_file_missing_does_not_count(folders):
    given, cache = folders
    entry = find_dataset("wn18rr")
    fill(entry, given)
    (given / "wn18rr" / "valid.txt").unlink()
    with pytest.raises(DatasetError) as raised:
        locate(entry, download=False)
    message = str(raised.value)
    assert f"{given} (missing: wn18rr/valid.txt)" in message
    assert str(cache) in message
    assert "NBFNET_DATA" in message
    assert "KnowledgeGraphEmbedding" in message


def test_the_cache_is_in_the_home_folder_without_an_absolute_xdg_folder(tmp_path, monkeypatch):
    monkeypatch.delenv("NBFNET_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path))
    entry = find_dataset("cora")
    fill(entry, tmp_path / ".cache" / "nbfnet")
    assert locate(entry) == tmp_path / ".cache" / "nbfnet" / "cora" / "edges.txt"
    with pytest.raises(DatasetError, match="NBFNET_DATA, which is not set"):
        locate(find_dataset("pubmed"), download=False)


def test_a_dataset_without_a_checksum_is_never_downloaded(folders):
    given, cache = folders
    with pytest.raises(DatasetError, match=r"biokg\.zip") as raised:
        locate(find_dataset("ogbl-biokg"))
    assert str(given) in str(raised.value)
    assert str(cache / "ogbl_biokg") in str(raised.value)


@pytest.mark.parametrize("name", ["wn18rr", "fb15k-237", "fb15k-237-v2"])
def test_what_is_missing_is_downloaded_into_the_cache(folders, file_server, name):
    _, cache = folders
    entry = find_dataset(name)
    contents = {file.target: file.target.encode() for file in entry.files}
    entry = served(entry, file_server, contents)
    assert locate(entry) == cache / entry.location
    for target, content in contents.items():
        assert (cache / target).read_bytes() == content
    assert locate(entry, download=False) == cache / entry.location
    (cache / entry.needs[1]).unlink()
    file_server.requests.clear()
    locate(entry)
    assert [path for path, _ in file_server.requests] == [entry.needs[1]]


@pytest.mark.parametrize("name", ["wn18rr", "cora"])
def test_processes_that_need_the_same_dataset_download_it_once(folders, file_server, name):
    entry = find_dataset(name)
    archive = tgz({"cora/cora.content": b"a\tx\nb\ty\n", "cora/cora.cites": b"a\tb\n"})
    entry = served(entry, file_server, {file.target: archive for file in entry.files})
    file_server.pace = 0.05  # slow enough that both are under way at once
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(locate, [entry, entry])  # a lock of a file holds between threads as between processes
    assert first == second
    assert sorted(path for path, _ in file_server.requests) == sorted(file.target for file in entry.files)


def test_lines_that_end_another_way_are_the_same_lines(folders, file_server):
    _, cache = folders
    entry = find_dataset("wn18rr")
    lines = b"a\tr\tb\nb\tr\tc\n"
    checksum = Checksum("sha256", hashlib.sha256(lines).hexdigest(), text=True)
    files = tuple(
        RemoteFile(file_server.put(file.target, lines.replace(b"\n", b"\r\n")), file.target, checksum)
        for file in entry.files
    )
    assert locate(replace(entry, files=files)) == cache / "wn18rr"


def test_readable_names_are_not_needed(folders, file_server, caplog):
    _, cache = folders
    entry = find_dataset("fb15k-237")
    entry = served(entry, file_server, {file.target: b"lines" for file in entry.files})
    del file_server.files["fb15k-237/entity_names.txt"]
    assert locate(entry) == cache / "fb15k-237"
    assert "entity_names.txt" in caplog.text


def test_a_failed_download_says_where_to_put_the_files(folders, file_server):
    given, cache = folders
    entry = find_dataset("wn18rr")
    entry = served(entry, file_server, {file.target: b"lines" for file in entry.files})
    del file_server.files["wn18rr/test.txt"]
    with pytest.raises(DatasetError, match="404") as raised:
        locate(entry)
    message = str(raised.value)
    assert f"{file_server.url}/wn18rr/test.txt" in message
    assert f"looked in: {given}" in message
    assert f"{file_server.url}/wn18rr/test.txt as {cache / 'wn18rr' / 'test.txt'}" in message


def tgz(files):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return packed.getvalue()


def test_a_citation_graph_is_converted(folders, file_server):
    _, cache = folders
    packed = tgz({"cora/cora.content": b"p\t0\nq\t1\nr\t0\n", "cora/cora.cites": b"q\tp\nr\tq\n"})
    entry = served(find_dataset("cora"), file_server, {"cora/cora.tgz": packed})
    assert locate(entry) == cache / "cora" / "edges.txt"
    assert (cache / "cora" / "edges.txt").read_text() == "1\t0\n2\t1\n"
    assert [path.name for path in (cache / "cora").iterdir()] == ["edges.txt"]


def test_an_archive_without_end_is_not_fetched(folders, file_server):
    _, cache = folders
    entry = find_dataset("cora")
    with pytest.raises(DatasetError, match="more than 20,000,000 bytes"):
        locate(served(entry, file_server, {"cora/cora.tgz": bytes(20_000_001)}))
    assert list((cache / "cora").iterdir()) == []


def test_only_the_needed_files_of_wikikg90m_are_unpacked(folders, file_server):
    _, cache = folders
    entry = find_dataset("wikikg90m")
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for needed in (*entry.needs, "wikikg90m_kddcup2021/processed/entity_feat.npy"):
            archive.writestr(needed, needed)
    entry = served(entry, file_server, {"wikikg90m_kddcup2021.zip": packed.getvalue()})
    assert locate(entry) == cache / "wikikg90m_kddcup2021"
    found = sorted(str(path.relative_to(cache)) for path in cache.rglob("*") if path.is_file())
    assert found == sorted(entry.needs)
    assert (cache / entry.needs[0]).read_text() == entry.needs[0]


def test_an_archive_without_the_needed_files_is_an_error(folders, file_server):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("other.txt", "other")
    entry = served(find_dataset("wikikg90m"), file_server, {"wikikg90m_kddcup2021.zip": packed.getvalue()})
    with pytest.raises(DatasetError, match=r"meta\.pt"):
        locate(entry)


def test_an_embedded_dataset_is_inside_the_package(folders):
    world = find_dataset("world")
    here = replace(world, location="ogb", needs=("ogb/__init__.py",))
    assert (locate(here) / "biokg.py").is_file()
    nowhere = replace(world, location="nowhere", needs=("nowhere/train.txt",))
    with pytest.raises(DatasetError, match=r"nowhere/train\.txt is not\n.*install nbfnet again"):
        locate(nowhere)


def test_an_archive_that_was_put_in_place_by_hand_is_converted(folders):
    _, cache = folders
    archive = cache / "citeseer" / "citeseer.tgz"
    archive.parent.mkdir(parents=True)
    archive.write_bytes(tgz({"citeseer/citeseer.content": b"p\nq\n", "citeseer/citeseer.cites": b"q\tp\n"}))
    assert locate(find_dataset("citeseer")).read_text() == "1\t0\n"


def test_counts_are_compared_with_the_paper():
    entry = find_dataset("fb15k-237")
    check_statistics(entry, Statistics(14_541, 237, 272_115, 17_535, 20_466))
    check_statistics(entry, Statistics(entities=14_541))
    with pytest.raises(DatasetError, match=r"entities: expected 14,541, got 14,505; valid: expected 17,535, got 0"):
        check_statistics(entry, Statistics(entities=14_505, relations=237, valid=0))


def test_a_dataset_is_counted():
    relations = Vocabulary.numbered(2, role="relation")

    def graph(num_nodes, num_triplets):
        ids = np.zeros(num_triplets)
        return Graph("g", "knowledge", Vocabulary.numbered(num_nodes), relations, Triplets.of(ids, ids, ids))

    links = Triplets.of([0], [0], [0])
    assert count_graph(graph(5, 3)) == Statistics(entities=5, relations=2, total=3)
    assert count_dataset(Dataset("d", graph(5, 3), links, Triplets.empty())) == Statistics(5, 2, 3, 1, 0)
    inductive = Dataset("d", graph(5, 3), links, links, test_graph=graph(7, 4))
    assert count_dataset(inductive) == Statistics(5, 2, 3, 1, 1, test_entities=7, test_facts=4)


def test_published_totals_are_the_sums_of_their_parts():
    for name in ("cora", "citeseer", "pubmed", "ogbl-biokg"):
        stated = find_dataset(name).statistics
        assert stated.total == stated.train + stated.valid + stated.test
    assert [find_dataset(name).statistics.total for name in ("cora", "citeseer", "pubmed")] == [
        5_429,
        4_732,
        44_338,
    ]


def lines_of(path):
    return [tuple(line.split("\t")) for line in Path(path).read_text(encoding="utf-8").splitlines()]


def count_names(*splits):
    triplets = [triplet for split in splits for triplet in split]
    return len({end for triplet in triplets for end in (triplet[0], triplet[-1])}), len({t[1] for t in triplets})


@needs_data
@pytest.mark.parametrize("name", ["fb15k-237", "wn18rr"])
def test_the_real_knowledge_graphs_have_the_papers_counts(name):
    folder = locate(find_dataset(name), download=False)
    splits = [lines_of(folder / f"{part}.txt") for part in ("train", "valid", "test")]
    check_statistics(find_dataset(name), Statistics(*count_names(*splits), *map(len, splits)))


@needs_data
@pytest.mark.parametrize("name", NAMES[8:])
def test_the_real_inductive_splits_have_the_papers_counts(name):
    entry = find_dataset(name)
    folder = locate(entry, download=False)
    train, valid = lines_of(folder / "train.txt"), lines_of(folder / "valid.txt")
    facts, test = (lines_of(inductive_twin(folder) / f"{part}.txt") for part in ("train", "test"))
    test_entities, _ = count_names(facts, test)
    counts = (len(train), len(valid), len(test), test_entities, len(facts))
    check_statistics(entry, Statistics(*count_names(train, valid), *counts))


@needs_data
@pytest.mark.parametrize("name", ["cora", "citeseer", "pubmed"])
def test_the_real_citation_graphs_have_the_papers_counts(name):
    edges = lines_of(locate(find_dataset(name), download=False))
    nodes = 1 + max(int(node) for edge in edges for node in edge)
    check_statistics(find_dataset(name), Statistics(entities=nodes, total=len(edges)))


@needs_data
def test_the_real_files_have_the_stated_checksums():
    checked = 0
    for entry in known_datasets().values():
        for file in entry.files:
            path = Path(DATA) / file.target
            if file.checksum.text and path.exists():
                assert file.checksum.of(path) == file.checksum.digest, path
                checked += 1
    assert checked >= 54


# The md5 sums that TorchDrug and AmpliGraph publish; those of FB15k-237 are of lines that end in CR LF.
PUBLISHED_MD5 = {
    "wn18rr/train.txt": (b"\n", "35e81af3ae233327c52a87f23b30ad3c"),
    "wn18rr/valid.txt": (b"\n", "74a2ee9eca9a8d31f1a7d4d95b5e0887"),
    "wn18rr/test.txt": (b"\n", "2b45ba1ba436b9d4ff27f1d3511224c9"),
    "fb15k-237/train.txt": (b"\r\n", "c05b87b9ac00f41901e016a2092d7837"),
    "fb15k-237/valid.txt": (b"\r\n", "6a94efd530e5f43fcf84f50bc6d37b69"),
    "fb15k-237/test.txt": (b"\r\n", "f5bdf63db39f455dec0ed259bb6f8628"),
}


@needs_data
@pytest.mark.parametrize("target", PUBLISHED_MD5)
def test_our_checksums_agree_with_those_that_others_publish(target, tmp_path):
    ending, md5 = PUBLISHED_MD5[target]
    lines = (Path(DATA) / target).read_bytes().replace(b"\r\n", b"\n")
    published = tmp_path / "published.txt"
    published.write_bytes(lines.replace(b"\n", ending))
    assert hashlib.md5(published.read_bytes()).hexdigest() == md5
    ours = next(f.checksum for f in find_dataset(target.split("/")[0]).files if f.target == target)
    assert ours.of(published) == ours.digest


def test_looking_a_dataset_up_loads_neither_torch_nor_the_downloader():
    program = (
        "import sys, nbfnet.graph.datasets.ogb; from nbfnet.graph.datasets.registry import find_dataset;"
        "find_dataset('cora');"
        "print([m for m in ('torch', 'rich', 'urllib.request') if m in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"
