"""Words of a text that people marked, each with a type: read, counted word by word, and merged.

Positions are code points of the text, the end not included. A word is what stands between white
space, with the signs beside it, so that a full stop more or less in a mark makes no difference; of
scripts without spaces each character is one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby, pairwise
from typing import Any, NamedTuple

import msgspec
import regex

from trueground.records import shorten
from trueground.text import NO_SPACES
from trueground.wings.labeling.base import BadAnswer

_LETTERS = rf"(?:(?![{NO_SPACES}])[\w\p{{M}}])+"
_SIGNS = r"[^\w\p{M}\s]"
_WORDS = regex.compile(
    rf"{_SIGNS}*(?:[{NO_SPACES}]\p{{M}}*|{_LETTERS}(?:['’.,:/&@+-]{_LETTERS})*){_SIGNS}*|{_SIGNS}+"
)
# `type: words`, `type @4-14`, or both.
_TYPED = re.compile(
    r"(?P<type>[^:@]+?)\s*(?:@\s*(?P<start>\d{1,9})\s*-\s*(?P<end>\d{1,9})\s*)?(?::(?P<words>.*))?",
    re.DOTALL,
)
_QUOTES = "\"'“”„«»‘’"
_MOST_PLACES = 5  # that are named where words occur several times


class SpanMark(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A marked piece of a text, with its type and its `text`."""

    start: int
    end: int
    type: str
    text: str = ""

    def __str__(self) -> str:
        return f"{self.type} @{self.start}-{self.end}"


class _Word(NamedTuple):
    start: int
    end: int


def read_marks(
    given: Sequence[Any], types: Sequence[str], text: str, expected: str
) -> tuple[SpanMark, ...]:
    """The marks in their order, as JSON has them or typed as `type: words`. BadAnswer.

    If a mark has positions and a `text`, the two must match.
    """
    found = []
    for one in given:
        if isinstance(one, str):
            mark = _read_typed(one, types, text, expected)
        else:
            try:
                mark = msgspec.convert(one, SpanMark)
            except msgspec.ValidationError:
                raise BadAnswer(one, expected) from None
        found.append(_check(mark, types, text))
    found.sort(key=lambda mark: mark.start)
    for before, after in pairwise(found):
        if after.start < before.end:
            raise BadAnswer(str(after), f"marks that do not overlap; it overlaps with {before}")
    return tuple(found)


def label_words(text: str, types: Sequence[str], marks: Iterable[SpanMark]) -> list[int]:
    """For each word of the text 0, or from 1 on the number of the type that it is marked with."""
    return _label(_find_words(text), types, marks)


def merge_marks(
    text: str, types: Sequence[str], votes: Sequence[Sequence[SpanMark]], tied: Sequence[SpanMark]
) -> tuple[tuple[SpanMark, ...], bool]:
    """The words that more than half of the votes mark, and whether half of them mark any other.

    The type is the one with most votes, else the last one. Words that exactly half of the votes
    mark are as in `tied`. Neighboring words of one type are one mark.
    """
    words = _find_words(text)
    by_vote = [_label(words, types, marks) for marks in votes]
    labels, any_tied = _label(words, types, tied), False
    for at, each in enumerate(zip(*by_vote, strict=True)):
        marked = Counter(label for label in each if label)
        if 2 * marked.total() == len(votes):
            any_tied = True
        elif 2 * marked.total() > len(votes):
            (label, most), *others = marked.most_common()
            labels[at] = len(types) if any(n == most for _, n in others) else label
        else:
            labels[at] = 0
    merged = []
    for label, run in groupby(zip(labels, words, strict=True), key=lambda each: each[0]):
        if label:
            own = [word for _, word in run]
            # No more of the first and last word than anybody marked of it.
            near = [
                mark
                for marks in votes
                for mark in marks
                if mark.start < own[-1].end and mark.end > own[0].start
            ]
            start = max(own[0].start, min(mark.start for mark in near))
            end = min(own[-1].end, max(mark.end for mark in near))
            merged.append(SpanMark(start, end, types[label - 1], text[start:end]))
    return tuple(merged), any_tied


def _find_words(text: str) -> list[_Word]:
    return [_Word(*match.span()) for match in _WORDS.finditer(text)]


def _label(words: Sequence[_Word], types: Sequence[str], marks: Iterable[SpanMark]) -> list[int]:
    labels = [0] * len(words)
    for mark in marks:
        number = types.index(mark.type) + 1
        for at, word in enumerate(words):
            if mark.start < word.end and mark.end > word.start and not labels[at]:
                labels[at] = number
    return labels


def _read_typed(line: str, types: Sequence[str], text: str, expected: str) -> SpanMark:
    """A mark as people type it, which need not count where the words stand. BadAnswer."""
    typed = _TYPED.fullmatch(line.strip())
    of = "" if typed is None else "-".join(typed["type"].casefold().split())
    words = "" if typed is None else (typed["words"] or "").strip()
    if typed is None or of not in types or not (typed["start"] or words):
        raise BadAnswer(line, expected)
    if typed["start"]:
        return SpanMark(int(typed["start"]), int(typed["end"]), of, words)
    places = _find_places(text, words) or _find_places(text, words.strip(_QUOTES))
    if not places:
        raise BadAnswer(line, "words of the text, copied without changes")
    if len(places) > 1:
        named = ", ".join(f"{start}-{end}" for start, end in places[:_MOST_PLACES])
        more = ", …" if len(places) > _MOST_PLACES else ""
        start, end = places[0]
        raise BadAnswer(
            line,
            f"words that occur once; these occur at {named}{more}: add the position, such as "
            f"{of} @{start}-{end}",
        )
    return SpanMark(*places[0], of)


def _find_places(text: str, words: str) -> list[tuple[int, int]]:
    """Where the words stand, white space aside; within other words only where nowhere else."""
    pattern = r"\s+".join(map(re.escape, words.split()))
    if not pattern:
        return []
    whole = [match.span() for match in re.finditer(rf"(?<!\w){pattern}(?!\w)", text)]
    return whole or [match.span() for match in re.finditer(pattern, text)]


def _check(mark: SpanMark, types: Sequence[str], text: str) -> SpanMark:
    """The mark without white space at its ends, with its text. BadAnswer."""
    if mark.type not in types:
        raise BadAnswer(mark.type, f"as type {' or '.join(types)}")
    if not 0 <= mark.start < mark.end <= len(text):
        raise BadAnswer(
            str(mark), f"a start before the end, both from 0 to {len(text)}, the text's length"
        )
    there = text[mark.start : mark.end]
    if mark.text.split() != there.split() and mark.text:
        raise BadAnswer(f"{mark}: {mark.text}", f'the text at this position: "{shorten(there)}"')
    if not (words := there.strip()):
        raise BadAnswer(str(mark), "words; found only white space")
    start = mark.start + len(there) - len(there.lstrip())
    return SpanMark(start, start + len(words), mark.type, words)
