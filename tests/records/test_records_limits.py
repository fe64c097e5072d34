"""What no file may do to the memory: rows, answers and archives beyond all bounds."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import zstandard
from tests.marks import mostly_long
from tests.records.record_files import write

import trueground as tg
from trueground.errors import BadRowsError, InputError
from trueground.records.files import LARGEST_ROW
from trueground.types import Record

MIB = 1 << 20
# Runs a call in a process of its own; prints its peak in MiB, then what was raised.
CALL = """
import resource, sys
import trueground as tg
from trueground.errors import InputError
from trueground.reports.run_pages import write_run_page
from pathlib import Path
base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    if sys.argv[1] == "score":
        tg.score(sys.argv[2], metrics="f1")
    else:
        write_run_page(Path(sys.argv[2]))
except InputError as error:
    print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - base) // 1024, error)
"""
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in KiB on Linux")


def bomb(path: Path, head: bytes, piece: bytes, n: int = 600) -> Path:
    """`head`, then n MiB of the piece, packed as the name says."""
    pieces: Iterator[bytes] = (piece * (MIB // len(piece)) for _ in range(n))
    with path.open("wb") as file:
        pack: Any = zstandard.ZstdCompressor().stream_writer(file)
        if path.suffix == ".gz":
            pack = gzip.GzipFile(fileobj=file, mode="wb", compresslevel=1)
        with pack as out:
            out.write(head)
            for one in pieces:
                out.write(one)
    return path


def called(what: str, path: Path) -> tuple[int, str]:
    words = [sys.executable, "-c", CALL, what, str(path)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=True)
    peak, _, said = done.stdout.partition(" ")
    return int(peak), said


@on_linux
@pytest.mark.parametrize(
    ("name", "head", "piece"),
    mostly_long(
        1,
        [
            ("a.jsonl.zst", b'{"response": "', b"a"),
            ("a.csv.zst", b'id,response\n1,"', b"a"),
            ("a.jsonl.gz", b'{"response": "', b"a"),
            ("a.jsonl.zst", b"", b" "),
            ("a.json.zst", b'[{"response": "', b"a"),
            ("a.csv.zst", b"id,response\n1,x", b',"\n"'),
        ],
    ),
)
def test_a_row_that_explodes_is_refused(
    name: str, head: bytes, piece: bytes, tmp_path: Path
) -> None:
    path = bomb(tmp_path / name, head, piece, 200 if b"\n" in piece else 600)
    peak, said = called("score", path)
    assert "one record of more than 64 MiB" in said
    assert name in said
    assert peak < 400


@on_linux
def test_records_that_explode_are_no_page(tmp_path: Path) -> None:
    rows = [{"id": "a", "response": "x", "references": ["x"]}]
    tg.score(rows, metrics="f1", out=tmp_path / "run")
    bomb(tmp_path / "run" / "records.jsonl.zst", b'{"id": "a", "response": "', b"a")
    peak, said = called("report", tmp_path / "run")
    assert "records.jsonl.zst, line 1: not readable" in said
    assert "one record of more than 64 MiB" in said
    assert peak < 400


def test_an_array_of_brackets_is_refused_at_once(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b"[" * 1_000_000)
    with pytest.raises(InputError, match=r"a\.json, row 1: lists or objects nested too deeply"):
        tg.score(path, metrics="f1")


def test_an_answer_beyond_the_limit_is_a_bad_row(tmp_path: Path) -> None:
    rows = [
        {"response": "a" * (Record.MAX_RESPONSE_CHARS + 1)},
        {"response": "x", "references": ["x"]},
    ]
    path = write(tmp_path / "a.jsonl", *rows)
    with pytest.raises(BadRowsError, match="10,000,001 characters; expected an answer of at most"):
        tg.score(path, metrics="f1")
    assert tg.score(path, metrics="f1", on_bad_row="skip").summary["f1"].scored == 1
    with pytest.raises(BadRowsError, match="at most 10,000,000 characters"):
        tg.score(rows, metrics="f1")


def test_pieces_of_frames_are_put_together(tmp_path: Path) -> None:
    """Frames end anywhere within what is unpacked at once."""
    lines = [json.dumps({"id": i, "response": "x" * (i * 37 % 5000)}) + "\n" for i in range(300)]
    pack = zstandard.ZstdCompressor(level=1)
    path = tmp_path / "a.jsonl.zst"
    path.write_bytes(b"".join(pack.compress(line.encode()) for line in lines))
    found = tg.score(path, metrics="abstained").items["id"].to_list()
    assert found == [str(i) for i in range(300)]
    assert LARGEST_ROW == 64 * MIB
