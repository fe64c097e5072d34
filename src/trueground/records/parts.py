"""What the user names → parts to be read in turn: which format, by which reader."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Generator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlsplit

from trueground.errors import InputError
from trueground.records.archives import opened, require_readable
from trueground.records.clean import clean
from trueground.records.jsonfiles import read_array, read_lines, read_members
from trueground.records.objects import read_objects, read_spooled, write_objects
from trueground.records.problems import Problem, describe
from trueground.records.spool import STDIN, Spool, is_remote, shown
from trueground.records.tables import clean_cells, read_cells, read_csv, read_frame, read_parquet

PACKINGS = (".gz", ".zst")
KINDS = {
    ".jsonl": "lines",
    ".ndjson": "lines",
    ".json": "sniff",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
}
Cells = Callable[[dict[str, Any]], dict[str, Any]]
Rows = Generator[tuple[int, Any], None, None]


@dataclass(frozen=True)
class Part:
    """One file, frame or list.

    `rows` starts reading: (row number, JSON text or dict or Problem). `tidy` makes a row's values
    plain before columns are renamed, `cells` decodes cells afterwards. `path` is the local file,
    None for objects.
    """

    name: str
    unit: str
    rows: Callable[[], Rows]
    tidy: Cells | None = None
    cells: Cells | None = None
    path: Path | None = None


def file_part(name: str, spool: Spool, mapping: Mapping[str, str], limit: int | None) -> Part:
    """The part of a path, a URL or `-`; remote files and pipes are copied first. InputError."""
    path, label = _local(name, spool), shown(name)
    kind, packing = ("lines", "") if name == STDIN else _kind(name)
    if kind == "sniff":
        kind = _sniff(path, packing, label)
    response = mapping.get("response", "response")

    def text_rows() -> Rows:
        with opened(path, packing, label) as stream:
            if kind == "lines":
                yield from read_lines(stream, label)
            elif kind == "members":
                yield from _answers(stream, label)
            elif kind == "array":
                yield from read_array(stream, label)
            else:
                yield from read_csv(stream, label, "\t" if kind == "tsv" else ",", response)

    def parquet_rows() -> Rows:
        whole = path
        if packing:
            with opened(path, packing, label) as stream:
                whole = spool.unpacked(name, stream)
        yield from read_parquet(whole, label, limit)

    if kind == "parquet":
        return Part(label, "row", parquet_rows, clean_cells, read_cells, path)
    if kind in ("csv", "tsv"):
        return Part(label, "row", text_rows, None, read_cells, path)
    return Part(label, "line" if kind == "lines" else "row", text_rows, path=path)


def object_part(source: Any, spool: Spool) -> Part:
    """The part of a data frame, or of an iterable of dicts and Records. InputError."""
    library = type(source).__module__.partition(".")[0]
    if library in ("polars", "pandas") and type(source).__name__ == "DataFrame":
        return Part("data frame", "row", lambda: read_frame(source), clean_cells, read_cells)
    if isinstance(source, dict | bytes) or not hasattr(source, "__iter__"):
        raise InputError(
            f"cannot read records from a Python {type(source).__name__}; pass a path, several "
            "paths, a polars or pandas DataFrame, or an iterable of dicts"
        )
    if iter(source) is source:
        path = spool.keep("objects", lambda out: write_objects(source, out))
        return Part("records", "row", lambda: read_spooled(path))
    return Part("records", "row", lambda: read_objects(source), clean)


def _local(name: str, spool: Spool) -> Path:
    """A local, seekable file with the content of `name`."""
    if name == STDIN or is_remote(name):
        path = spool.fetch(name)
        if not path.stat().st_size:
            label = "standard input" if name == STDIN else shown(name)
            raise InputError(f"{label} is empty; it holds no records")
        return path
    path = Path(name)
    require_readable(path, name)
    return path if path.is_file() else spool.fetch(name)


def _kind(name: str) -> tuple[str, str]:
    """The reader and the packing that a file name stands for; an unknown ending is sniffed."""
    bare = urlsplit(name).path if name.startswith(("http://", "https://")) else os.fspath(name)
    file = PurePosixPath(bare.lower().replace("\\", "/"))
    packing = file.suffix if file.suffix in PACKINGS else ""
    ending = (file.with_suffix("") if packing else file).suffix
    return KINDS.get(ending, "sniff"), packing


def _answers(stream: io.BufferedReader, name: str) -> Rows:
    """Truly-Ground's answers, {qId: {"input": …, "output": …}}, as rows of id and response."""
    for number, (key, value) in enumerate(read_members(stream, name), start=1):
        if isinstance(value, dict) and "output" in value:
            yield number, {"id": key, "response": value.pop("output")} | value
        else:
            yield number, Problem(None, f"{describe(value)} under {key!r}", "input and output")


def _are_answers(path: Path, packing: str, name: str) -> bool:
    with opened(path, packing, name) as stream, suppress(InputError):
        # Two, since a row of JSON lines may begin with an object.
        first = [value for _, value in islice(read_members(stream, name), 2)]
        return all(isinstance(value, dict) and "output" in value for value in first)
    return False


def _sniff(path: Path, packing: str, name: str) -> str:
    """`array`, `members` or `lines`, by the first byte that is not blank, and the first member."""
    with opened(path, packing, name) as stream:
        start = b""
        while not start and (chunk := stream.read(1 << 16)):
            start = chunk.lstrip()
    if not start:
        raise InputError(f"{name} holds no records, only blanks")
    kind = {b"[": "array", b"{": "lines"}.get(start[:1])
    if kind is None:
        endings = ", ".join(KINDS)
        raise InputError(
            f"{name}: cannot tell its format: it begins neither with [ nor with {{. Known endings: "
            f"{endings}, each also with {' or '.join(PACKINGS)}"
        )
    return "members" if kind == "lines" and _are_answers(path, packing, name) else kind
