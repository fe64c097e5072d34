"""What a text says, how often, and what it kept of another.

Texts are compared in the form of the normaliser `unicode-1`, articles kept. Punctuation may join
words or part them ("U.S." and "US", "Paris's" and "Paris"), so both readings are tried: a text
says a phrase if it does in either.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache

import regex

from trueground.text.normalize import get_normalizer

_UNSEEN = regex.compile(r"[\p{Cf}\p{Variation_Selector}]")  # could hide a word from every search
# Points and commas within numbers stay, and so does the minus or point at their beginning.
_PARTING = regex.compile(
    r"(?!(?<=\d)[.,:'’\u066b\u066c]\d)(?!(?<![\w.,])(?:-(?=\.?\d)|\.(?=\d)))\p{P}"
)
_SYMBOL = regex.compile(r"\p{S}")
_MINUS = regex.compile(r"[\p{Pd}\u2212]")
_ARTICLES = ("a", "an", "the")
_GAP = ""  # no word reads so
_LETTER = regex.compile(r"[\p{L}\p{N}]")


def same_text(a: str, b: str) -> bool:
    """Are both alike but for case, white space and punctuation outside of numbers?"""
    return any(x == y for x, y in zip(_readings(a), _readings(b), strict=True))


def says(text: str, phrase: str) -> bool:
    """Does the phrase stand in the text as whole words, whatever the case and the white space?

    An English article at the phrase's head does not count, where more follows. In scripts without
    spaces every character is a word. A phrase without words stands nowhere.
    """
    for in_text, in_phrase in zip(_readings(text), _readings(phrase), strict=True):
        wanted = _without_article(in_phrase)
        if wanted and f" {' '.join(wanted)} " in f" {' '.join(in_text)} ":
            return True
    return False


def count(text: str, phrase: str) -> int:
    """How often the phrase stands in the text, as `says` reads both; places do not overlap."""
    readings = zip(_readings(text), _readings(phrase), strict=True)
    return max(len(_places(in_text, _without_article(wanted))) for in_text, wanted in readings)


def words_without(text: str, phrases: Iterable[str]) -> Counter[str]:
    """The words of a text that are in none of these phrases, each as often as it stands there.

    Longer phrases are taken out first; words on both sides of one do not meet.
    """
    left: list[str] = list(_readings(text)[0])
    wanted = (_without_article(_readings(phrase)[0]) for phrase in phrases)
    for phrase in sorted(wanted, key=len, reverse=True):
        for at in reversed(_places(left, phrase)):
            left[at : at + len(phrase)] = [_GAP]
    return Counter(word for word in left if word != _GAP)


def quoted(quote: str, text: str) -> bool:
    """Does this quotation stand in the text, word for word?

    Its marks (curly or straight, an ellipsis at its ends), other punctuation, soft hyphens, white
    space and case are no difference; an article is. A quotation without a letter or digit stands
    nowhere.
    """
    if not _LETTER.search(quote):
        return False
    readings = zip(_readings(text), _readings(quote), strict=True)
    return any(_places(in_text, wanted) for in_text, wanted in readings)


def same_answer(a: str, b: str) -> bool:
    """Are both the same answer: alike, or does one of them stand in the other?"""
    return same_text(a, b) or says(a, b) or says(b, a)


def words(text: str) -> int:
    """The number of words; in scripts without spaces every character is one."""
    return len(_readings(text)[0])


def says_all_words(text: str, phrase: str) -> bool:
    """Does every word of the phrase stand in the text, in any order? As `says` otherwise."""
    for in_text, in_phrase in zip(_readings(text), _readings(phrase), strict=True):
        wanted = _without_article(in_phrase)
        if wanted and set(wanted) <= set(in_text):
            return True
    return False


def share_kept(original: str, changed: str) -> float:
    """The share of the original's words, with repeats, that are in the changed text: 0 to 1.

    1.0 for an original without words: nothing of it is lost.
    """
    words, others = _readings(original)[0], _readings(changed)[0]
    if not words:
        return 1.0
    return (Counter(words) & Counter(others)).total() / len(words)


@lru_cache(maxsize=64)
def _readings(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The words of a text: where punctuation parts words, and where it joins them."""
    plain = _UNSEEN.sub("", unicodedata.normalize("NFKC", text))
    apart = _SYMBOL.sub(r" \g<0> ", _MINUS.sub("-", plain))
    rule = get_normalizer("unicode-1", lang="").rule
    return tuple(rule(_PARTING.sub(" ", apart)).split()), tuple(rule(apart).split())


def _without_article(words: tuple[str, ...]) -> tuple[str, ...]:
    return words[1:] if len(words) > 1 and words[0] in _ARTICLES else words


def _places(words: Sequence[str], wanted: Sequence[str]) -> list[int]:
    """Where the wanted words stand in a row."""
    found: list[int] = []
    size, row = len(wanted), list(wanted)
    for at in range(len(words) - size + 1) if size else ():
        stands = words[at] == row[0] and list(words[at : at + size]) == row
        if stands and (not found or at >= found[-1] + size):
            found.append(at)
    return found
