"""Rows of the user's files → pairs of names with a paragraph (Li et al. 2024, A.1)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any

from trueground.builders.base import Dropped, Source
from trueground.builders.kalma.items import Pair
from trueground.graph.folding import name_key
from trueground.records.jsontext import decode_row
from trueground.records.parts import Part, file_part
from trueground.records.plainrows import data_files
from trueground.records.problems import Problem, describe, known_id, shorten
from trueground.records.spool import Spool
from trueground.text.citations.reading import read_triples
from trueground.text.citations.triples import plain

# Under which names a field may stand; the first that is there counts.
FIELDS: Mapping[str, tuple[str, ...]] = {
    "paragraph": ("paragraph", "text", "sentence", "context"),
    "head": ("head", "subject", "entity_1", "entity1"),
    "relation": ("relation", "predicate", "property"),
    "tail": ("tail", "object", "entity_2", "entity2"),
}
REASONS = {
    "unreadable": "the row cannot be read",
    "missing": "a field is missing, or no text",
    "blank": "a field is blank",
    "binary": "the text is none: it holds control characters or broken letters",
    "enormous": "the paragraph has more than 10,000 characters, or a name more than 300",
    "incomplete_name": "a name has fewer words than --name-words",
    "same_names": "head and tail are the same name",
    "has_citations": "the paragraph holds citations already",
    "duplicate": "the same paragraph with the same triple came before",
    "duplicate_id": "an earlier row has this id",
}
_LONGEST = {"paragraph": 10_000, "head": 300, "relation": 300, "tail": 300}
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f-\x84\x86-\x9f\ufffd]")
_WORD = re.compile(r"\w")
_EXPECTED = '{"paragraph": "…", "head": "…", "relation": "…", "tail": "…"}'


def source_files(paths: Sequence[Path]) -> list[Path]:
    """All data files, each once. InputError."""
    return list(dict.fromkeys(file for path in paths for file in data_files(path)))


def make_source(files: Sequence[Path], name_words: int, limit: int | None) -> Source[Pair]:
    """The first `limit` good rows of the files, and what is wrong with those before the last."""

    def read() -> Iterator[Pair | Dropped]:
        good = 0
        for one in _unique(_rows(files, name_words)):
            good += isinstance(one, Pair)
            yield one
            if good == limit:
                return

    return Source("pairs", "Read pairs of names with a paragraph", Pair, read, REASONS)


def _unique(found: Iterator[Pair | Dropped]) -> Iterator[Pair | Dropped]:
    """Of rows that say the same the first; ids of what is left out tell its place in the files."""
    said: set[tuple[str, ...]] = set()
    ids: set[str] = set()
    for one in found:
        if isinstance(one, Dropped):
            yield one
            continue
        same = (plain(one.paragraph), *map(name_key, (one.head, one.relation, one.tail)))
        if same in said:
            yield Dropped(one.id, "duplicate", shorten(one.paragraph))
        elif one.id in ids:
            yield Dropped(one.id, "duplicate_id", shorten(one.paragraph))
        else:
            said.add(same)
            ids.add(one.id)
            yield one


def _rows(files: Sequence[Path], name_words: int) -> Iterator[Pair | Dropped]:
    for file in files:
        spool = Spool()
        try:
            part = file_part(str(file), spool, {}, None)
            with closing(part.rows()) as rows:
                for number, raw in rows:
                    place = f"{part.name}, {part.unit} {number}"
                    try:
                        yield _pair(place, _decoded(part, raw), name_words)
                    except Problem as problem:
                        yield Dropped(place, _reason(problem), f"{place}: {problem.found}")
        finally:
            spool.close()


def _decoded(part: Part, raw: Any) -> dict[str, Any]:
    if isinstance(raw, Problem):
        raise raw
    row = decode_row(raw, _EXPECTED) if isinstance(raw, bytes) else raw
    row = part.tidy(row) if part.tidy else row
    return part.cells(row) if part.cells else row


def _reason(problem: Problem) -> str:
    binary = "NUL" in problem.found or problem.found.startswith("invalid UTF-8")
    return "binary" if binary else "unreadable"


def _pair(place: str, row: dict[str, Any], name_words: int) -> Pair | Dropped:
    """The row's pair, or why it is none."""
    name = (known_id(row) or "").strip() or place
    triple = row.get("triple")
    if isinstance(triple, list | tuple) and len(triple) == 3:
        row = {**row, **dict(zip(("head", "relation", "tail"), triple, strict=True))}
    texts = {}
    for field, names in FIELDS.items():
        value = next((row[one] for one in names if row.get(one) is not None), None)
        if not isinstance(value, str):
            found = "nothing" if value is None else describe(value)
            return Dropped(name, "missing", f"{place}, {field}: found {found}; expected a text")
        if problem := _wrong(field, value):
            return Dropped(name, problem[0], f"{place}, {field}: {problem[1]}")
        texts[field] = " ".join(value.split())
    pair = Pair(name if name != place else _id(texts), **texts)
    return _refused(pair, place, name_words) or pair


def _wrong(field: str, value: str) -> tuple[str, str] | None:
    if not value.strip() or not _WORD.search(value):
        return "blank", "found no word"
    if len(value) > _LONGEST[field]:
        return "enormous", f"found {len(value):,} characters; expected {_LONGEST[field]:,} at most"
    if found := _CONTROL.search(value):
        return "binary", f"found the character U+{ord(found[0]):04X}"
    return None


def _refused(pair: Pair, place: str, name_words: int) -> Dropped | None:
    for name in (pair.head, pair.tail):
        if sum(bool(_WORD.search(word)) for word in name.split()) < name_words:
            detail = f"{place}: found {shorten(name)!r}; expected {name_words} words"
            return Dropped(pair.id, "incomplete_name", detail)
    if name_key(pair.head) == name_key(pair.tail):
        return Dropped(pair.id, "same_names", f"{place}: found {shorten(pair.head)!r} twice")
    if any(sentence.citations or sentence.missing for sentence in read_triples(pair.paragraph, ())):
        return Dropped(pair.id, "has_citations", f"{place}: {shorten(pair.paragraph)}")
    return None


def _id(texts: Mapping[str, str]) -> str:
    """The same for the same row, wherever it stands."""
    words = "\0".join(texts[field] for field in FIELDS)
    return sha256(words.encode("utf-8", "replace")).hexdigest()[:12]
