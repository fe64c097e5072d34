"""The user's documents: read, checked, linked, with their numbers. What is no use is named."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from hashlib import sha256
from pathlib import Path

from trueground.benchmarks.base import Value
from trueground.builders.base import Material, SourceStep
from trueground.builders.grounding.documents.document import Raw, SourceDocument
from trueground.builders.grounding.documents.links import DocumentNames, in_degrees, resolved
from trueground.builders.grounding.documents.meta_file import add_meta
from trueground.builders.grounding.documents.passages import word_count
from trueground.builders.grounding.documents.popularity import (
    NoNumber,
    check_numbers,
    field_of,
    names_of,
    number,
)
from trueground.builders.grounding.documents.reading import REASONS as READING
from trueground.builders.grounding.documents.reading import found_files, read_all
from trueground.builders.grounding.settings import LINKS, Choosing, settle
from trueground.builders.rejected import Rejected
from trueground.errors import InputError
from trueground.records import FileInfo

REASONS: Mapping[str, str] = READING | {
    "empty": "the document is empty, or has no word in it",
    "too_long": "the document has more words than --max-document-words",
    "duplicate_id": "another document before it has the same id",
    "duplicate_text": "another document before it has the same text",
}
_SHOWN = 3


def open_library(material: Material, options: Mapping[str, Value]) -> DocumentLibrary:
    """The documents of the user's paths; nothing is read yet. UsageError: an option."""
    return DocumentLibrary(material, settle(options))


class DocumentLibrary:
    """Documents that are read once, when they are first asked for. All may raise InputError."""

    def __init__(self, material: Material, choosing: Choosing) -> None:
        self._material = material
        self._choosing = choosing

    @property
    def source(self) -> SourceStep[SourceDocument]:
        """The first step of the plan: documents, and what is left out of them."""
        doc = "Read the documents, their popularity and their links"
        return SourceStep("documents", doc, SourceDocument, lambda: iter(self._read), REASONS)

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

    def documents(self) -> list[SourceDocument]:
        """The documents that are left, as the source gives them."""
        return [one for one in self._read if isinstance(one, SourceDocument)]

    @cached_property
    def _read(self) -> list[SourceDocument | Rejected]:
        found = list(read_all(self._material.paths, self._choosing.meta, self._material.note))
        raws = [one for one in found if isinstance(one, Raw)]
        if self._choosing.meta is not None:
            fields = names_of(self._choosing.popularity_field)
            add_meta(self._choosing.meta, raws, fields, self._material.note)
        sorted_out, doubles = _sorted_out(found, self._choosing)
        if not any(isinstance(one, Raw) for one in sorted_out):
            raise _nothing_left(
                self._material.paths, [one for one in sorted_out if isinstance(one, Rejected)]
            )
        return _documents(sorted_out, doubles, self._choosing.popularity_field)


_Doubles = dict[str, list[Raw]]  # by the id of the document to which they lend their names


def _sorted_out(
    found: Iterable[Raw | Rejected], choosing: Choosing
) -> tuple[list[Raw | Rejected], _Doubles]:
    """(all in their order, those without use as what fell; doubles)."""
    made: list[Raw | Rejected] = []
    doubles: _Doubles = {}
    texts: dict[bytes, str] = {}
    for one in found:
        if isinstance(one, Rejected):
            made.append(one)
            continue
        text = sha256(" ".join(one.text.casefold().split()).encode()).digest()
        if (useless := _useless(one, choosing.max_document_words)) is not None:
            made.append(useless)
        elif one.id in doubles:
            made.append(Rejected("duplicate_id", one.place, id=one.id))
        elif text in texts:
            doubles[texts[text]].append(one)
            made.append(Rejected("duplicate_text", f"{one.place}: as {texts[text]}", id=one.id))
        else:
            doubles[one.id] = []
            texts[text] = one.id
            made.append(one)
    return made, doubles


def _useless(one: Raw, most: int) -> Rejected | None:
    """Why nothing can be asked about it: no words, or too many."""
    words = word_count(one.text)
    if not words:
        what = f"{len(one.text)} characters without a letter or digit" if one.text else "no text"
        return Rejected("empty", f"{one.place}: found {what}", id=one.id)
    if words > most:
        return Rejected("too_long", f"{one.place}: {words:,} words; {most:,} at most", id=one.id)
    return None


def _documents(
    found: Sequence[Raw | Rejected], doubles: _Doubles, asked: str | None
) -> list[SourceDocument | Rejected]:
    """Documents with links and numbers; those with a wrong number fall. InputError."""
    kept = [one for one in found if isinstance(one, Raw)]
    field = field_of((raw.row for raw in kept), asked)
    names = DocumentNames()
    for raw in kept:
        for double in (raw, *doubles[raw.id]):
            names.add(double, raw.id)
    links = {raw.id: resolved(raw, raw.id, names) for raw in kept}
    numbers, wrong = _numbers(kept, links, field)
    check_numbers(numbers)
    made: list[SourceDocument | Rejected] = []
    for one in found:
        if isinstance(one, Rejected):
            made.append(one)
        elif one.id in wrong:
            made.append(wrong[one.id])
        else:
            linked = tuple(to for to in links[one.id] if to not in wrong)
            made.append(SourceDocument(one.id, one.title, one.text, numbers.get(one.id), linked))
    return made


def _numbers(
    kept: Sequence[Raw], links: Mapping[str, Sequence[str]], field: str
) -> tuple[dict[str, float], dict[str, Rejected]]:
    """(the popularity of documents by id, those with a wrong one)."""
    if field == LINKS:
        return {one: float(n) for one, n in in_degrees(links).items()}, {}
    numbers: dict[str, float] = {}
    wrong: dict[str, Rejected] = {}
    for raw in kept:
        try:
            value = number(raw.row.get(field))
        except NoNumber as problem:
            wrong[raw.id] = Rejected("bad_field", f"{raw.place}, {field!r}: {problem}", id=raw.id)
            continue
        if value is not None:
            numbers[raw.id] = value
    return numbers, wrong


def _nothing_left(paths: Sequence[Path], dropped: Sequence[Rejected]) -> InputError:
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
