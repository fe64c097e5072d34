"""Rows of the users' files, and why some are none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from trueground.errors import InputError
from trueground.wings.papers.builders.rows import UnusableRow, check_text, source_files, source_rows


def kinds(path: Path) -> list[str | None]:
    values = [row.value for row in source_rows([path])]
    return [value.kind if isinstance(value, UnusableRow) else None for value in values]


def test_json_lines(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(
        b'{"text": "one"}\n'
        b"not json\n"
        b'{"text": "\xff"}\n'
        b'{"text": "a\x00b"}\n'
        b'{"id": "n", "text": "a\\u0000b"}\n'
        b'{"id": 7, "text": "\\ud800"}\n'
        b'{"text": " ", "title": null}\n'
        b"{}\n"
        b'"a NUL "\n'
        b'{"text": ""  "b"}\n'
        b'{"n": 0}\n'
    )
    assert kinds(path) == [
        *(None, "unreadable", "binary", "binary", "binary", "binary", "blank", "blank"),
        *("unreadable", "unreadable", None),
    ]
    rows = list(source_rows([path], '{"text": "…"}'))
    assert (rows[0].location, rows[0].file, rows[0].number) == (f"{path}, line 1", path, 1)
    assert rows[0].value == {"text": "one"}
    assert rows[4].value == UnusableRow(
        "binary",
        f"{path}, line 5, field 'text': found a NUL character at character 2; expected text "
        "without NUL",
        "n",
    )
    assert isinstance(rows[5].value, UnusableRow)
    assert rows[5].value.id == "7"
    assert isinstance(rows[1].value, UnusableRow)
    assert (
        rows[1].value.message.endswith('; expected {"text": "…"}')
        or "column" in rows[1].value.message
    )


def test_tables(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes(b"id,text\na,one\nb,tw\xffo\nc,th\x00ree\n,\nd,four\n")
    assert kinds(path)[:3] == [None, "binary", "binary"]
    assert kinds(path)[-1] is None


def test_files_are_named_once_and_in_order(tmp_path: Path) -> None:
    for name in ("b.jsonl", "a.json", ".hidden.jsonl", "notes.txt"):
        (tmp_path / name).write_text(json.dumps({"text": name}))
    files = source_files([tmp_path / "b.jsonl", tmp_path])
    assert [file.name for file in files] == ["b.jsonl", "a.json"]
    with pytest.raises(InputError, match="does not exist"):
        source_files([tmp_path / "none.jsonl"])


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    path.write_bytes(b"no parquet")
    with pytest.raises(InputError, match=r"rows\.parquet"):
        list(source_rows([path]))


@pytest.mark.parametrize("text", ["a", "北", "1", "a\tb\r\n\x0c\x85", "х_"])
def test_texts(text: str) -> None:
    assert check_text(text) is None


@pytest.mark.parametrize(
    ("text", "kind", "found"),
    [
        ("", "blank", "no letter or digit"),
        (" _-… ", "blank", "no letter or digit"),
        ("a\x00", "binary", "the control character U+0000 at character 2"),
        ("a\x9fb", "binary", "the control character U+009F at character 2"),
        ("\ufffd", "binary", "the broken letter U+FFFD at character 1"),
    ],
)
def test_texts_that_are_none(text: str, kind: str, found: str) -> None:
    assert check_text(text) == (kind, found)
