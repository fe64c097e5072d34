"""One writer at a time, also within a process; the lock goes with the block."""

from __future__ import annotations

from pathlib import Path

import pytest

from trueground.net.locks import LOCK, locked


def test_a_folder_is_held_by_one(tmp_path: Path) -> None:
    busy = OSError("busy")
    with (
        locked(tmp_path, busy),
        pytest.raises(OSError, match="busy") as told,
        locked(tmp_path, busy),
    ):
        raise AssertionError("the folder was held")
    assert told.value is busy
    with locked(tmp_path, busy):
        assert {entry.name for entry in tmp_path.iterdir()} <= {LOCK}


def test_errors_within_are_not_taken_for_a_held_lock(tmp_path: Path) -> None:
    with pytest.raises(BlockingIOError, match="a pipe"), locked(tmp_path, OSError("busy")):
        raise BlockingIOError("a pipe")
    with pytest.raises(FileNotFoundError), locked(tmp_path / "gone", OSError("busy")):
        raise AssertionError("there is no folder")
