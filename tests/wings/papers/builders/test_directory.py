"""The folder of a build: whose it is, and what it does when writing fails."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.wings.papers.builders.building import built, contents, home
from tests.wings.papers.builders.little import Line, answering
from tests.wings.papers.builders.scripted_server import scripted

from trueground.errors import OutputError, WriteError
from trueground.testing import FakeModel
from trueground.wings.labeling.kinds import AnnotationTask
from trueground.wings.papers.builders.api import build
from trueground.wings.papers.builders.directory import (
    build_directory,
    check_usable,
    write_dataset,
    write_stage,
    write_tasks,
)

__all__ = ["home"]


def test_a_foreign_folder_is_left_alone(home: Path) -> None:
    (home / "out").mkdir()
    (home / "out/thesis.tex").write_text("precious")
    with scripted(answering()) as server, pytest.raises(OutputError, match="no build"):
        built(home, server)
    assert [p.name for p in (home / "out").iterdir()] == ["thesis.tex"]
    assert not server.calls
    (home / "file").write_text("x")
    with scripted(answering()) as server, pytest.raises(OutputError, match="is a file"):
        built(home, server, out="file")


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"trueground": "1"}', "\0", '"builder"'])
def test_a_manifest_of_others(tmp_path: Path, text: str) -> None:
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(OutputError, match="no build"):
        check_usable(tmp_path, "little")


def test_the_build_of_another_builder(home: Path) -> None:
    models = {"writer": FakeModel("x"), "judge": FakeModel("x")}
    (home / "a.txt").write_text("x")
    build("other", home / "a.txt", home / "out", models=models)
    with scripted(answering()) as server, pytest.raises(OutputError, match="build of other, not"):
        built(home, server)


def test_a_build_that_died_at_its_first_write_can_begin(home: Path) -> None:
    (home / "out").mkdir()
    (home / "out/.manifest.json.part").write_text('{"trueg')
    with scripted(answering()) as server:
        built(home, server)
    assert not (home / "out/.manifest.json.part").exists()


def test_two_builds_in_one_folder(tmp_path: Path) -> None:
    with (
        build_directory(tmp_path / "out", "little"),
        pytest.raises(OutputError, match="in use by another build"),
        build_directory(tmp_path / "out", "little"),
    ):
        pass
    with build_directory(tmp_path / "out", "little"):
        pass


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with (
        pytest.raises(OutputError, match="hoose another --out"),
        build_directory(tmp_path / "file/out", "little"),
    ):
        pass


def test_what_an_earlier_build_left_goes(tmp_path: Path) -> None:
    write_dataset(tmp_path, {"a.jsonl": b"1", "b.jsonl": b"2"})
    (tmp_path / "summary.json").write_text('{"files": ["a.jsonl", "b.jsonl", "../keep", 3]}')
    (tmp_path / "dataset/.b.jsonl.part").write_bytes(b"cut")
    (tmp_path / "keep").write_bytes(b"mine")
    write_dataset(tmp_path, {"a.jsonl": b"3"})
    assert [p.name for p in (tmp_path / "dataset").iterdir()] == ["a.jsonl"]
    assert (tmp_path / "keep").exists()
    write_tasks(
        tmp_path, [AnnotationTask("validity", "1", {}), AnnotationTask("candidate", "2", {})]
    )
    write_tasks(tmp_path, [AnnotationTask("validity", "3", {})])
    lines = (tmp_path / "annotate/validity.jsonl").read_text()
    assert [p.name for p in (tmp_path / "annotate").iterdir()] == ["validity.jsonl"]
    assert json.loads(lines)["id"] == "3"
    write_stage(tmp_path, 2, "old", [])
    write_stage(tmp_path, 2, "new", [Line("a", "b")])
    assert [p.name for p in (tmp_path / "stages").iterdir()] == ["02-new.jsonl"]


def test_what_people_put_there_stays(home: Path) -> None:
    with scripted(answering()) as server:
        made = built(home, server)
        own = ["annotate/validity-anna.csv", "annotate/validity.html", "dataset/notes.jsonl"]
        for name in own:
            (made.path / name).write_text("precious")
        built(home, server, n=4)
    assert all((made.path / name).read_text() == "precious" for name in own)


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "stages").write_text("a file")
    with pytest.raises(WriteError, match="Free disk space"):
        write_stage(tmp_path, 1, "read", [])
    (tmp_path / "dataset").mkdir()
    (tmp_path / "dataset/a.jsonl").mkdir()
    with pytest.raises(WriteError):
        write_dataset(tmp_path, {"a.jsonl": b""})


def test_the_same_build_in_two_folders_is_the_same(home: Path) -> None:
    with scripted(answering()) as server:
        built(home, server, out="a")
        built(home, server, out="b", cache=False)
    assert contents(home / "a") == contents(home / "b")
