"""Windows of texts that fit into the input of a small model, measured in its own tokens."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import islice, pairwise

from trueground.text import split_sentences

RULE = "windows-1"

Span = tuple[int, int]
# A text, and the most tokens that a window of it may have.
TextAndLimit = tuple[str, int]
CountTokens = Callable[[Sequence[str]], list[int]]
_GAP = re.compile(r"\s+")
_WORD = re.compile(r"\S+")


def cut_windows(
    requests: Iterable[TextAndLimit], count_tokens: CountTokens
) -> dict[TextAndLimit, list[Span]]:
    """Cut texts into windows of at most so many tokens, on sentence boundaries if possible.

    Args:
        requests: Texts, each with the most tokens of a window.
        count_tokens: Counts the tokens of many texts at once.

    Returns:
        Character spans of the windows, in order. Windows may overlap. Together they cover the text
        without its outer white space. A blank text has none.
    """
    unique = dict.fromkeys(requests)
    whole = {text: _strip_span(text, 0, len(text)) for text, _ in unique}
    not_blank = [text for text, (start, end) in whole.items() if start < end]
    counts = count_tokens([text[slice(*whole[text])] for text in not_blank])
    sizes = dict(zip(not_blank, counts, strict=True))
    long = [(text, limit) for text, limit in unique if sizes.get(text, 0) > limit]
    windows = _cut_long(long, count_tokens) if long else {}
    for text, limit in unique:
        if (text, limit) not in windows:
            windows[text, limit] = [whole[text]] if text in sizes else []
    return windows


def cut_heads(
    requests: Iterable[TextAndLimit], count_tokens: CountTokens
) -> dict[TextAndLimit, Span]:
    """Cut texts off after so many tokens.

    Only whole words are kept. If the first word is longer than the limit, it is cut itself.

    Args:
        requests: Texts, each with the most tokens to keep.
        count_tokens: Counts the tokens of many texts at once.

    Returns:
        The character span that is kept of each text. Blank texts have none.
    """
    unique = dict.fromkeys(requests)
    words = {
        (text, limit): [word.span() for word in islice(_WORD.finditer(text), limit + 1)]
        for text, limit in unique
    }
    sized = _split_to_fit(words, count_tokens)
    heads: dict[TextAndLimit, Span] = {}
    for text, limit in unique:
        windows = _pack(sized[text, limit], limit)
        if windows:
            heads[text, limit] = windows[0]
    return heads


def _cut_long(
    requests: list[TextAndLimit], count_tokens: CountTokens
) -> dict[TextAndLimit, list[Span]]:
    units = {text: _sentence_units(text) for text, _ in requests}
    sized = _split_to_fit({(text, limit): units[text] for text, limit in requests}, count_tokens)
    packed = {request: _pack(sized[request], request[1]) for request in requests}
    # A window can have more tokens than the sum of its parts. Such a window is cut once more.
    cut_again = _split_to_fit(packed, count_tokens)
    windows: dict[TextAndLimit, list[Span]] = {}
    for request in requests:
        # From left to right, without windows that lie inside another one.
        kept = windows[request] = []
        spans = [span for span, _ in cut_again[request]]
        for start, end in sorted(spans, key=lambda span: (span[0], -span[1])):
            if not kept or end > kept[-1][1]:
                kept.append((start, end))
    return windows


def _sentence_units(text: str) -> list[Span]:
    """Return the sentences, each with the text up to the next one."""
    starts = [start for start, _ in split_sentences(text)]
    cuts = [0, *starts[1:], len(text)]
    spans = [_strip_span(text, start, end) for start, end in pairwise(cuts)]
    return [(start, end) for start, end in spans if start < end]


def _split_to_fit(
    spans: dict[TextAndLimit, list[Span]], count_tokens: CountTokens
) -> dict[TextAndLimit, list[tuple[Span, int]]]:
    """Return each span with its token count. Spans above the limit are halved until they fit."""
    counts: dict[tuple[str, Span], int] = {}
    while True:
        uncounted = _find_uncounted(spans, counts)
        if not uncounted:
            break
        lengths = count_tokens([text[start:end] for text, (start, end) in uncounted])
        counts.update(zip(uncounted, lengths, strict=True))
        spans = {request: _halve_long(request, parts, counts) for request, parts in spans.items()}
    return {
        (text, limit): [(span, counts[text, span]) for span in parts]
        for (text, limit), parts in spans.items()
    }


def _find_uncounted(
    spans: dict[TextAndLimit, list[Span]], counts: dict[tuple[str, Span], int]
) -> list[tuple[str, Span]]:
    uncounted: set[tuple[str, Span]] = set()
    for (text, _), parts in spans.items():
        uncounted.update((text, span) for span in parts if (text, span) not in counts)
    return sorted(uncounted)


def _halve_long(
    request: TextAndLimit, spans: list[Span], counts: dict[tuple[str, Span], int]
) -> list[Span]:
    text, limit = request
    halves: list[Span] = []
    for span in spans:
        halves += _halve(text, span) if counts[text, span] > limit else [span]
    return halves


def _halve(text: str, span: Span) -> list[Span]:
    """Cut a span at the white space nearest to its middle, else in the middle.

    A single character stays as it is.
    """
    start, end = span
    if end - start < 2:
        return [span]
    middle = (start + end) // 2
    gaps = [m.span() for m in _GAP.finditer(text, start, end)]
    left, right = min(gaps, key=lambda gap: abs(gap[0] - middle), default=(middle, middle))
    return [(start, left), (right, end)]


def _pack(units: list[tuple[Span, int]], limit: int) -> list[Span]:
    """Join units to windows that fit. The last unit of a window also opens the next one."""
    windows: list[Span] = []
    first, total = 0, 0
    for number, (_, size) in enumerate(units):
        if number > first and total + size > limit:
            windows.append((units[first][0][0], units[number - 1][0][1]))
            previous_size = units[number - 1][1]
            if previous_size + size <= limit:
                first, total = number - 1, previous_size
            else:
                first, total = number, 0
        total += size
    if units:
        windows.append((units[first][0][0], units[-1][0][1]))
    return windows


def _strip_span(text: str, start: int, end: int) -> Span:
    """Return the span without outer white space."""
    piece = text[start:end]
    return start + len(piece) - len(piece.lstrip()), start + len(piece.rstrip())
