"""`build example`, and how builders are shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from trueground.cli.app import app
from trueground.errors import OutputError, UsageError
from trueground.wings.papers.builders.registry import (
    all_builders,
    catalog,
    copy_example,
    examples,
)


def test_every_builder_has_an_example_and_no_other() -> None:
    assert examples() == sorted(all_builders())


@pytest.mark.parametrize("name", examples())
def test_an_example_is_copied(name: str, tmp_path: Path) -> None:
    words = copy_example(name, tmp_path / "new/folder")
    assert f"trueground build {name} " in words
    assert (tmp_path / "new/folder/README.txt").read_text() == words
    (tmp_path / "empty").mkdir()
    done = CliRunner().invoke(app, ["build", "example", name, "--out", str(tmp_path / "empty")])
    assert done.exit_code == 0
    assert done.output.strip() == words.strip()
    for path in (tmp_path / "empty").rglob("*"):
        assert path.name != "__pycache__"


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("x")
    with pytest.raises(OutputError, match="not empty"):
        copy_example(examples()[0], tmp_path)
    with pytest.raises(OutputError, match="not empty"):
        copy_example(examples()[0], tmp_path / "mine.txt")
    assert [p.name for p in tmp_path.iterdir()] == ["mine.txt"]
    with pytest.raises(UsageError, match="example of a build"):
        copy_example("nothing", tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_builders_are_listed() -> None:
    assert [one["name"] for one in catalog()] == list(all_builders())
    done = CliRunner().invoke(app, ["list", "builders", "--format", "json"])
    assert json.loads(done.output) == json.loads(json.dumps(catalog()))
    assert CliRunner().invoke(app, ["list", "builders"]).exit_code == 0


def test_help_names_all_builders() -> None:
    shown = CliRunner().invoke(app, ["build", "--help"]).output
    assert all(name in shown for name in [*all_builders(), "example"])
