"""What a small model reads of a text: windows of its own tokens."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import islice, pairwise

from trueground.text import split_sentences

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
    windows = _cut_long(long, lengths) if long else {}
    return {
        (text, room): windows.get((text, room), [whole[text]] if text in size else [])
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
    sized = _measure(words, lengths)
    packed = {key: _pack(sized[key], key[1]) for key in rooms}
    return {key: spans[0] for key, spans in packed.items() if spans}


def _cut_long(wanted: list[tuple[str, int]], lengths: Measure) -> dict[tuple[str, int], list[Span]]:
    units = {text: _units(text) for text, _ in wanted}
    sized = _measure({(text, room): units[text] for text, room in wanted}, lengths)
    packed = {key: _pack(sized[key], key[1]) for key in wanted}
    # Tokens of a window can be more than the sum of its parts; such a window is cut once more.
    cut_again = _measure(packed, lengths)
    windows: dict[tuple[str, int], list[Span]] = {}
    for key in wanted:
        # From left to right, without those that lie within another one.
        own = windows[key] = []
        for start, end in sorted((s for s, _ in cut_again[key]), key=lambda s: (s[0], -s[1])):
            if not own or end > own[-1][1]:
                own.append((start, end))
    return windows


def _units(text: str) -> list[Span]:
    """Sentences, each with what stands between it and the next one."""
    starts = [start for start, _ in split_sentences(text)]
    cuts = [0, *starts[1:], len(text)]
    spans = [_bare(text, a, b) for a, b in pairwise(cuts)]
    return [span for span in spans if span[0] < span[1]]


def _measure(
    spans: dict[tuple[str, int], list[Span]], lengths: Measure
) -> dict[tuple[str, int], list[tuple[Span, int]]]:
    """Each span with its tokens; one with more than the room becomes several in its place."""
    tokens: dict[tuple[str, Span], int] = {}
    while new := {(text, s) for (text, _), own in spans.items() for s in own} - tokens.keys():
        places = sorted(new)
        counts = lengths([text[start:end] for text, (start, end) in places])
        tokens.update(zip(places, counts, strict=True))
        spans = {
            (text, room): [
                part
                for span in own
                for part in (_halves(text, span) if tokens[text, span] > room else [span])
            ]
            for (text, room), own in spans.items()
        }
    return {
        (text, room): [(span, tokens[text, span]) for span in own]
        for (text, room), own in spans.items()
    }


def _halves(text: str, span: Span) -> list[Span]:
    """The span cut at the white space nearest to its middle, or else in the middle.

    A single character stays as it is.
    """
    start, end = span
    if end - start < 2:
        return [span]
    middle = (start + end) // 2
    gaps = [m.span() for m in _GAP.finditer(text, start, end)]
    left, right = min(gaps, key=lambda gap: abs(gap[0] - middle), default=(middle, middle))
    return [(start, left), (right, end)]


def _pack(units: list[tuple[Span, int]], room: int) -> list[Span]:
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
