"""Datasets from a loopback Hub and from copies on disk, recorded once and checked from then on."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.net.loopback_hub import LoopbackHub, Repo, loopback_hub

from trueground.benchmarks.data import fetch_data
from trueground.benchmarks.datasets import (
    DATASETS,
    DataFile,
    Dataset,
    add_dataset,
    all_datasets,
    fetched_names,
    get_dataset,
)
from trueground.benchmarks.fetching import Fetched
from trueground.errors import InputError, UnreachableError, UsageError, WriteError

ONE = os.urandom(300_000)
SHARDS = [os.urandom(50_000) for _ in range(11)]
TINY = Dataset(
    name="tiny",
    doc="Two splits made up for the tests.",
    license="CC0-1.0",
    origin_note="Loopback only.",
    files=(
        DataFile("first", "org/first", "*data/test-*.parquet"),
        DataFile("second", "org/second", "data/test-*.parquet"),
    ),
)


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LoopbackHub]:
    monkeypatch.setenv("TRUEGROUND_HOME", str(tmp_path / "home"))
    monkeypatch.setitem(DATASETS, "tiny", TINY)
    with loopback_hub() as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.hub_url)
        hub.repos["org/first"] = Repo(
            "aaa", {"README.md": b"#", "data/test-00000-of-00001.parquet": ONE, "data/train": b""}
        )
        # The Hub's order is not the shards' order here.
        numbered = {f"data/test-{i:05d}-of-00011.parquet": SHARDS[i] for i in range(10, -1, -1)}
        hub.repos["org/second"] = Repo("bbb", numbered)
        yield hub


def contents(name: str) -> list[bytes]:
    return [path.read_bytes() for path in TINY.local_files(name)]


def new(fetched: Fetched) -> list[str]:
    return [file.record.local for file in fetched.files if file.new]


def test_local_files_before_fetch_raise_input_error(hub: LoopbackHub, tmp_path: Path) -> None:
    expected = r"not fetched yet\. Fetch it with: trueground data fetch tiny, or name your copy"
    with pytest.raises(InputError, match=expected):
        TINY.local_files("first")
    with pytest.raises(InputError, match="not fetched yet"):
        TINY.verify()
    assert not TINY.is_fetched
    assert fetched_names() == []
    assert not (tmp_path / "home").exists()
    assert TINY.folder == tmp_path / "home" / "data" / "tiny"


def test_fetching_records_and_keeps_the_order_of_shards(hub: LoopbackHub) -> None:
    fetched = fetch_data("tiny")
    assert contents("first") == [ONE]
    assert contents("second") == SHARDS
    assert TINY.local_files("first")[0].name == "first.parquet"
    assert TINY.local_files("second")[10].name == "second-00010-of-00011.parquet"
    assert len(new(fetched)) == 12
    record = json.loads((TINY.folder / "origin.json").read_bytes())
    assert record["dataset"] == "tiny"
    assert record["files"][0] == {
        "file": "first",
        "local": "first.parquet",
        "size": len(ONE),
        "sha256": fetched.files[0].record.sha256,
        "repo": "org/first",
        "revision": "aaa",
        "path": "data/test-00000-of-00001.parquet",
    }
    assert [check.problem for check in TINY.verify()] == [None] * 12
    assert fetched_names() == ["tiny"]
    assert not list(TINY.folder.glob(".*"))


def test_a_second_fetch_of_intact_files_makes_no_call(hub: LoopbackHub) -> None:
    fetch_data("tiny")
    record = (TINY.folder / "origin.json").read_bytes()
    hub.seen.clear()
    assert new(fetch_data("tiny")) == []
    assert hub.seen == []
    assert (TINY.folder / "origin.json").read_bytes() == record


def test_a_failure_midway_is_resumed_by_the_next_fetch(
    hub: LoopbackHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.breaks.extend([100_000])
    steps: list[tuple[str, int, int | None]] = []
    fetch_data("tiny", progress=lambda *step: steps.append(step))
    assert contents("first") == [ONE]
    assert [seen.range for seen in hub.of("cdn")][:2] == [None, "bytes=100000-"]
    assert ("first.parquet", len(ONE), len(ONE)) in steps
    assert {name for name, _, _ in steps} == {p.name for p in TINY.folder.glob("*.parquet")}


def test_fetch_data_after_failure_keeps_fetched_files(hub: LoopbackHub) -> None:
    second = hub.repos.pop("org/second")
    with pytest.raises(InputError, match=r"org/second.* doesn't exist"):
        fetch_data("tiny")
    assert contents("first") == [ONE]
    hub.repos["org/second"] = second
    assert len(new(fetch_data("tiny"))) == 11


def test_fetch_data_damaged_file_restores_recorded_revision(hub: LoopbackHub) -> None:
    fetch_data("tiny")
    paths = TINY.local_files("second")
    paths[3].write_bytes(SHARDS[4])
    paths[5].unlink()
    problems = {check.path: check.problem for check in TINY.verify() if check.problem}
    assert list(problems) == [paths[3], paths[5]]
    assert "found SHA-256" in (problems[paths[3]] or "")
    with pytest.raises(InputError, match=r"00005.* is missing.*trueground data fetch tiny"):
        TINY.local_files("second")
    assert new(fetch_data("tiny")) == [paths[3].name, paths[5].name]
    assert contents("second") == SHARDS
    assert {s.path for s in hub.of("hub") if "second" in s.path and "api" in s.path} == {
        "/api/datasets/org/second/revision/main",
        "/api/datasets/org/second/revision/bbb",
    }


@pytest.mark.parametrize("says_checksums", [True, False])
def test_other_content_under_the_same_revision_is_an_error(
    hub: LoopbackHub, says_checksums: bool
) -> None:
    hub.repos["org/first"].says_checksums = says_checksums
    fetch_data("tiny")
    hub.repos["org/first"].files["data/test-00000-of-00001.parquet"] = os.urandom(len(ONE))
    (path,) = TINY.local_files("first")
    path.unlink()
    with pytest.raises(InputError, match=r"found SHA-256 .*revision, aaa, .*remove .*tiny"):
        fetch_data("tiny")
    assert not path.exists()


def test_a_new_commit_changes_nothing_until_the_folder_is_removed(hub: LoopbackHub) -> None:
    fetch_data("tiny")
    hub.repos["org/first"].sha = "newer"
    (path,) = TINY.local_files("first")
    assert new(fetch_data("tiny")) == []
    path.unlink()
    with pytest.raises(InputError, match="doesn't exist"):
        fetch_data("tiny")
    (TINY.folder / "origin.json").unlink()
    assert fetch_data("tiny").files[0].record.revision == "newer"


def test_fetch_data_without_matching_files_raises_input_error(hub: LoopbackHub) -> None:
    hub.repos["org/first"].files = {"README.md": b"#", "moved/test.parquet": ONE}
    with pytest.raises(InputError, match=r"no file like .data/test-.*moved/test.parquet.*--from"):
        fetch_data("tiny")


def test_fetch_data_unreachable_suggests_copy(
    hub: LoopbackHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.repos["org/first"].gated = True
    with pytest.raises(UnreachableError, match="HF_TOKEN"):
        fetch_data("tiny")


def test_inside_a_running_loop(hub: LoopbackHub) -> None:
    async def notebook() -> Fetched:
        return fetch_data("tiny")

    assert len(new(asyncio.run(notebook()))) == 12


def copy_of(place: Path, files: dict[str, bytes]) -> Path:
    for name, content in files.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes(content)
    return place


def test_a_copy_with_local_names(hub: LoopbackHub, tmp_path: Path) -> None:
    shards = {f"second-{i:05d}-of-00011.parquet": SHARDS[i] for i in range(11)}
    source = copy_of(tmp_path / "copy", {"first.jsonl": b"{}\n", "firstly.jsonl": b"", **shards})
    fetched = fetch_data("tiny", from_path=source)
    assert contents("first") == [b"{}\n"]
    assert contents("second") == SHARDS
    assert fetched.missing == ()
    assert fetched.files[0].record.copied_from == str(source / "first.jsonl")
    assert hub.seen == []
    assert {check.problem for check in TINY.verify()} == {None}
    # Its own folder is a copy like any other, and the origin replaces a copy.
    assert fetch_data("tiny", from_path=TINY.folder).files[0].record.local == "first.jsonl"
    fetch_data("tiny")
    assert contents("first") == [ONE]
    assert not (TINY.folder / "first.jsonl").exists()


def test_clones_of_the_repositories(hub: LoopbackHub, tmp_path: Path) -> None:
    path = "data/test-00000-of-00001.parquet"
    source = copy_of(
        tmp_path / "copy",
        {
            f"first/{path}": ONE,
            "first/data/train.parquet": b"",
            f"first/.cache/{path}": b"what a tool keeps",
            f"org/second/{path}": SHARDS[0],
        },
    )
    fetch_data("tiny", from_path=source)
    assert (contents("first"), contents("second")) == ([ONE], [SHARDS[0]])
    fetched = fetch_data("tiny", from_path=source / "first")
    assert fetched.missing == ("second",)
    assert contents("second") == [SHARDS[0]]


def test_a_single_file(hub: LoopbackHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = copy_of(tmp_path / "copy", {"second.jsonl.gz": b"x", "other.jsonl": b"y"})
    assert fetch_data("tiny", from_path=source / "second.jsonl.gz").missing == ("first",)
    assert TINY.local_files("second")[0].name == "second.jsonl.gz"
    with pytest.raises(InputError, match=r"other.jsonl has no file of tiny; expected .*first\."):
        fetch_data("tiny", from_path=source / "other.jsonl")
    monkeypatch.setitem(DATASETS, "tiny", replace(TINY, files=TINY.files[:1]))
    fetch_data("tiny", from_path=source / "other.jsonl")
    assert contents("first") == [b"y"]


@pytest.mark.parametrize(
    "files",
    [
        {"first-00000-of-00003.parquet": b"", "first-00002-of-00003.parquet": b""},
        {"first-00001-of-00002.parquet": b""},
        {"first.parquet": b"", "first.jsonl": b""},
        {"first.parquet": b"", "first-00000-of-00001.parquet": b""},
    ],
)
def test_fetch_data_incomplete_copy_raises_input_error(
    hub: LoopbackHub, tmp_path: Path, files: dict[str, bytes]
) -> None:
    with pytest.raises(InputError, match="all shards from -00000-of-N on"):
        fetch_data("tiny", from_path=copy_of(tmp_path / "copy", files))
    assert not TINY.is_fetched


def test_fetch_data_missing_copy_raises_input_error(hub: LoopbackHub, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="exist"):
        fetch_data("tiny", from_path=tmp_path / "none")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="has no file of tiny"):
        fetch_data("tiny", from_path=tmp_path / "empty")


def test_fetch_data_unwritable_folder_raises_error(
    hub: LoopbackHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = copy_of(tmp_path / "copy", {"first.jsonl": b"x"})
    (TINY.folder / "first.jsonl").mkdir(parents=True)
    with pytest.raises(WriteError, match="copying"):
        fetch_data("tiny", from_path=source)
    monkeypatch.setenv("TRUEGROUND_HOME", str(source / "first.jsonl"))
    with pytest.raises(UsageError, match=r"cannot create .*TRUEGROUND_HOME"):
        fetch_data("tiny")


def test_read_origin_unreadable_raises_input_error(hub: LoopbackHub) -> None:
    TINY.folder.mkdir(parents=True)
    for broken in (b"{", b"[]", b'{"dataset": 3}', b"\xff"):
        (TINY.folder / "origin.json").write_bytes(broken)
        with pytest.raises(InputError, match=r"origin.json cannot be read.*fetch again"):
            TINY.local_files("first")


def test_names_and_modules(hub: LoopbackHub, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match=r"unknown dataset 'tinny'. Did you mean 'tiny'"):
        get_dataset("tinny")
    with pytest.raises(UsageError, match="exists already"):
        add_dataset(replace(TINY, doc="another"))
    assert get_dataset("tiny") is TINY
    # A declaration is imported only when its name is asked for.
    monkeypatch.delitem(DATASETS, "faitheval", raising=False)
    assert get_dataset("tiny") is TINY
    assert "faitheval" not in DATASETS
    assert get_dataset("faitheval").name == "faitheval"


def test_every_declared_dataset_is_whole() -> None:
    for name, dataset in all_datasets().items():
        assert dataset.name == name
        assert dataset.doc
        assert dataset.license
        assert len({file.name for file in dataset.files}) == len(dataset.files) > 0
