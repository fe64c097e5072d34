"""Formats of label files that other packages add."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import ClassVar

import pytest

from trueground.components import Registry
from trueground.errors import InputError
from trueground.labels import formats
from trueground.labels.base import Votes
from trueground.labels.files import LabelFiles
from trueground.labels.formats import LabelScope, TaskLabels
from trueground.types import Record


@pytest.fixture
def no_formats(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if no package had a format."""
    formats.label_formats()  # else packages are loaded into the table of this test alone
    monkeypatch.setattr(formats, "_formats", Registry("format of labels", group="nothing"))


class StarLabels(TaskLabels):
    """A line per record, with a star for a faithful answer: `q1 *`."""

    kinds: ClassVar[Mapping[str, str]] = {"star": "faithful"}
    scopes: ClassVar[Mapping[str, LabelScope]] = {"faithful": "record"}

    @classmethod
    def recognizes(cls, path: Path, first_line: bytes) -> bool:
        return path.suffix == ".stars"

    def __init__(self, paths: Sequence[Path]) -> None:
        self.draws = {}
        self.changed = {}
        lines = [line.split() for path in paths for line in path.read_text().splitlines()]
        self._stars = {words[0]: float(len(words) > 1) for words in lines}

    @property
    def labels(self) -> list[str]:
        return ["faithful"]

    @property
    def record_ids(self) -> set[str]:
        return set(self._stars)

    def read_votes(self, record: Record, source: int) -> Votes:
        return {"faithful": self._stars[record.id]} if record.id in self._stars else {}

    def find_parts(
        self, label: str, record: Record, source: int, *, claims: bool
    ) -> Iterator[tuple[Votes, Record]]:
        yield from ()


def test_registered_format_gives_labels(tmp_path: Path, no_formats: None) -> None:

    class NamedStarLabels(StarLabels, name="stars"):
        pass

    path = tmp_path / "labels.stars"
    path.write_text("q1 *\nq2\n")

    files = LabelFiles(path)
    (labeled,) = files.labeled(Record(id="q1", response="An answer."), 1)

    assert files.ids == {"q1", "q2"}
    assert labeled.human == {"faithful": 1.0}


def test_tasks_without_annotation_package_are_refused(tmp_path: Path, no_formats: None) -> None:
    path = tmp_path / "labels.jsonl"
    path.write_text('{"kind": "support", "id": "a~01234567", "values": {"support": "fully"}}\n')

    with pytest.raises(InputError, match="No installed package reads files of `trueground annota"):
        LabelFiles(path)


def test_lines_and_tables_need_no_format(tmp_path: Path, no_formats: None) -> None:
    lines, table = tmp_path / "labels.jsonl", tmp_path / "labels.csv"
    lines.write_text('{"id": "q1", "human": {"faithful": 1}}\n')
    table.write_text("id,faithful\nq2,0\n")

    assert LabelFiles([lines, table]).ids == {"q1", "q2"}
