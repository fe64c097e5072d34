"""Files of ours: written whole, never through a link, and opened in one place."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import msgspec
import pytest

from trueground.files.state import StateFile
from trueground.files.writing import make_folder, open_no_follow, part_of, write_atomically


class State(msgspec.Struct):
    trueground_thing: int = 1


def test_it_is_written_whole_and_known_again(tmp_path: Path) -> None:
    path = tmp_path / "thing.json"
    StateFile(path).write(State(7))
    assert path.read_text() == '{\n  "trueground_thing": 7\n}\n'
    assert StateFile(path).has("trueground_thing")
    assert not StateFile(path).has("trueground_other")
    assert [one.name for one in tmp_path.iterdir()] == ["thing.json"]


def test_what_is_no_state(tmp_path: Path) -> None:
    for number, content in enumerate((b"", b"[]", b'{"a": ', b"\xff")):
        path = tmp_path / str(number)
        path.write_bytes(content)
        assert not StateFile(path).has("a")
    assert not StateFile(tmp_path / "absent").has("a")


def test_what_fails_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "thing.json"
    path.mkdir()
    (path / "kept").touch()
    with pytest.raises(OSError, match=r"thing\.json"):
        StateFile(path).write(State())
    assert [one.name for one in tmp_path.iterdir()] == ["thing.json"]


def test_a_link_is_replaced_or_refused_and_never_written_through(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    path = tmp_path / "folder" / "thing.json"
    path.parent.mkdir()
    for link in (path, part_of(path)):
        link.symlink_to(victim)
    with write_atomically(path) as out:
        out.write(b"ours")
    assert path.read_bytes() == b"ours"
    assert not path.is_symlink()
    path.unlink()
    path.hardlink_to(victim)
    with open_no_follow(path, "xb", replace=True) as out:
        out.write(b"new")
    assert (victim.read_text(), path.read_bytes()) == ("mine", b"new")
    path.unlink()
    path.symlink_to(victim)
    for mode in ("r+b", "ab", "wb"):
        with pytest.raises(OSError, match="symbolic link, through which nothing is written"):
            open_no_follow(path, mode)
    (tmp_path / "linked").symlink_to(tmp_path / "folder")
    with pytest.raises(OSError, match="symbolic link"):
        make_folder(tmp_path / "linked")
    assert victim.read_text() == "mine"


SOURCES = Path(__file__).parents[2] / "src/trueground"
# Who writes into folders that it has just made under a new name, and private temporary files.
FRESH = {
    "wings/papers/builders/registry.py",
    "records/files.py",
    "wings/search/bm25_index.py",
    "wings/search/bm25.py",
    "wings/search/dense.py",
    "wings/search/store.py",
    "cli/app.py",  # the null device
    "wings/graphs/folder.py",
    "evaluate/shards/store.py",
    "view/browser.py",  # a private page that leads a browser to a link
    "wings/labeling/web/database.py",  # an empty one, for SQLite, that only its owner may read
    "wings/labeling/web/counting.py",
}


def test_files_are_opened_for_writing_in_one_place() -> None:
    writing = {"write_bytes", "write_text", "touch", "copyfile", "copy2"}
    found = set()
    for file in SOURCES.rglob("*.py"):
        text = file.read_text()
        named = "open(" in text or any(f".{name}(" in text for name in writing)
        for node in ast.walk(ast.parse(text)) if named else ():
            if not isinstance(node, ast.Call):
                continue
            name = getattr(node.func, "attr", "") or getattr(node.func, "id", "")
            given = [word.value for word in node.args if isinstance(word, ast.Constant)]
            modes = [word for word in given if re.fullmatch(r"[rwxa]b?\+?b?", str(word))]
            opens = name in ("open", "fdopen") and any(set("wxa+") & set(mode) for mode in modes)
            if opens or (name in writing and isinstance(node.func, ast.Attribute)):
                found.add(file.relative_to(SOURCES).as_posix())
    assert found <= FRESH
