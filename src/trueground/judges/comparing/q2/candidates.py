"""What a response says that can be asked for: names, values, noun phrases.

The original takes them from a parser's named entities and noun chunks; here they come from the
word rules of `claims`, which need no model.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trueground.claims.verbs import is_finite
from trueground.claims.view import View, Word, among, is_adverb
from trueground.text.sentences import sentences

# Small words that stand inside a name: "Bank of England", "Vasco da Gama".
_INSIDE = frozenset(
    ("of", "the", "de", "da", "di", "la", "le", "du", "von", "van", "der", "and", "for")
)
_PERSONAL = frozenset(("i", "you", "me", "my", "your", "mine", "yours"))


def candidates(response: str) -> list[str]:
    """Names and values first, then noun phrases, each once (case makes no difference)."""
    named: list[str] = []
    nouns: list[str] = []
    for start, end in sentences(response):
        view = View(response[start:end])
        spans = list(_names(view.words))
        inside = {at for first, last in spans for at in range(first, last)}
        named += _found(view, spans)
        nouns += _found(view, [span for span in _phrases(view.words) if _adds(view, span, inside)])
    unique: dict[str, str] = {}
    for text in (*named, *nouns):
        unique.setdefault(text.lower(), text)
    return [text for key, text in unique.items() if key not in _PERSONAL]


def is_personal(question: str) -> bool:
    """Whether a question is about the speaker or the listener: "What is your name?"."""
    return any(word.lower in _PERSONAL for word in View(question).words)


def _adds(view: View, span: tuple[int, int], inside: set[int]) -> bool:
    """Whether a phrase has more than a determiner beside the words that are candidates already."""
    words = (at for at in range(*span) if not among(view.words[at].lower, "determiner"))
    return not inside.issuperset(words)


def _found(view: View, spans: Sequence[tuple[int, int]]) -> list[str]:
    return [view.of(first, last).strip() for first, last in spans]


def _names(words: Sequence[Word]) -> Iterator[tuple[int, int]]:
    """Runs of names and values; a capital at the beginning of a sentence says nothing by itself."""
    at = 0
    while at < len(words):
        if not _is_named(words, at):
            at += 1
            continue
        last = at + 1
        while last < len(words) and not words[last].gap:
            inside = words[last].lower in _INSIDE
            after = last + 1 < len(words) and not words[last + 1].gap
            if _is_named(words, last):
                last += 1
            elif inside and after and words[last + 1].name and words[at].name:
                last += 2
            else:
                break
        yield at, last
        at = last


def _is_named(words: Sequence[Word], at: int) -> bool:
    word = words[at]
    if not word.name or word.value:
        return word.value
    opens = at == 0 and (is_finite(word.lower) or is_adverb(word.lower))
    return not (opens or _is_small(word.lower))


def _phrases(words: Sequence[Word]) -> Iterator[tuple[int, int]]:
    """Runs of words that are neither small words, verbs nor adverbs, with their determiner."""
    at = 0
    while at < len(words):
        last = at
        while last < len(words) and _is_nominal(words[last]):
            if last > at and words[last].gap:
                break
            last += 1
        if last == at:
            at += 1
            continue
        first = at
        if at and not words[at].gap and among(words[at - 1].lower, "determiner"):
            first = at - 1
        yield first, last
        at = last


def _is_nominal(word: Word) -> bool:
    if word.name or word.value:
        return not _is_small(word.lower)
    return not (_is_small(word.lower) or word.verb or word.doubt or is_adverb(word.lower))


def _is_small(word: str) -> bool:
    lists = ("determiner", "preposition", "pronoun", "stop", "auxiliary", "object", "joint")
    return any(among(word, kind) for kind in lists)
