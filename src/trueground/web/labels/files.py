"""What leaves a project: answers, merged labels, the records they are of, and a backup."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import sqlalchemy as sql
from msgspec.structs import replace

from trueground.annotation.base import Label
from trueground.errors import InputError
from trueground.records import open_records
from trueground.runs.directory import RECORDS
from trueground.types import Record
from trueground.web.labels.database import LabelDatabase
from trueground.web.labels.gathered import Gathered
from trueground.web.labels.schema import metadata, sessions, sources
from trueground.web.labels.tasks import record_of

_ROWS = 1_000  # copied at once


def write_labels(labels: Sequence[Label]) -> bytes:
    """Merged labels as JSON lines, as `annotate import` writes them."""
    return b"".join(msgspec.json.encode(label) + b"\n" for label in labels)


def read_sources(database: LabelDatabase) -> dict[int, tuple[str, str]]:
    """Where tasks came from: path, and the mark before their ids, by number."""
    with database.read() as connection:
        rows = connection.execute(sql.select(sources)).all()
    return {row.number: (row.path, row.mark) for row in rows}


def labelled_records(database: LabelDatabase, gathered: Gathered) -> Iterator[Record]:
    """The records that somebody labelled, where it is known where they lie, each once.

    Their ids are as in the tasks: of several sources with the number of theirs before it.
    InputError: no source is known, or one is not there any more.
    """
    known = read_sources(database)
    wanted: dict[int, set[str]] = {}
    for name, source in gathered.sources.items():
        if source is not None:
            mark = known[source][1]
            wanted.setdefault(source, set()).add(record_of(name[1], bool(mark))[1])
    if not wanted:
        raise InputError(
            "it is not known which records these tasks were made of: they came as files without "
            "NAME-export.json beside them; give the records to the command yourself"
        )
    seen: set[str] = set()
    for number, ids in sorted(wanted.items()):
        path, mark = known[number]
        place = Path(path)
        if not place.exists():
            raise InputError(f"{path} is not there any more; the tasks were made of it")
        with open_records(str(place / RECORDS) if place.is_dir() else path) as records:
            records.check()
            for batch in records.batches():
                for record in batch:
                    if record.id in ids and (id_ := mark + record.id) not in seen:
                        seen.add(id_)
                        yield replace(record, id=id_)


def write_records(records: Iterator[Record]) -> bytes:
    """Records as JSON lines."""
    return b"".join(msgspec.json.encode(record) + b"\n" for record in records)


def back_up(database: LabelDatabase) -> Path:
    """The whole project as one SQLite file of its own, as it is at one moment; sessions stay out.

    It lies in the folder of temporary files, and is the caller's to remove.
    """
    handle, name = tempfile.mkstemp(prefix="trueground-", suffix=".db")
    os.close(handle)
    path = Path(name)
    path.unlink()
    try:
        with LabelDatabase(str(path)) as copy, database.snapshot() as source:
            rows = {table: sql.select(table) for table in metadata.sorted_tables}
            with copy.engine.connect() as plain:
                target = plain.execution_options(writes="FULL")
                with target.begin():
                    for table in reversed(metadata.sorted_tables):
                        target.execute(sql.delete(table))
                    for table, select in rows.items():
                        if table is sessions:
                            continue
                        found = source.execute(select).mappings()
                        for part in found.partitions(_ROWS):
                            target.execute(sql.insert(table), [dict(row) for row in part])
            copy.make_single()
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return path
