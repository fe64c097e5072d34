"""Rows that are no records: every format, places, folders, and errors that name them."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import polars as pl
import pytest
import zstandard

from trueground.errors import InputError
from trueground.records.data_path import DataPath

ROWS = [{"a": "x", "list": ["p", "q"]}, {"a": "ü", "list": []}]


def test_every_format_gives_the_rows_and_their_places(tmp_path: Path) -> None:
    lines = "".join(json.dumps(row) + "\n" for row in ROWS).encode()
    (tmp_path / "1.jsonl").write_bytes(lines)
    (tmp_path / "2.jsonl.gz").write_bytes(gzip.compress(lines))
    (tmp_path / "3.ndjson.zst").write_bytes(zstandard.compress(lines))
    (tmp_path / "4.json").write_text(json.dumps(ROWS))
    pl.DataFrame(ROWS).write_parquet(tmp_path / "5.parquet")
    (tmp_path / "5.parquet.gz").write_bytes(gzip.compress((tmp_path / "5.parquet").read_bytes()))
    for path in sorted(tmp_path.iterdir()):
        assert [row for _, row in DataPath(path).rows()] == ROWS, path
    (tmp_path / "6.csv").write_text('a,b\nx,"[1, 2]"\ny,\n')
    assert list(DataPath(tmp_path / "6.csv").rows()) == [
        (f"{tmp_path / '6.csv'}, row 1", {"a": "x", "b": "[1, 2]"}),
        (f"{tmp_path / '6.csv'}, row 2", {"a": "y"}),
    ]


def test_a_folder_is_all_its_data_files_in_name_order(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    for name, text in (("b.jsonl", "2"), ("a.jsonl", "1"), ("sub/c.jsonl", "3")):
        (tmp_path / name).write_text(f'{{"n": {text}}}\n')
    (tmp_path / "README.md").write_text("no data")
    (tmp_path / ".cache").mkdir()
    (tmp_path / ".cache" / "d.jsonl").write_text('{"n": 4}\n')
    assert [row["n"] for _, row in DataPath(tmp_path).rows()] == [1, 2, 3]
    assert [file.name for file in DataPath(tmp_path).files()] == ["a.jsonl", "b.jsonl", "c.jsonl"]
    assert next(DataPath(tmp_path).rows())[0] == f"{tmp_path / 'a.jsonl'}, line 1"


def test_unreadable_rows_and_files_are_named(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"n": 1}\n{"n": NaN}\n')
    with pytest.raises(InputError, match=r"a\.jsonl, line 2, field 'n': found NaN; expected a fin"):
        list(DataPath(path).rows())
    path.write_text('{"n": 1}\n[2]\n')
    with pytest.raises(InputError, match=r"line 2: found list of 1; expected one JSON object"):
        list(DataPath(path).rows())
    with pytest.raises(InputError, match="does not exist"):
        list(DataPath(tmp_path / "no.jsonl").rows())
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"holds no data file.*\.parquet"):
        list(DataPath(tmp_path / "empty").rows())


def test_temporary_copies_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pl.DataFrame(ROWS).write_parquet(tmp_path / "a.parquet")
    packed = tmp_path / "a.parquet.gz"
    packed.write_bytes(gzip.compress((tmp_path / "a.parquet").read_bytes()))
    copies = tmp_path / "copies"
    copies.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(copies))
    rows = DataPath(packed).rows()
    next(rows)
    assert list(copies.iterdir())
    rows.close()
    assert not list(copies.iterdir())


def test_what_can_be_read_only_once_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")
    with pytest.raises(InputError, match=r"pipe\.jsonl is a pipe; data are read more than once"):
        DataPath(tmp_path / "pipe.jsonl").files()
    with pytest.raises(InputError, match="/dev/null is no regular file"):
        DataPath(Path("/dev/null")).files()


def test_what_cannot_be_looked_at_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nnn cannot be read: File name too long"):
        DataPath(tmp_path / ("n" * 300)).files()
    (tmp_path / "a.jsonl").write_text("{}\n")
    for name in ("shut", ".hidden"):
        (tmp_path / name).mkdir(mode=0)
    (tmp_path / ".hidden").chmod(0)
    if os.access(tmp_path / "shut", os.R_OK):
        pytest.skip("this user may read everything")
    with pytest.raises(InputError, match="shut cannot be read: Permission denied"):
        DataPath(tmp_path).files()
    (tmp_path / "shut").rmdir()
    assert DataPath(tmp_path).files() == [tmp_path / "a.jsonl"]
