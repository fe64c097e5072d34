"""Whole files or none, whole pieces or none, one writer."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from trueground.errors import OutputError, WriteError
from trueground.runs.directory import AppendFile, RunDirectory, default_path, replacing, write_json


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "summary.json"
    write_json(path, {"n": 1})
    with pytest.raises(ZeroDivisionError), replacing(path) as out:
        out.write(b"half" * (1 // 0))
    assert path.read_bytes() == b'{\n  "n": 1\n}\n'
    assert [p.name for p in tmp_path.iterdir()] == ["summary.json"]


def test_a_folder_that_is_gone_is_a_write_error(tmp_path: Path) -> None:
    with pytest.raises(WriteError, match=r"summary\.json.*--out"):
        write_json(tmp_path / "gone" / "summary.json", {})
    with pytest.raises(WriteError, match="items"):
        AppendFile(tmp_path / "gone" / "items.jsonl")


def test_a_run_is_locked_while_it_is_written(tmp_path: Path) -> None:
    with RunDirectory(tmp_path / "run") as run:
        write_json(tmp_path / "run" / "manifest.json", {"trueground": "0"})
        run.append(b"{}\n", b"")
        with pytest.raises(OutputError, match="in use"):
            RunDirectory(tmp_path / "run", overwrite=True)
    assert sorted(p.name for p in (tmp_path / "run").iterdir()) == [
        "items.jsonl",
        "manifest.json",
        "records.jsonl.zst",
    ]
    with RunDirectory(tmp_path / "run", overwrite=True) as run:
        run.begin(keep_records=False)
        assert [p.name for p in (tmp_path / "run").glob("*")] != []
    assert not (tmp_path / "run" / "records.jsonl.zst").exists()


def test_default_names_are_safe() -> None:
    now = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert default_path("my answers/../x", now) == Path("runs/20260102T030405Z-my-answers-..-x")
    assert default_path("...", now).name == "20260102T030405Z-score"


def test_other_peoples_folders_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text('{"name": "a web app"}')
    with pytest.raises(OutputError, match="no run"):
        RunDirectory(tmp_path, overwrite=True)
    assert (tmp_path / "manifest.json").read_text() == '{"name": "a web app"}'


def test_a_unique_folder_takes_the_next_number(tmp_path: Path) -> None:
    paths = []
    for _ in range(3):
        with RunDirectory(tmp_path / "x" / "run", unique=True) as run:
            paths.append(run.path.name)
    assert paths == ["run", "run-2", "run-3"]
