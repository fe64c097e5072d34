"""The life of a run or a build in its folder."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from trueground.errors import InputError, OutputError, RunInterrupted, WriteError
from trueground.runs.job import Job, Shards


class Build(Job):
    noun = "build"
    entries = ("trueground", "builder")

    def is_left_over(self, entry: Path) -> bool:
        return entry.name == "work"


def test_find_empty_or_missing_folder_has_no_job(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert Build(tmp_path / "empty").find() is None
    assert Build(tmp_path / "missing").find() is None
    assert not (tmp_path / "missing").exists()


@pytest.mark.parametrize("name", ["work", "shards", ".shards"])
def test_find_left_overs_of_a_killed_job_are_no_job(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    assert Build(tmp_path).find() is None


def test_find_manifest_of_another_kind_is_refused(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text(json.dumps({"trueground": "1"}))
    with pytest.raises(OutputError, match="holds files but no build, so it is left alone"):
        Build(tmp_path).find()


def test_find_job_gives_its_manifest(tmp_path: Path) -> None:
    entries = {"trueground": "1", "builder": "little"}
    (tmp_path / "manifest.json").write_text(json.dumps(entries))
    assert Build(tmp_path).find() == entries


def test_hold_folder_in_use_is_refused(tmp_path: Path) -> None:
    job = Build(tmp_path / "out")
    with (
        job.hold(),
        pytest.raises(OutputError, match="in use by another build"),
        Build(tmp_path / "out").hold(),
    ):
        pass
    with job.hold():
        pass


def test_shards_of_another_number_are_refused(tmp_path: Path) -> None:
    Shards(tmp_path).folder(0, 3).mkdir(parents=True)
    assert Shards(tmp_path).folder(2, 3).name == "00003-of-00003"
    with pytest.raises(OutputError, match="which is no shard of 4"):
        Shards(tmp_path).folder(0, 4)
    with pytest.raises(OutputError, match="unfinished run in shards"):
        Shards(tmp_path).check_none()
    Shards(tmp_path).remove()
    Shards(tmp_path).check_none()
    assert list(tmp_path.iterdir()) == []


def test_next_session_counts_from_the_last_manifest() -> None:
    assert Job.next_session(None) == (1, None)
    assert Job.next_session({"sessions": 2, "start": "then"}) == (3, "then")
    assert Job.next_session({"sessions": "two"}) == (1, None)


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (None, "finished"),
        (KeyboardInterrupt(), "interrupted"),
        (asyncio.CancelledError(), "interrupted"),
        (RunInterrupted("time"), "interrupted"),
        (InputError("bad"), "failed"),
    ],
    ids=["none", "ctrl-c", "canceled", "time-limit", "error"],
)
def test_status_after(error: BaseException | None, status: str) -> None:
    assert Job.status_after(error) == status


def test_noting_end_failing_write_hides_no_error() -> None:
    noted: list[BaseException] = []

    def write(error: BaseException) -> None:
        noted.append(error)
        raise WriteError("the disk is full")

    with pytest.raises(InputError, match="bad"), Job.noting_end(write):
        raise InputError("bad")
    assert [str(error) for error in noted] == ["bad"]
