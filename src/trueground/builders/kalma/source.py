"""Rows of the user's files → pairs of names with a paragraph (Li et al. 2024, A.1)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from trueground.builders.base import SourceStep
from trueground.builders.kalma.items import SourcePair
from trueground.builders.rejected import Rejected
from trueground.builders.rows import SourceRow, Unusable, fault, source_rows
from trueground.errors import InputError
from trueground.graph.folding import name_key
from trueground.records.problems import describe, known_id, shorten
from trueground.text.citations import read_triples
from trueground.text.triples import plain

# Under which names a field may stand; the first that is there counts.
FIELDS: Mapping[str, tuple[str, ...]] = {
    "paragraph": ("paragraph", "text", "sentence", "context"),
    "head": ("head", "subject", "entity_1", "entity1"),
    "relation": ("relation", "predicate", "property"),
    "tail": ("tail", "object", "entity_2", "entity2"),
}
_WRONG = {
    "unreadable": "the row cannot be read",
    "missing": "a field is missing, or no text",
    "duplicate_id": "an earlier row has this id",
}
REASONS = {
    **_WRONG,
    "blank": "a field is blank",
    "binary": "the text is none: it holds control characters or broken letters",
    "enormous": "the paragraph has more than 10,000 characters, or a name more than 300",
    "incomplete_name": "a name has fewer words than --name-words",
    "same_names": "head and tail are the same name",
    "has_citations": "the paragraph holds citations already",
    "duplicate": "the same paragraph with the same triple came before",
}
_LONGEST = {"paragraph": 10_000, "head": 300, "relation": 300, "tail": 300}
_WORD = re.compile(r"\w")
_EXPECTED = '{"paragraph": "…", "head": "…", "relation": "…", "tail": "…"}'
_SHOWN = 50


def make_source(
    files: Sequence[Path], name_words: int, *, skip_bad: bool
) -> SourceStep[SourcePair]:
    """Reads the files. Without `skip_bad` all wrong rows are named in one InputError."""

    def read() -> Iterator[SourcePair | Rejected]:
        found = list(_unique(_read(row, name_words) for row in source_rows(files, _EXPECTED)))
        left_out = [one for one in found if isinstance(one, Rejected)]
        wrong = [one for one in left_out if one.reason in _WRONG]
        if wrong and not skip_bad:
            raise _all_wrong(wrong)
        if len(left_out) == len(found):
            raise _nothing(files, left_out)
        return iter(found)

    return SourceStep("pairs", "Read pairs of names with a paragraph", SourcePair, read, REASONS)


def _all_wrong(wrong: Sequence[Rejected]) -> InputError:
    listed = "\n".join(shorten(one.detail, 400) for one in wrong[:_SHOWN])
    more = f"\n… and {len(wrong) - _SHOWN:,} more" if len(wrong) > _SHOWN else ""
    return InputError(
        f"{len(wrong):,} wrong row{'s' * (len(wrong) > 1)}; fix that, or leave out what is wrong "
        f"with --on-bad-row skip:\n{listed}{more}"
    )


def _nothing(files: Sequence[Path], left_out: Sequence[Rejected]) -> InputError:
    counts = Counter(one.reason for one in left_out).most_common()
    why = ", ".join(f"{n:,} {reason}" for reason, n in counts)
    first = f" (the rows: {why}; the first: {left_out[0].detail})" if left_out else ""
    return InputError(
        f"{', '.join(map(str, files))}: found no row that can be used{first}; expected rows such "
        f"as {_EXPECTED}"
    )


def _unique(found: Iterator[tuple[str, SourcePair | Rejected]]) -> Iterator[SourcePair | Rejected]:
    """Of rows that say the same the first, and of several with one id too."""
    said: dict[tuple[str, ...], str] = {}
    ids: dict[str, str] = {}
    for place, one in found:
        if isinstance(one, Rejected):
            yield one
            continue
        same = (plain(one.paragraph), *map(name_key, (one.head, one.relation, one.tail)))
        if same in said:
            yield Rejected("duplicate", f"{place}: the same as {said[same]}", id=one.id)
        elif one.id in ids:
            detail = f"{place}: found the id {one.id!r} a second time, first in {ids[one.id]}"
            expected = "expected ids that are unique in all files"
            yield Rejected("duplicate_id", f"{detail}; {expected}", id=one.id)
        else:
            said[same] = ids[one.id] = place
            yield one


def _read(row: SourceRow, name_words: int) -> tuple[str, SourcePair | Rejected]:
    """(place, the row's pair or why it is none)."""
    if isinstance(row.value, Unusable):
        return row.place, Rejected(row.value.kind, row.value.found, id=row.value.id or row.place)
    return row.place, _pair(row.place, row.value, name_words)


def _pair(place: str, row: dict[str, Any], name_words: int) -> SourcePair | Rejected:
    name = (known_id(row) or "").strip() or place
    triple = row.get("triple")
    if isinstance(triple, list | tuple) and len(triple) == 3:
        row = {**row, **dict(zip(("head", "relation", "tail"), triple, strict=True))}
    texts = {}
    for field, names in FIELDS.items():
        value = next((row[one] for one in names if row.get(one) is not None), None)
        if not isinstance(value, str):
            found = "nothing" if value is None else describe(value)
            other = f" (or as {', '.join(names[1:])})"
            detail = f"{place}, field {field!r}{other}: found {found}; expected a text"
            return Rejected("missing", detail, id=name)
        if problem := _wrong(field, value):
            return Rejected(problem[0], f"{place}, field {field!r}: {problem[1]}", id=name)
        texts[field] = " ".join(value.split())
    pair = SourcePair(name if name != place else _id(texts), **texts)
    return _refused(pair, place, name_words) or pair


def _wrong(field: str, value: str) -> tuple[str, str] | None:
    if len(value) > _LONGEST[field]:
        return "enormous", f"found {len(value):,} characters; expected {_LONGEST[field]:,} at most"
    problem = fault(value)
    return None if problem is None else (problem[0], f"found {problem[1]}")


def _refused(pair: SourcePair, place: str, name_words: int) -> Rejected | None:
    for name in (pair.head, pair.tail):
        if (found := sum(bool(_WORD.search(word)) for word in name.split())) < name_words:
            words = f"{found} word{'s' * (found != 1)}; expected {name_words} or more"
            detail = f"{place}: {shorten(name)!r} has {words}"
            return Rejected("incomplete_name", detail, id=pair.id)
    if name_key(pair.head) == name_key(pair.tail):
        return Rejected("same_names", f"{place}: found {shorten(pair.head)!r} twice", id=pair.id)
    if any(sentence.citations or sentence.missing for sentence in read_triples(pair.paragraph, ())):
        return Rejected("has_citations", f"{place}: {shorten(pair.paragraph)}", id=pair.id)
    return None


def _id(texts: Mapping[str, str]) -> str:
    """The same for the same row, wherever it stands."""
    words = "\0".join(texts[field] for field in FIELDS)
    return sha256(words.encode("utf-8", "replace")).hexdigest()[:12]
