"""Rows of the user's files, in the forms that relation triples come in."""

from __future__ import annotations

from pathlib import Path

from trueground.builders.base import Dropped
from trueground.builders.kalma.items import Pair
from trueground.builders.kalma.source import make_source, source_files


def read(path: Path, name_words: int = 1, limit: int | None = None) -> list[Pair | Dropped]:
    return list(make_source(source_files([path]), name_words, limit).read())


def test_fields_may_have_other_names_and_rows_other_forms(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(
        '{"text": "A  b.", "subject": "Ona Reed", "predicate": "child", "object": "Ilse"}\n'
        '{"id": 7, "sentence": "C.", "triple": ["Ona Reed", "child", "Ilse"]}\n'
    )
    one, two = read(path)
    assert isinstance(one, Pair)
    assert (one.paragraph, one.head, one.relation, one.tail) == (
        "A b.",
        "Ona Reed",
        "child",
        "Ilse",
    )
    assert len(one.id) == 12
    assert isinstance(two, Pair)
    assert two.id == "7"


def test_an_id_that_is_made_does_not_depend_on_the_place(tmp_path: Path) -> None:
    row = "paragraph,head,relation,tail\nA b.,Ona Reed,child,Ilse\n"
    first, second = tmp_path / "a.csv", tmp_path / "b.csv"
    first.write_text(row)
    second.write_text(row.replace("\nA", "\nX.,Ilse,father,Bo\nA"))
    assert read(first)[0].id == read(second)[1].id


def test_rows_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    good = b'{"paragraph": "A.", "head": "Ona Reed", "relation": "child", "tail": "Ilse Reed"}\n'
    path.write_bytes(b"no json\n" + b'{"a": "\xff\xfe"}\n' + b"[1]\n" + good + good)
    found = read(path, limit=1)
    reasons = [(one.id[-6:], one.reason) for one in found if isinstance(one, Dropped)]
    assert reasons == [("line 1", "unreadable"), ("line 2", "binary"), ("line 3", "unreadable")]
    assert isinstance(found[-1], Pair)


def test_names_may_need_several_words(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"paragraph": "A.", "head": "Ona -", "relation": "x", "tail": "Ilse Reed"}\n')
    (found,) = read(path, name_words=2)
    assert isinstance(found, Dropped)
    assert found.reason == "incomplete_name"
