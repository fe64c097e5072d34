"""Columns of numbers as human labels, and the second response of a pair."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest
from tests.records.record_files import read

from trueground.errors import BadRowsError, UsageError
from trueground.records.columns import parse_mapping
from trueground.records.reading import RecordSource

ROWS: list[dict[str, Any]] = [
    {"response": "a", "label": 1, "anna": True, "topic": "x"},
    {"response": "b", "label": 0.5, "anna": False, "topic": "y"},
    {"response": "c", "label": None, "anna": None, "topic": "y"},
]
MAPPING = {"human.faithful": "label", "human.faithful:anna": "anna"}


def as_csv(path: Path) -> Path:
    path = path / "a.csv"
    path.write_text("response,label,anna,topic\na,1,True,x\nb, 0.5 ,false,y\nc,,,y\n")
    return path


def as_lines(path: Path) -> Path:
    path = path / "a.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return path


def as_parquet(path: Path) -> Path:
    path = path / "a.parquet"
    pl.DataFrame(ROWS).write_parquet(path)
    return path


SOURCES: dict[str, Callable[[Path], Any]] = {
    "csv": as_csv,
    "jsonl": as_lines,
    "parquet": as_parquet,
    "polars": lambda _: pl.DataFrame(ROWS),
    "pandas": lambda _: pd.DataFrame(ROWS),
    "dicts": lambda _: ROWS,
    "generator": lambda _: (row for row in ROWS),
}


@pytest.mark.parametrize("kind", SOURCES)
def test_columns_become_labels_in_every_format(kind: str, tmp_path: Path) -> None:
    source = SOURCES[kind](tmp_path)
    with RecordSource.open(source, mapping=MAPPING) as records:
        check = records.check()
        found = [record for batch in records.batches() for record in batch]
    assert [record.human for record in found] == [
        {"faithful": 1.0, "faithful:anna": 1.0},
        {"faithful": 0.5, "faithful:anna": 0.0},
        None,
    ]
    assert [record.meta for record in found] == [{"topic": t} for t in "xyy"]
    assert check.fields["human"] == 2
    assert "meta.topic" in check.breakdowns


def test_parse_mapping_takes_labels_and_the_second_response() -> None:
    assert parse_mapping("human.faithful=label,human.correct=ok,response_b=b") == {
        "human.faithful": "label",
        "human.correct": "ok",
        "response_b": "b",
    }
    with pytest.raises(UsageError, match=r"human\.NAME=COLUMN"):
        parse_mapping("human.=label")
    with pytest.raises(UsageError, match=r"human\.NAME"):
        parse_mapping("humane.faithful=label")


@pytest.mark.parametrize(
    ("cell", "value"),
    [("1", 1), ("-2.5e-1", -0.25), (" 0 ", 0), (".5", 0.5), ("TRUE", 1), ("  ", None), (True, 1)],
)
def test_cells_that_are_labels(cell: Any, value: float | None) -> None:
    [record] = read([{"response": "a", "x": cell}], mapping={"human.y": "x"})
    assert (record.human or {}).get("y") == value


@pytest.mark.parametrize(
    ("cell", "found", "step"),
    [
        ("good", "str \"good\" in the column 'x'", "write 1 for yes and 0 for no, or leave"),
        ("yes", 'str "yes"', "write true"),
        ("0,5", 'str "0,5"', "write 0.5"),
        ("nan", 'str "nan"', "leave the cell empty"),
        ("1e999", 'str "1e999"', "write 1"),
        ("1_0", 'str "1_0"', "write 1"),
        (10**400, "an int of more than 40 digits", "write 1"),
        ([1], "list of 1", "write 1"),
        ({"z": 1}, "object {z}", "--map human.y=x.z"),
    ],
    ids=["word", "yes", "comma", "nan", "infinite", "underscore", "huge", "list", "object"],
)
def test_cells_that_are_none(cell: Any, found: str, step: str) -> None:
    with pytest.raises(BadRowsError) as caught:
        read([{"response": "a", "id": "r1", "x": cell}], mapping={"human.y": "x"})
    [bad] = caught.value.rows
    assert (bad.row, bad.id, bad.field) == (1, "r1", "human.y")
    assert found in bad.found
    assert "expected a finite number, or true or false" in str(bad)
    assert step in bad.expected


def test_labels_join_those_of_the_row(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(
        'response,ok,human\na,1,"{""fluent"": 4, ""faithful"": 0}"\nb,,"{""faithful"": 0}"\n'
    )
    first, second = read(path, mapping={"human.faithful": "ok"})
    assert first.human == {"fluent": 4.0, "faithful": 1.0}
    assert first.meta == {"human.faithful": 0}
    assert (second.human, second.meta) == ({"faithful": 0.0}, None)


def test_a_null_is_no_label_and_displaces_the_own_one() -> None:
    row = {"response": "a", "ok": None, "human": {"faithful": 1}}
    [record] = read([row], mapping={"human.faithful": "ok"})
    assert (record.human, record.meta) == (None, {"human.faithful": 1})
    assert row["human"] == {"faithful": 1}


def test_a_column_inside_an_object_and_one_called_with_a_dot() -> None:
    rows = [{"response": "a", "said": {"anna": 1}, "human.x": "0"}]
    [record] = read(rows, mapping={"human.faithful:anna": "said.anna", "human.x": "human.x"})
    assert record.human == {"faithful:anna": 1.0, "x": 0.0}


@pytest.mark.parametrize("mapping", [{"human": "score"}, {"human": "score", "human.y": "x"}])
def test_a_number_mapped_to_human_tells_how_labels_are_mapped(mapping: dict[str, str]) -> None:
    with pytest.raises(BadRowsError, match=r"--map human\.NAME=COLUMN") as caught:
        read([{"response": "a", "score": 0.5, "x": 1}], mapping=mapping)
    assert caught.value.rows[0].field == "human"


def test_the_second_response_is_kept_in_meta() -> None:
    rows: list[dict[str, Any]] = [
        {"response": "a", "b": "[1]", "topic": "x"},
        {"response": "a", "b": "B", "response_b": "old", "meta": {"response_b": "older", "n": 1}},
        {"response": "a"},
    ]
    found = read(rows, mapping={"response_b": "b"})
    assert [record.meta for record in found] == [
        {"response_b": "[1]", "topic": "x"},
        {"response_b": "B", "n": 1},
        None,
    ]


def test_a_wrong_meta_is_named_as_such() -> None:
    with pytest.raises(BadRowsError) as caught:
        read([{"response": "a", "b": "B", "meta": 5}], mapping={"response_b": "b"})
    assert caught.value.rows[0].field == "meta"
