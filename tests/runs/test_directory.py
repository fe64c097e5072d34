"""Whole files or none, whole pieces or none, one writer."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from trueground.errors import OutputError, UsageError, WriteError
from trueground.files.output_path import OutputPath
from trueground.files.writing import part_of
from trueground.runs.directory import AppendFile, default_path
from trueground.runs.run_directory import RunDirectory, check_resumable


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "summary.json"
    OutputPath(path).write_json({"n": 1})
    with pytest.raises(ZeroDivisionError), OutputPath(path).replacing() as out:
        out.write(b"half" * (1 // 0))
    assert path.read_bytes() == b'{\n  "n": 1\n}\n'
    assert [p.name for p in tmp_path.iterdir()] == ["summary.json"]


def test_a_folder_that_is_gone_is_a_write_error(tmp_path: Path) -> None:
    with pytest.raises(WriteError, match=r"summary\.json.*--out"):
        OutputPath(tmp_path / "gone" / "summary.json").write_json({})
    with pytest.raises(WriteError, match="items"):
        AppendFile(tmp_path / "gone" / "items.jsonl")


def test_a_run_is_locked_while_it_is_written(tmp_path: Path) -> None:
    with RunDirectory(tmp_path / "run") as run:
        OutputPath(tmp_path / "run" / "manifest.json").write_json({"trueground": "0"})
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


@pytest.mark.parametrize(
    "left",
    [
        {".manifest.json.part": b""},
        {".manifest.json.part": b'{"true', "responses.jsonl": b""},
        {".items.jsonl.part": b"{}", ".report.html.part": b"<html", "items.jsonl": b""},
    ],
)
@pytest.mark.parametrize("how", [{}, {"overwrite": True}, {"resume": True}])
def test_what_a_kill_leaves_is_known(
    tmp_path: Path, left: dict[str, bytes], how: dict[str, bool]
) -> None:
    for name, content in left.items():
        (tmp_path / name).write_bytes(content)
    check_resumable(tmp_path)
    with RunDirectory(tmp_path, **how) as run:
        run.begin()
        OutputPath(tmp_path / "manifest.json").write_json({"trueground": "0"})
    (tmp_path / "responses.jsonl").unlink(missing_ok=True)
    for name in left:
        (tmp_path / name).unlink(missing_ok=True)
    (tmp_path / "manifest.json").unlink()
    (tmp_path / "responses.jsonl").write_bytes(b"{}\n")  # somebody's replies, without a run
    with pytest.raises(OutputError, match="holds files but no run"):
        RunDirectory(tmp_path, resume=True)


def test_links_in_a_run_are_not_written_through(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    run = tmp_path / "run"
    with RunDirectory(run):
        OutputPath(run / "manifest.json").write_json({"trueground": "0"})
    names = ("summary.json", "items.jsonl", "records.jsonl.zst", "report.html", "repeats.jsonl")
    for how in ({"overwrite": True}, {"resume": True}):
        for name in names:
            for link in (run / name, part_of(run / name), part_of(run / "manifest.json")):
                link.unlink(missing_ok=True)
                link.symlink_to(victim)
        with RunDirectory(run, **how) as opened:
            opened.append(b"{}\n", b"{}\n")
            for name in ("manifest.json", "summary.json", "report.html", "repeats.jsonl"):
                OutputPath(run / name).write_json({"trueground": "0"})
        assert not any((run / name).is_symlink() for name in names)
    (run / "responses.jsonl").symlink_to(victim)
    with pytest.raises(WriteError, match=r"responses\.jsonl failed: it is a symbolic link"):
        AppendFile(run / "responses.jsonl", 3)
    assert victim.read_text() == "mine"


def refuse(run: Path, items: bytes) -> None:
    with RunDirectory(run, resume=True) as opened:
        OutputPath(run / "manifest.json").write_json({"trueground": "0"})
        opened.append(items, b"")
        raise UsageError("no")


def test_a_refused_run_leaves_nothing(tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.mkdir()
    for run in (there, tmp_path / "a" / "b"):
        with pytest.raises(UsageError):
            refuse(run, b"")
        assert list(tmp_path.rglob("*")) == [there]
    with pytest.raises(UsageError):
        refuse(there, b"{}\n")
    assert (there / "items.jsonl").read_bytes() == b"{}\n", "work that was done stays"


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
