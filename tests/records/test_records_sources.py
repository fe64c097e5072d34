"""Data frames, Python objects, standard input, pipes, URLs, and files that are not there."""

from __future__ import annotations

import io
import os
import sys
import tempfile
import threading
from datetime import date
from decimal import Decimal
from pathlib import Path

import fsspec
import numpy as np
import pandas as pd
import polars as pl
import pytest
from tests.records.record_files import FULL, PLAIN, as_jsonl, as_parquet, read, write

from trueground.errors import BadRowsError, InputError, UsageError
from trueground.net.redact import redact_urls
from trueground.records.reading import RecordSource
from trueground.types import Passage, Record


def spools(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.name.startswith("trueground-")]


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def test_pandas_cells() -> None:
    frame = pd.DataFrame(
        {
            "id": np.array([3, 4]),
            "response": ["x", ""],
            "contexts": [np.array(["a", "b"]), None],
            "references": ['["r"]', np.nan],
            "answerable": [np.True_, None],
            "human": [{"ok": np.float32(0.5)}, pd.NA],
            "when": [pd.Timestamp("2024-05-01"), pd.NaT],
            "n": [np.nan, np.int64(2)],
        }
    )
    first, second = read(frame)
    assert first == Record(
        id="3",
        response="x",
        contexts=[Passage("a"), Passage("b")],
        references=["r"],
        answerable=True,
        human={"ok": 0.5},
        meta={"when": "2024-05-01T00:00:00"},
    )
    assert second == Record(id="4", response="", meta={"n": 2.0})


def test_pandas_frame_longer_than_a_slice_keeps_its_order() -> None:
    frame = pd.DataFrame({"response": [str(i) for i in range(2500)]}, index=range(9, 2509))
    assert [(r.id, r.response) for r in read(frame)] == [(str(i), str(i)) for i in range(2500)]


def test_polars_cells() -> None:
    frame = pl.DataFrame(
        {
            "response": ["x", None],
            "contexts": [[{"text": "a", "gold": True}], None],
            "day": [date(2024, 5, 1), None],
            "price": [Decimal("1.5"), None],
            "score": [float("nan"), 1.0],
        }
    )
    records = RecordSource.open(frame, on_bad_row="skip")
    check = records.check()
    [record] = [r for batch in records.batches() for r in batch]
    assert record.contexts == [Passage("a", gold=True)]
    assert record.meta == {"day": "2024-05-01", "price": 1.5}
    assert [str(row) for row in check.bad] == [
        "data frame, row 2, field 'response': found no such field in object {score}; expected a "
        'str (the empty string "" is an answer, null is not); --map response=COLUMN names another '
        "column"
    ]
    assert check.files == []


def test_frame_without_rows_and_with_one_name_twice() -> None:
    with pytest.raises(InputError, match="holds no records"):
        RecordSource.open(pl.DataFrame({"response": []})).check()
    with pytest.raises(InputError, match="two columns of one name"):
        RecordSource.open(pd.DataFrame([["a", "b"]], columns=["1", 1])).check()


def test_objects_in_a_list_or_from_an_iterator(temporary: Path) -> None:
    rows = [FULL, {"response": "d", "contexts": ("t", {"text": "u"})}, PLAIN]
    expected = [FULL, Record(id="1", response="d", contexts=[Passage("t"), Passage("u")]), PLAIN]
    assert read(rows) == expected
    assert read(row for row in rows) == expected
    assert spools(temporary) == []


@pytest.mark.parametrize("kind", [list, iter], ids=["list", "iterator"])
def test_bad_objects_are_named(kind: type) -> None:
    rows = [
        {"response": "x"},
        {"id": "n", "response": "x", "human": {"a": float("nan")}},
        5,
        {"id": "s", "response": "ab\ud83d"},
        {"id": "o", "response": "x", "tags": {"a", "b"}},
        {"response": "x", "n": 10**5000},
        Record(id="r", response="x", meta={"t": "\0"}),
    ]
    with pytest.raises(BadRowsError) as caught:
        RecordSource.open(kind(rows)).check()
    assert [(row.row, row.id, row.field, row.found) for row in caught.value.rows] == [
        (2, "n", "human.a", "NaN"),
        (3, None, None, "int 5"),
        (4, "s", "response", "a lone surrogate \\ud83d at character 3"),
        (5, "o", "tags", "a Python set"),
        (6, None, "n", "a number of thousands of digits"),
        (7, "r", "meta.t", "a NUL character at character 1"),
    ]


def test_an_object_that_holds_itself_is_a_bad_row() -> None:
    row: dict[str, object] = {"response": "x"}
    row["meta"] = row
    with pytest.raises(BadRowsError, match="nested too deeply"):
        RecordSource.open([row]).check()


@pytest.mark.parametrize("source", [{"response": "x"}, b"x", 5, None])
def test_what_cannot_be_records(source: object) -> None:
    with pytest.raises(InputError, match="pass a path"):
        RecordSource.open(source).check()


def test_no_objects_at_all() -> None:
    with pytest.raises(InputError, match="holds no records"):
        RecordSource.open([]).check()


def test_standard_input_is_copied_and_the_copy_removed(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stdin = io.TextIOWrapper(io.BytesIO(as_jsonl([FULL, PLAIN])))
    monkeypatch.setattr(sys, "stdin", stdin)
    with RecordSource.open("-") as records:
        assert records.check().files[0].path == "-"
        assert spools(temporary) != []
        assert [r for batch in records.batches() for r in batch] == [FULL, PLAIN]
    assert spools(temporary) == []


def test_the_copy_goes_with_its_source_when_nobody_closes_it(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(as_jsonl([PLAIN]))))
    records = RecordSource.open("-")
    assert records.check().n == 1
    del records
    assert spools(temporary) == []


def test_empty_standard_input(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
    with (
        RecordSource.open("-") as records,
        pytest.raises(InputError, match="standard input is empty"),
    ):
        records.check()


def test_a_pipe_is_copied(tmp_path: Path, temporary: Path) -> None:
    pipe = tmp_path / "pipe.jsonl"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(as_jsonl([FULL]),))
    writer.start()
    assert read(pipe) == [FULL]
    writer.join()
    assert spools(temporary) == []


@pytest.mark.parametrize("name", ["a.jsonl", "a.parquet", "a.parquet.gz"])
def test_a_url_is_copied(name: str, temporary: Path) -> None:
    data = as_jsonl([FULL, PLAIN]) if name == "a.jsonl" else as_parquet([FULL, PLAIN])
    url = f"memory://folder/{name}"
    with fsspec.open(url, "wb", compression="infer") as out:
        out.write(data)
    assert read(url) == [FULL, PLAIN]
    assert spools(temporary) == []


def test_urls_that_lead_nowhere(temporary: Path) -> None:
    for url, says in [
        ("memory://nowhere/a.jsonl", "memory://nowhere/a.jsonl does not exist"),
        ("nosuch://x/a.jsonl", "Protocol not known: nosuch"),
        ("gs://bucket/a.jsonl", "gcsfs"),
    ]:
        with RecordSource.open(url) as records, pytest.raises(InputError, match=says):
            records.check()


def test_an_address_where_nobody_answers_is_not_said_to_lack_the_file(temporary: Path) -> None:
    from tests.chaos import ChaosServer

    with ChaosServer() as server:
        place = server.base_url.removesuffix("/v1")
        urls = {f"{place}/a.jsonl": "a.jsonl does not exist"}
        urls["http://nowhere.invalid/a.jsonl"] = "cannot be read: cannot connect to nowhere.invalid"
        # A way that takes no GET: any status but 404 says that something is there.
        urls[f"{place}/v1/completions"] = "cannot be read: HTTP 405"
        for url, says in urls.items():
            with RecordSource.open(url) as records, pytest.raises(InputError, match=says):
                records.check()
    with RecordSource.open(f"{place}/a.jsonl") as records, pytest.raises(InputError) as caught:
        records.check()
    assert "cannot be read: cannot connect to 127.0.0.1" in str(caught.value)
    assert "does not exist" not in str(caught.value)


def test_passwords_and_tokens_are_not_shown() -> None:
    assert redact_urls("https://me:secret@host:1/a.jsonl?token=x#y") == "https://host:1/a.jsonl"
    assert redact_urls("folder/a?b.jsonl") == "folder/a?b.jsonl"
    assert RecordSource.open(["ftp://me:secret@h/a", "b"]).name == "ftp://h/a, b"


def test_missing_files_and_folders(tmp_path: Path) -> None:
    (tmp_path / "answers.jsonl").write_bytes(as_jsonl([PLAIN]))
    for path, says in [
        (tmp_path / "anwsers.jsonl", "Did you mean 'answers.jsonl'"),
        (tmp_path / "none" / "a.jsonl", "does not exist either"),
        (tmp_path, "is a folder.*answers.jsonl"),
        (tmp_path / "answers.jsonl" / "x", "cannot be read"),
    ]:
        with pytest.raises(InputError, match=says):
            RecordSource.open(path).check()


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may read everything")
def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    write(path, PLAIN)
    path.chmod(0)
    with pytest.raises(InputError, match="Permission denied"):
        RecordSource.open(path).check()


def test_nothing_is_read_before_the_check() -> None:
    records = RecordSource.open("no such file.jsonl")
    with pytest.raises(InputError, match="does not exist"):
        records.check()


def test_options_that_cannot_be_meant() -> None:
    with pytest.raises(UsageError, match="at least 1"):
        RecordSource.open("a.jsonl", limit=0)
    with pytest.raises(UsageError, match="skip, stop"):
        RecordSource.open("a.jsonl", on_bad_row="ignore")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="'question'"):
        RecordSource.open("a.jsonl", mapping={"questoin": "q"})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("--base-url=http://me:pw@host:80/v1?key=abc", "--base-url=http://host:80/v1"),
        ("http://u:p@ss@h/x#frag", "http://h/x"),
        ("http://[::1]:8000/v1", "http://[::1]:8000/v1"),
        ("zip://a.csv::https://u:p@h/a.zip?sig=1", "zip://a.csv::https://h/a.zip"),
        ("plain/path?x", "plain/path?x"),
    ],
)
def test_urls_are_shown_without_their_secrets(text: str, expected: str) -> None:
    assert redact_urls(text) == expected
