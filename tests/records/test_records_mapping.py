"""Users' own column names."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.records.record_files import read

from trueground.errors import InputError, UsageError
from trueground.records.columns import parse_mapping
from trueground.records.reading import RecordSource
from trueground.types import Passage


def test_parse_mapping() -> None:
    text = " question = query ,contexts=docs,response=answer.text"
    assert parse_mapping(text) == {
        "question": "query",
        "contexts": "docs",
        "response": "answer.text",
    }


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("question", "FIELD=COLUMN"),
        ("question=", "FIELD=COLUMN"),
        ("=query", "FIELD=COLUMN"),
        ("question=a,", "FIELD=COLUMN"),
        ("question=a,question=b", "twice"),
        ("querstion=a", "'question'"),
    ],
)
def test_parse_mapping_refuses(text: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        parse_mapping(text)


def test_columns_are_renamed_and_the_displaced_go_to_meta(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(
        '{"query": "q", "question": "old", "docs": ["d"], "answer": {"text": "t", "n": 1}}\n'
    )
    [record] = read(
        path, mapping={"question": "query", "contexts": "docs", "response": "answer.text"}
    )
    assert (record.question, record.contexts, record.response) == ("q", [Passage("d")], "t")
    assert record.meta == {"question": "old", "answer": {"text": "t", "n": 1}}


def test_fields_can_be_swapped_and_a_column_can_be_called_with_a_dot() -> None:
    row = {"question": "a", "response": "b", "x.y": "c", "x": {"y": "d"}}
    mapping = {"question": "response", "response": "question", "group": "x.y"}
    [record] = read([row], mapping=mapping)
    assert (record.question, record.response, record.group) == ("b", "a", "c")
    assert record.meta == {"x": {"y": "d"}}


def test_a_column_may_be_absent_in_some_rows() -> None:
    rows = [{"response": "a", "query": "q"}, {"response": "b", "question": "own"}]
    assert [r.question for r in read(rows, mapping={"question": "query"})] == ["q", "own"]


def test_mapping_of_csv_cells(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('key,out,docs\nk1,,"[""d""]"\n')
    [record] = read(path, mapping={"id": "key", "response": "out", "contexts": "docs"})
    assert (record.id, record.response, record.contexts) == ("k1", "", [Passage("d")])
    assert record.meta is None


def test_a_column_that_is_nowhere_comes_before_the_rows_that_lack_it() -> None:
    with pytest.raises(InputError, match="Did you mean 'answer'") as caught:
        RecordSource.open([{"answer": "x", "id": 1}], mapping={"response": "anwser"}).check()
    assert "Columns found: answer, id" in str(caught.value)


def test_the_id_of_a_bad_row_is_named_from_its_mapped_column() -> None:
    rows = [{"key": "k7", "response": 5}]
    with pytest.raises(InputError, match="'k7'"):
        RecordSource.open(rows, mapping={"id": "key"}).check()
