"""Small JSON files that say what a folder holds."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from trueground.net.state import is_state, write_state


class State(msgspec.Struct):
    trueground_thing: int = 1


def test_it_is_written_whole_and_known_again(tmp_path: Path) -> None:
    path = tmp_path / "thing.json"
    write_state(path, State(7))
    assert path.read_text() == '{\n  "trueground_thing": 7\n}\n'
    assert is_state(path, "trueground_thing")
    assert not is_state(path, "trueground_other")
    assert [one.name for one in tmp_path.iterdir()] == ["thing.json"]


def test_what_is_no_state(tmp_path: Path) -> None:
    for number, content in enumerate((b"", b"[]", b'{"a": ', b"\xff")):
        path = tmp_path / str(number)
        path.write_bytes(content)
        assert not is_state(path, "a")
    assert not is_state(tmp_path / "absent", "a")


def test_what_fails_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "thing.json"
    path.mkdir()
    (path / "kept").touch()
    with pytest.raises(OSError, match=r"thing\.json"):
        write_state(path, State())
    assert [one.name for one in tmp_path.iterdir()] == ["thing.json"]
