"""Rows of the user's files → pairs of names with a paragraph (Li et al. 2024, A.1)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from trueground.builders.base import Rejected, SourceStep
from trueground.builders.kalma.items import SourcePair
from trueground.builders.rows import SourceRow, Unusable, fault, source_rows
from trueground.errors import InputError
from trueground.graph.base import name_key
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


def pairs_source(
    files: Sequence[Path], name_words: int, *, skip_bad: bool
) -> SourceStep[SourcePair]:
    """Reads the files. Without `skip_bad` all wrong rows are named in one InputError."""

    def read() -> Iterator[SourcePair | Rejected]:
        found = list(_unique(source_rows(files, _EXPECTED), name_words))
        rejected = [one for one in found if isinstance(one, Rejected)]
        wrong = [one for one in rejected if one.reason in _WRONG]
        if wrong and not skip_bad:
            listed = "\n".join(shorten(one.detail, 400) for one in wrong[:_SHOWN])
            more = f"\n… and {len(wrong) - _SHOWN:,} more" if len(wrong) > _SHOWN else ""
            raise InputError(
                f"{len(wrong):,} wrong row{'s' * (len(wrong) > 1)}; fix that, or leave out what is "
                f"wrong with --on-bad-row skip:\n{listed}{more}"
            )
        if len(rejected) == len(found):
            counts = Counter(one.reason for one in rejected).most_common()
            why = ", ".join(f"{n:,} {reason}" for reason, n in counts)
            first = f" (the rows: {why}; the first: {rejected[0].detail})" if rejected else ""
            raise InputError(
                f"{', '.join(map(str, files))}: found no row that can be used{first}; expected "
                f"rows such as {_EXPECTED}"
            )
        return iter(found)

    return SourceStep("pairs", "Read pairs of names with a paragraph", SourcePair, read, REASONS)


def _unique(rows: Iterator[SourceRow], name_words: int) -> Iterator[SourcePair | Rejected]:
    """Of rows that say the same the first, and of several with one id too."""
    said: dict[tuple[str, ...], str] = {}
    ids: dict[str, str] = {}
    for row in rows:
        place = row.place
        if isinstance(row.value, Unusable):
            yield Rejected(row.value.kind, row.value.found, id=row.value.id or place)
            continue
        one = _pair_of(row.value, place, name_words)
        if isinstance(one, Rejected):
            yield one
            continue
        same = (plain(one.paragraph), *map(name_key, (one.head, one.relation, one.tail)))
        if same in said:
            yield Rejected("duplicate", f"{place}: the same as {said[same]}", id=one.id)
        elif one.id in ids:
            found = f"found the id {one.id!r} a second time, first in {ids[one.id]}"
            expected = "expected ids that are unique in all files"
            yield Rejected("duplicate_id", f"{place}: {found}; {expected}", id=one.id)
        else:
            said[same] = ids[one.id] = place
            yield one


def _pair_of(row: dict[str, Any], place: str, name_words: int) -> SourcePair | Rejected:
    """The row's pair, or why it is none."""
    id_ = (known_id(row) or "").strip() or place
    triple = row.get("triple")
    if isinstance(triple, list | tuple) and len(triple) == 3:
        row = {**row, **dict(zip(("head", "relation", "tail"), triple, strict=True))}
    texts = {}
    for field, names in FIELDS.items():
        value = next((row[one] for one in names if row.get(one) is not None), None)
        at = f"{place}, field {field!r}"
        if not isinstance(value, str):
            found = "nothing" if value is None else describe(value)
            other = f" (or as {', '.join(names[1:])})"
            return Rejected("missing", f"{at}{other}: found {found}; expected a text", id=id_)
        if len(value) > _LONGEST[field]:
            detail = f"found {len(value):,} characters; expected {_LONGEST[field]:,} at most"
            return Rejected("enormous", f"{at}: {detail}", id=id_)
        if (problem := fault(value)) is not None:
            return Rejected(problem[0], f"{at}: found {problem[1]}", id=id_)
        texts[field] = " ".join(value.split())
    if id_ == place:  # the same for the same row, wherever it stands
        joined = "\0".join(texts.values())
        id_ = sha256(joined.encode("utf-8", "replace")).hexdigest()[:12]
    head, tail = texts["head"], texts["tail"]
    for name in (head, tail):
        if (words := sum(bool(_WORD.search(word)) for word in name.split())) < name_words:
            counted = f"{words} word{'s' * (words != 1)}; expected {name_words} or more"
            return Rejected("incomplete_name", f"{place}: {shorten(name)!r} has {counted}", id=id_)
    if name_key(head) == name_key(tail):
        return Rejected("same_names", f"{place}: found {shorten(head)!r} twice", id=id_)
    if any(one.citations or one.missing for one in read_triples(texts["paragraph"], ())):
        return Rejected("has_citations", f"{place}: {shorten(texts['paragraph'])}", id=id_)
    return SourcePair(id_, **texts)
