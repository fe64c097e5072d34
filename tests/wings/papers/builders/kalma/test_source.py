"""Rows of the user's files, in the forms that relation triples come in."""

from __future__ import annotations

from pathlib import Path

import pytest

from trueground.errors import InputError
from trueground.wings.papers.builders.base import Rejected
from trueground.wings.papers.builders.kalma.items import SourcePair
from trueground.wings.papers.builders.kalma.pairs import pairs_source
from trueground.wings.papers.builders.rows import source_files

GOOD = b'{"paragraph": "A.", "head": "Ona Reed", "relation": "child", "tail": "Ilse Reed"}\n'


def read(path: Path, name_words: int = 1, *, skip_bad: bool = False) -> list[SourcePair | Rejected]:
    return list(pairs_source(source_files([path]), name_words, skip_bad=skip_bad).read())


def test_fields_may_have_other_names_and_rows_other_forms(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(
        '{"text": "A  b.", "subject": "Ona Reed", "predicate": "child", "object": "Ilse"}\n'
        '{"id": 7, "sentence": "C.", "triple": ["Ona Reed", "child", "Ilse"]}\n'
    )
    one, two = read(path)
    assert isinstance(one, SourcePair)
    assert (one.paragraph, one.head, one.relation, one.tail) == (
        "A b.",
        "Ona Reed",
        "child",
        "Ilse",
    )
    assert len(one.id) == 12
    assert isinstance(two, SourcePair)
    assert two.id == "7"


def test_an_id_that_is_made_does_not_depend_on_the_place(tmp_path: Path) -> None:
    row = "paragraph,head,relation,tail\nA b.,Ona Reed,child,Ilse\n"
    first, second = tmp_path / "a.csv", tmp_path / "b.csv"
    first.write_text(row)
    second.write_text(row.replace("\nA", "\nX.,Ilse,father,Bo\nA"))
    assert read(first)[0].id == read(second)[1].id


def test_rows_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b"no json\n" + b'{"a": "\xff\xfe"}\n' + b"[1]\n" + GOOD + GOOD)
    found = read(path, skip_bad=True)
    reasons = [(one.id[-6:], one.reason) for one in found if isinstance(one, Rejected)]
    assert reasons[:3] == [("line 1", "unreadable"), ("line 2", "binary"), ("line 3", "unreadable")]
    assert [reason for _, reason in reasons[3:]] == ["duplicate"]
    assert isinstance(found[3], SourcePair)


def test_wrong_rows_end_all_and_stand_in_one_error(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    lacking = b'{"id": "lacking", "text": "A.", "head": "Ona", "tail": "Ilse"}\n'
    twice = b'{"id": 1, "paragraph": "%s", "head": "Ona", "relation": "child", "tail": "Ilse"}\n'
    path.write_bytes(b"no json\n" + lacking + twice % b"A." + twice % b"B." + GOOD)
    with pytest.raises(InputError) as caught:
        read(path)
    words = str(caught.value).splitlines()
    assert words[0].startswith("found 3 invalid rows; ")
    assert "--on-bad-row skip" in words[0]
    assert "line 1" in words[1]
    assert "line 2, field 'relation'" in words[2]
    assert "line 4: found the id '1' a second time, first in" in words[3]
    found = read(path, skip_bad=True)
    assert [one.reason for one in found if isinstance(one, Rejected)] == [
        "unreadable",
        "missing",
        "duplicate_id",
    ]


def test_what_is_only_unfit_does_not_end_all(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(GOOD.replace(b'"A."', b'" "') + GOOD)
    blank, good = read(path)
    assert isinstance(blank, Rejected)
    assert blank.reason == "blank"
    assert isinstance(good, SourcePair)


@pytest.mark.parametrize("skip_bad", [True, False])
def test_files_of_which_no_row_can_be_used_are_told(tmp_path: Path, skip_bad: bool) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"paragraph": "A.", "head": "Ona", "relation": "x", "tail": "Ilse"}\n')
    with pytest.raises(InputError, match=r"no row that can be used.*1 incomplete_name.*'Ona' has"):
        read(path, 2, skip_bad=skip_bad)
    path.write_text("")
    with pytest.raises(InputError, match=r"rows\.jsonl"):
        read(path, skip_bad=skip_bad)


def test_names_may_need_several_words(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    short = b'{"paragraph": "A.", "head": "Ona -", "relation": "x", "tail": "Ilse Reed"}\n'
    path.write_bytes(short + GOOD)
    found = read(path, name_words=2)[0]
    assert isinstance(found, Rejected)
    assert found.reason == "incomplete_name"
