"""Counts of relations: written by a build, and taken over by another."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.wings.papers.builders.kalma.making import made, rows_of, unless
from tests.wings.papers.builders.kalma.world import GOOD
from tests.wings.papers.builders.scripted_server import scripted

from trueground.errors import InputError
from trueground.wings.papers.builders.build import BuildSettings
from trueground.wings.papers.builders.kalma.choosing import RelationCounts, read_counts


def counts_of(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "out/dataset/counts.json").read_bytes())
    return found


def test_a_build_writes_what_it_counted(tmp_path: Path) -> None:
    with scripted(unless({})) as server:
        made(tmp_path, server)
    found = counts_of(tmp_path)
    assert found["entries"] == 3
    assert found["counts"]["occupation"] == 6  # each of the six graphs
    assert found["counts"]["member of"] == 1
    assert "name" not in found["counts"]
    assert list(found["counts"]) == sorted(found["counts"])


def test_with_frozen_counts_no_item_depends_on_the_others(tmp_path: Path) -> None:
    """Two rows, then three: without the file, other triples are chosen for the first two."""
    few = BuildSettings(limit=2, cache=False)
    all_of_them = BuildSettings(cache=False)
    with scripted(unless({})) as server:
        made(tmp_path, server, GOOD)
        frozen = tmp_path / "counts.json"
        frozen.write_bytes((tmp_path / "out/dataset/counts.json").read_bytes())

        again = tmp_path / "again"
        again.mkdir()
        made(again, server, GOOD, settings=few, counts=str(frozen))
        before, calls = rows_of(again, "specific"), len(server.calls)
        made(again, server, GOOD, settings=all_of_them, counts=str(frozen))
        assert rows_of(again, "specific")[:2] == before
        # The third item alone: a call for each of three rounds, and for two questions.
        assert len(server.calls) - calls == 5
        assert rows_of(again, "specific") == rows_of(tmp_path, "specific")
        assert (again / "out/dataset/counts.json").read_bytes() == frozen.read_bytes()
        manifest = json.loads((again / "out/manifest.json").read_bytes())
        assert str(frozen) in json.dumps(manifest)

        # Its own file may be given, and costs nothing.
        calls = len(server.calls)
        own = str(again / "out/dataset/counts.json")
        made(again, server, GOOD, settings=all_of_them, counts=own)
        assert len(server.calls) == calls


def test_relations_that_were_not_counted_count_as_one(tmp_path: Path) -> None:
    frozen = tmp_path / "counts.json"
    frozen.write_text('{"entries": 9, "counts": {"Member of": 18, "date of birth": 18}}')
    with scripted(unless({})) as server:
        made(tmp_path, server, GOOD[:1], counts=str(frozen), rounds="2")
    (row,) = rows_of(tmp_path, "specific")
    # `child` was never counted, as `notable work`: of equal scores the first name comes first.
    assert row["meta"]["by_round"][1] == [["Q10", "child", "Mira Quill"]]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[]", "no JSON object; expected"),
        ("{}", "an empty object"),
        ('{"entries": 0, "counts": {}}', "field 'entries'"),
        ('{"entries": true, "counts": {}}', "field 'entries'"),
        ('{"entries": 3, "counts": [1]}', "field 'counts'"),
        ('{"entries": 3, "counts": {"child": 7}}', "'child': found .*7.* from 1 to 6"),
        ('{"entries": 3, "counts": {"child": 0}}', "'child'"),
        ('{"entries": 3, "counts": {"child": 1.5}}', "'child'"),
        ("{", "counts.json"),
    ],
)
def test_files_that_hold_no_counts(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "counts.json"
    path.write_text(text)
    with pytest.raises(InputError, match=words):
        read_counts(path)
    with pytest.raises(InputError, match=r"none\.json"):
        read_counts(tmp_path / "none.json")


def test_counts_are_read_as_they_are_written(tmp_path: Path) -> None:
    path = tmp_path / "counts.json"
    path.write_bytes(RelationCounts(2, {"b": 4, "a": 1}).encoded())
    found = read_counts(path)
    assert found == RelationCounts(2, {"a": 1, "b": 4})
    assert found.encoded() == path.read_bytes()
