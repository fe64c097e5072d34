"""The reader of rows: names of fields, cells of tables, and errors that say where and what."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import pytest
from msgspec import Meta

from trueground.benchmarks.rows import (
    DataRow,
    Label,
    RowFiles,
    Text,
    Texts,
    named,
)
from trueground.errors import InputError
from trueground.records.problems import Problem


class Inner(msgspec.Struct):
    name: Text


class Small(DataRow):
    id: Annotated[Label, named("qid", "id")]
    question: Text
    answers: Annotated[Texts, named("answers", "answer")] = ()  # type: ignore[assignment]
    level: Annotated[Literal["low", "high"], Meta(description="low or high")] = "low"
    inner: list[Inner] | None = None
    flag: bool | None = None

    def __post_init__(self) -> None:
        if self.question == "Why?":
            raise Problem("question", "Why?", "another question")


def read(**change: Any) -> Small:
    row = {"qid": 7, "question": "Who?", **change}
    return Small.read("a.jsonl, line 1", {k: v for k, v in row.items() if v is not ...})


def test_rows_as_they_are_meant() -> None:
    found = read(id="x", answer="Ann", place="elsewhere", unknown=[1])
    assert (found.place, found.id, found.level) == ("a.jsonl, line 1", "7", "low")
    assert found.answers == ["Ann"]
    assert read(answers='["a", "b"]').answers == ["a", "b"]  # a cell of a table
    assert read(qid=None, id="x", inner=None).id == "x"
    assert read(answers="[sic]").answers == ["[sic]"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"question": ...}, "(id '7'), field 'question': found no such field in object {qid}; "),
        ({"question": None}, "field 'question': found null; expected a str that is not blank"),
        ({"question": " "}, "field 'question': found str \" \"; expected a str that is not blank"),
        ({"question": "Why?"}, "field 'question': found Why?; expected another question"),
        ({"qid": ...}, "line 1, field 'qid or id': found no such field in object {question}; "),
        ({"qid": True}, "line 1, field 'qid': found bool true; expected a str or an int"),
        ({"answer": [1]}, "field 'answer[0]': found int 1; expected a str that is not blank"),
        ({"answer": []}, "field 'answer': found list of 0; expected a list of str, or one str"),
        ({"level": "mid"}, "field 'level': found str \"mid\"; expected low or high"),
        ({"inner": [{"name": 3}]}, "field 'inner[0].name': found int 3; expected a str that is"),
        ({"inner": [{}]}, "field 'inner[0].name': found no such field in object {}; expected"),
        ({"flag": "yes"}, "field 'flag': found str \"yes\"; expected true or false"),
    ],
)  # fmt: skip
def test_data_row_invalid_field_names_it(change: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError) as error:
        read(**change)
    assert words in str(error.value)
    assert str(error.value).startswith("a.jsonl, line 1")


def test_files_are_checked_before_the_first_row(tmp_path: Path) -> None:
    def write(name: str, *ids: Any) -> Path:
        lines = [json.dumps({"id": one, "question": "Who?"}) + "\n" for one in ids]
        (tmp_path / name).write_text("".join(lines))
        return tmp_path / name

    rows = RowFiles(Small, [write("a.jsonl", 1, 2), write("b.jsonl", 3)])
    assert [row.id for row in rows] == [row.id for row in rows] == ["1", "2", "3"]
    again = RowFiles(Small, [write("a.jsonl", 1, 2), write("b.jsonl", "2")])
    with pytest.raises(
        InputError, match=r"b.jsonl, line 1 \(id '2'\): .* first in .*a.jsonl, line"
    ):
        next(iter(again))
    (tmp_path / "c.json").write_text("[]")
    with pytest.raises(InputError, match=r"c.json: found no rows for the task x"):
        list(RowFiles(Small, [tmp_path / "c.json"], what="the task x"))
