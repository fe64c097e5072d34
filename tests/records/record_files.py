"""Records to try, and how a user would write them in each format."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import zstandard

from trueground.records.reading import RecordSource
from trueground.types import Choice, Passage, Record, Turn

FULL = Record(
    id="q1",
    question="Where does the Seine meet the sea?",
    history=[Turn("Tell me about rivers.", role="user"), Turn("Gladly.", role="assistant")],
    contexts=[Passage("The Seine flows to Le Havre.", title="Seine", gold=True), Passage("Ä €.")],
    references=["Le Havre", "at Le Havre"],
    response='At "Le Havre",\nin Normandy; 海.',
    gold_facts=["The Seine ends at Le Havre."],
    response_facts=[],
    choices=[Choice("A", "Le Havre"), Choice("B", "Nice")],
    answerable=True,
    knowledge=[{"qid": "Q1471", "name": "Seine", "length": ["777", 776], "sea": "Channel"}],
    gold_knowledge=[["Q1471", "length", "777"]],
    absent_knowledge=[["Q1471", "source", "Langres"]],
    human={"faithful": 1.0, "fluent": 4.5},
    model="m",
    group="g",
    meta={"topic": {"name": "rivers"}, "n": 3},
)
PLAIN = Record(id="q2", response="")
CELLS = {"question", "response", "id", "model", "group"}


def rows(records: list[Record]) -> list[dict[str, Any]]:
    return [json.loads(msgspec.json.encode(record)) for record in records]


def as_jsonl(records: list[Record]) -> bytes:
    return b"".join(msgspec.json.encode(record) + b"\n" for record in records)


def as_json(records: list[Record]) -> bytes:
    return json.dumps(rows(records), indent=2, ensure_ascii=False).encode()


def as_table(records: list[Record]) -> list[dict[str, str]]:
    """Rows of text cells: JSON in every field that is no text."""
    return [
        {
            name: value if name in CELLS else json.dumps(value, ensure_ascii=False)
            for name, value in row.items()
        }
        for row in rows(records)
    ]


def as_csv(records: list[Record], delimiter: str = ",") -> bytes:
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, Record.__struct_fields__, delimiter=delimiter)
    writer.writeheader()
    writer.writerows(as_table(records))
    return out.getvalue().encode()


def as_parquet(records: list[Record]) -> bytes:
    """Native lists and objects, except where values of several types meet: JSON text there."""
    mixed = {"knowledge", "meta", "human"}
    table = [
        {k: json.dumps(v) if k in mixed else v for k, v in row.items()} for row in rows(records)
    ]
    out = io.BytesIO()
    pl.DataFrame(table, infer_schema_length=None).write_parquet(out)
    return out.getvalue()


WRITERS: dict[str, Callable[[list[Record]], bytes]] = {
    ".jsonl": as_jsonl,
    ".ndjson": as_jsonl,
    ".json": as_json,
    ".csv": as_csv,
    ".tsv": lambda records: as_csv(records, "\t"),
    ".parquet": as_parquet,
}
PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    # Two frames, as appending writers and parallel compressors leave them.
    ".zst": lambda data: zstandard.compress(data[:99]) + zstandard.compress(data[99:]),
}


def read(source: Any, **options: Any) -> list[Record]:
    with RecordSource.open(source, **options) as records:
        return [record for batch in records.batches() for record in batch]


def write(path: Path, *records: Record) -> str:
    path.write_bytes(as_jsonl(list(records)))
    return str(path)
