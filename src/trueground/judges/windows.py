"""A text in windows of a model's own tokens, cut on sentence boundaries, nothing left out.

Sentences are packed into a window as long as they fit, and the last one opens the next window too
where it leaves room for more. A sentence beyond the window is cut on white space (inside a word
only where that is longer than the window by itself). RULE names these rules.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import islice, pairwise

from trueground.text.sentences import split_sentences

RULE = "windows-1"

Span = tuple[int, int]
Measure = Callable[[Sequence[str]], list[int]]
_GAP = re.compile(r"\s+")
_WORD = re.compile(r"\S+")


def cut(wanted: Iterable[tuple[str, int]], lengths: Measure) -> dict[tuple[str, int], list[Span]]:
    """Windows for each (text, room): character spans in order, each of at most `room` tokens.

    `lengths` counts the tokens of texts; it is called with many at once. Windows overlap, and
    together they cover the text but for its outer white space; a blank text has none.
    """
    rooms = dict.fromkeys(wanted)
    whole = {text: _bare(text, 0, len(text)) for text, _ in rooms}
    some = [text for text, (start, end) in whole.items() if start < end]
    size = dict(zip(some, lengths([text[slice(*whole[text])] for text in some]), strict=True))
    long = [(text, room) for text, room in rooms if size.get(text, 0) > room]
    found = _cut_long(long, lengths) if long else {}
    return {
        (text, room): found.get((text, room), [whole[text]] if text in size else [])
        for text, room in rooms
    }


def heads(wanted: Iterable[tuple[str, int]], lengths: Measure) -> dict[tuple[str, int], Span]:
    """What is left of each text that is not blank when it is cut off at `room` tokens.

    Whole words only; a first word beyond the room is cut itself.
    """
    rooms = dict.fromkeys(wanted)
    words = {
        (text, room): [word.span() for word in islice(_WORD.finditer(text), room + 1)]
        for text, room in rooms
    }
    sized = _sized(words, lengths)
    packed = {key: _packed(sized[key], key[1]) for key in rooms}
    return {key: spans[0] for key, spans in packed.items() if spans}


def _cut_long(wanted: list[tuple[str, int]], lengths: Measure) -> dict[tuple[str, int], list[Span]]:
    units = {text: _units(text) for text, _ in wanted}
    sized = _sized({(text, room): units[text] for text, room in wanted}, lengths)
    packed = {key: _packed(sized[key], key[1]) for key in wanted}
    # Tokens of a window can be more than the sum of its parts; such a window is cut once more.
    again = _sized(packed, lengths)
    return {key: _in_order([span for span, _ in again[key]]) for key in wanted}


def _in_order(spans: list[Span]) -> list[Span]:
    """The spans from left to right, without those that lie within another one."""
    kept: list[Span] = []
    for start, end in sorted(spans, key=lambda span: (span[0], -span[1])):
        if not kept or end > kept[-1][1]:
            kept.append((start, end))
    return kept


def _units(text: str) -> list[Span]:
    """Sentences, each with what stands between it and the next one."""
    starts = [start for start, _ in split_sentences(text)]
    cuts = [0, *starts[1:], len(text)]
    spans = [_bare(text, a, b) for a, b in pairwise(cuts)]
    return [span for span in spans if span[0] < span[1]]


def _sized(
    spans: dict[tuple[str, int], list[Span]], lengths: Measure
) -> dict[tuple[str, int], list[tuple[Span, int]]]:
    """Each span with its tokens; one with more than the room becomes several in its place."""
    places = {(text, span) for (text, _), found in spans.items() for span in found}
    tokens: dict[tuple[str, Span], int] = {}
    while places:
        new = sorted(places)
        counts = lengths([text[start:end] for text, (start, end) in new])
        tokens.update(zip(new, counts, strict=True))
        places = {
            (text, half)
            for (text, room), found in spans.items()
            for span in _pieces(text, found, room, tokens)
            if (text, span) in tokens and tokens[text, span] > room
            for half in _halves(text, span)
            if half != span and (text, half) not in tokens
        }
    return {
        (text, room): [(s, tokens[text, s]) for s in _pieces(text, found, room, tokens)]
        for (text, room), found in spans.items()
    }


def _pieces(
    text: str, spans: list[Span], room: int, tokens: dict[tuple[str, Span], int]
) -> list[Span]:
    """The spans, those beyond the room in halves (of halves …), as far as they are measured."""
    done: list[Span] = []
    waiting = spans[::-1]
    while waiting:
        span = waiting.pop()
        halves = _halves(text, span) if tokens[text, span] > room else [span]
        if len(halves) == 1 or any((text, half) not in tokens for half in halves):
            done.append(span)
        else:
            waiting += halves[::-1]
    return done


def _halves(text: str, span: Span) -> list[Span]:
    """The span cut at the white space nearest to its middle, or else in the middle."""
    start, end = span
    if end - start < 2:
        return [span]
    middle = (start + end) // 2
    gaps = [m.span() for m in _GAP.finditer(text, start, end)]
    left, right = min(gaps, key=lambda gap: abs(gap[0] - middle), default=(middle, middle))
    return [(start, left), (right, end)]


def _packed(units: list[tuple[Span, int]], room: int) -> list[Span]:
    """Units put together as long as they fit, the last of a window opening the next one."""
    windows: list[Span] = []
    first, total = 0, 0
    for number, (_, tokens) in enumerate(units):
        if number > first and total + tokens > room:
            windows.append((units[first][0][0], units[number - 1][0][1]))
            last = units[number - 1][1]
            first, total = (number - 1, last) if last + tokens <= room else (number, 0)
        total += tokens
    if units:
        windows.append((units[first][0][0], units[-1][0][1]))
    return windows


def _bare(text: str, start: int, end: int) -> Span:
    """The span without outer white space."""
    piece = text[start:end]
    return start + len(piece) - len(piece.lstrip()), start + len(piece.rstrip())
