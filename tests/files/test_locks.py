"""One writer at a time, also within a process; the lock goes with the block."""

from __future__ import annotations

import errno
import math
import threading
from pathlib import Path

import pytest

from trueground.errors import OutputError
from trueground.files.locks import FolderLock


def test_a_folder_is_held_by_one(tmp_path: Path) -> None:
    busy = OSError("busy")
    with (
        FolderLock(tmp_path).hold(busy),
        pytest.raises(OSError, match="busy") as told,
        FolderLock(tmp_path).hold(busy),
    ):
        raise AssertionError("the folder was held")
    assert told.value is busy
    with FolderLock(tmp_path).hold(busy):
        assert list(tmp_path.iterdir()) == []


def test_errors_within_are_not_taken_for_a_held_lock(tmp_path: Path) -> None:
    with pytest.raises(BlockingIOError, match="a pipe"), FolderLock(tmp_path).hold(OSError("busy")):
        raise BlockingIOError("a pipe")
    with pytest.raises(FileNotFoundError), FolderLock(tmp_path / "gone").hold(OSError("busy")):
        raise AssertionError("there is no folder")


def test_a_short_hold_is_waited_for(tmp_path: Path) -> None:
    held, go = threading.Event(), threading.Event()

    def hold() -> None:
        with FolderLock(tmp_path).hold(OSError("busy")):
            held.set()
            go.wait(10)

    other = threading.Thread(target=hold)
    other.start()
    assert held.wait(10)
    timer = threading.Timer(0.2, go.set)
    timer.start()
    with FolderLock(tmp_path).hold(OSError("busy"), wait=10):
        assert go.is_set()
    timer.join()
    other.join()


def test_what_is_raised_while_waiting_ends_it(tmp_path: Path) -> None:
    waited: list[float] = []

    def waiting(seconds: float) -> None:
        waited.append(seconds)
        if len(waited) == 3:
            raise KeyboardInterrupt

    busy = OSError("busy")
    with (
        FolderLock(tmp_path).hold(busy),
        pytest.raises(KeyboardInterrupt),
        FolderLock(tmp_path).hold(busy, math.inf, waiting),
    ):
        raise AssertionError("the folder was held")
    assert waited == sorted(waited)
    with FolderLock(tmp_path).hold(busy):
        assert len(waited) == 3


def test_a_file_system_without_locks_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import fcntl

    def no_locks(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", no_locks)
    with (
        pytest.raises(OutputError, match="No locks available; choose a folder on a file system"),
        FolderLock(tmp_path).hold(OSError("busy")),
    ):
        raise AssertionError("it was not locked")
