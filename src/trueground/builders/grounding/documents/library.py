"""The user's documents: read, checked, linked, with their numbers. What is no use is named."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from hashlib import sha256
from pathlib import Path

from trueground.benchmarks.base import Value
from trueground.builders.base import Dropped, Material, Source
from trueground.builders.grounding.documents.document import Document, Raw
from trueground.builders.grounding.documents.links import Names, in_degrees, resolved
from trueground.builders.grounding.documents.meta_file import add_meta
from trueground.builders.grounding.documents.passages import has_words, longer_than
from trueground.builders.grounding.documents.popularity import (
    NoNumber,
    field_of,
    number,
    see_numbers,
)
from trueground.builders.grounding.documents.reading import REASONS as READING
from trueground.builders.grounding.documents.reading import found_files, read_all
from trueground.builders.grounding.settings import LINKS, Choosing, settle
from trueground.errors import InputError
from trueground.records import FileInfo

REASONS: Mapping[str, str] = READING | {
    "empty": "the document is empty, or has no word in it",
    "too_long": "the document has more words than --max-document-words",
    "duplicate_id": "another document before it has the same id",
    "duplicate_text": "another document before it has the same text",
}
_SHOWN = 3


def open_library(material: Material, options: Mapping[str, Value]) -> Library:
    """The documents of the user's paths; nothing is read yet. UsageError: an option."""
    return Library(material, settle(options))


def read_documents(material: Material, options: Mapping[str, Value]) -> Source[Document]:
    """The source of `build grounding`. UsageError: an option that cannot be meant."""
    return open_library(material, options).source


class Library:
    """Documents that are read once, when they are first asked for. All may raise InputError."""

    def __init__(self, material: Material, choosing: Choosing) -> None:
        self._material = material
        self._choosing = choosing

    @property
    def source(self) -> Source[Document]:
        """The first step of the plan: documents, and what is left out of them."""
        doc = "Read the documents, their popularity and their links"
        return Source("documents", doc, Document, lambda: iter(self._read), REASONS)

    @property
    def files(self) -> list[FileInfo]:
        """All files that are read; those that cannot be are not among them."""
        meta = self._choosing.meta
        named = [one for path in self._material.paths for one in found_files(path, meta)[0]]
        named += [meta] if meta else []
        infos = []
        for path in dict.fromkeys(named):
            try:
                infos.append(FileInfo.of(str(path), path))
            except OSError:
                continue  # read_all names it
        return infos

    def documents(self) -> list[Document]:
        """The documents that are left, as the source gives them."""
        return [one for one in self._read if isinstance(one, Document)]

    @cached_property
    def _read(self) -> list[Document | Dropped]:
        found = list(read_all(self._material.paths, self._choosing.meta, self._material.note))
        raws = [one for one in found if isinstance(one, Raw)]
        if self._choosing.meta is not None:
            add_meta(self._choosing.meta, raws, self._material.note)
        kept, dropped = _sorted_out(found, self._choosing, self._material.limit)
        if not kept:
            raise _nothing_left(self._material.paths, dropped)
        return [*_documents(kept, self._choosing.popularity_field, dropped), *dropped]


_Kept = list[tuple[Raw, list[Raw]]]  # each with the doubles that lend it their names


def _sorted_out(
    found: Iterable[Raw | Dropped], choosing: Choosing, limit: int | None
) -> tuple[_Kept, list[Dropped]]:
    kept: _Kept = []
    dropped: list[Dropped] = []
    ids: set[str] = set()
    texts: dict[bytes, int] = {}
    for one in found:
        if isinstance(one, Dropped):
            dropped.append(one)
            continue
        text = sha256(" ".join(one.text.casefold().split()).encode()).digest()
        if not has_words(one.text):
            dropped.append(Dropped(one.id, "empty", one.place))
        elif longer_than(one.text, choosing.max_document_words):
            dropped.append(Dropped(one.id, "too_long", one.place))
        elif one.id in ids:
            dropped.append(Dropped(one.id, "duplicate_id", one.place))
        elif text in texts:
            first, doubles = kept[texts[text]]
            doubles.append(one)
            dropped.append(Dropped(one.id, "duplicate_text", f"{one.place}: as {first.id}"))
        elif limit is None or len(kept) < limit:
            ids.add(one.id)
            texts[text] = len(kept)
            kept.append((one, []))
    return kept, dropped


def _documents(kept: _Kept, asked: str | None, dropped: list[Dropped]) -> list[Document]:
    """The documents with links and numbers; those with a wrong number are dropped. InputError."""
    field = field_of((raw.row for raw, _ in kept), asked)
    names = Names()
    for raw, doubles in kept:
        for one in (raw, *doubles):
            names.add(one, raw.id)
    links = {raw.id: resolved(raw, raw.id, names) for raw, _ in kept}
    numbers: dict[str, float] = {}
    if field == LINKS:
        numbers.update((one, float(n)) for one, n in in_degrees(links).items())
    wrong = set()
    for raw, _ in kept if field != LINKS else ():
        try:
            value = number(raw.row.get(field))
        except NoNumber as problem:
            wrong.add(raw.id)
            dropped.append(Dropped(raw.id, "bad_field", f"{raw.place}, {field!r}: {problem}"))
            continue
        if value is not None:
            numbers[raw.id] = value
    see_numbers(numbers)
    return [
        Document(
            raw.id,
            raw.title,
            raw.text,
            numbers.get(raw.id),
            tuple(one for one in links[raw.id] if one not in wrong),
        )
        for raw, _ in kept
        if raw.id not in wrong
    ]


def _nothing_left(paths: Sequence[Path], dropped: Sequence[Dropped]) -> InputError:
    counts = Counter(one.reason for one in dropped)
    why = ", ".join(f"{n} {reason}" for reason, n in counts.most_common())
    first = "; ".join(f"{one.detail or one.id} ({one.reason})" for one in dropped[:_SHOWN])
    shown = ", ".join(map(str, paths))
    if not dropped:
        return InputError(f"{shown} holds no document; expected rows of title and text, or files")
    return InputError(
        f"{shown}: no document is left ({why}): {first}; expected rows of title and text, or text, "
        "Markdown, HTML or PDF files"
    )
