"""Checks of made texts that need no model: what a text says, what it kept, its form, its language.

Texts are compared in the form of the normalizer `unicode-1`, articles kept. Punctuation may join
words or part them ("U.S." and "US", "Paris's" and "Paris"), so both readings are tried: a text
says a phrase if it does in either.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from importlib.util import find_spec
from typing import Any

import regex

from trueground.errors import MissingExtraError
from trueground.stats import total
from trueground.text import Normalizer
from trueground.wings.papers.builders.rows import ODD

FORM_REASONS = {
    "control_characters": "the text holds control characters, or broken letters",
    "echo": "the text repeats marks of the prompt",
}
# Those that turn the direction of writing around, and tags; not those that join letters.
_TURNING = re.compile(r"[\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]")
_MARK = re.compile(r"={3,}\s*(?:BEGIN|END)\b")
_INVISIBLE = regex.compile(r"[\p{Cf}\p{Variation_Selector}]")  # could hide a word from every search
# Points and commas within numbers stay, and so does the minus or point at their beginning.
_PARTING = regex.compile(
    r"(?!(?<=\d)[.,:'’\u066b\u066c]\d)(?!(?<![\w.,])(?:-(?=\.?\d)|\.(?=\d)))\p{P}"
)
_SYMBOL = regex.compile(r"\p{S}")
_MINUS = regex.compile(r"[\p{Pd}\u2212]")
_ARTICLES = ("a", "an", "the")
_GAP = ""  # no word reads so
_LETTER = regex.compile(r"[\p{L}\p{N}]")
# What is known of a language: words without capitals and digits, so that names do not count.
_LETTERS = regex.compile(r"[\p{L}\p{M}]+")
_CAPITAL = regex.compile(r"[\p{Lu}\p{Lt}]")
_LATIN = regex.compile(r"\p{Latin}")
_DENSE = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Thai}\p{Lao}\p{Khmer}]")
_DENSE_WORTH = 3  # letters that a character of such a script stands for
# With these numbers: no false alarm in 40,000 pairs of English texts that have nothing to do with
# each other, questions and single sentences among them; found were 87 of 96 pairs of an English
# text and one sentence in another language, those of five words not.
_LEAST_LETTERS, _SURE, _DOUBT = 18, 0.95, 0.02
_LEAST_LETTERS_APART = 8  # a text in quite another script is in another language, whichever it is
_SHARED = 0.2  # of the letters: words without capitals that the original has too
# Languages that are easily taken for one another count as one.
_KIN = {
    name: kin.split()[0]
    for kin in (
        *("an es ext", "ar ary arz", "bs hr sr", "cs sk", "da nn no", "el grc", "en pcm"),
        *("fr gcf gcr wa", "gl pt", "hbo he", "id ms", "it lij vec", "ku sdh", "uz uzs"),
        "wuu yue zh",
    )
    for name in kin.split()
}
_NO_LANGUAGE = "zxx"
_PURPOSE, _EXTRA = "telling languages apart", "build"


def same_text(a: str, b: str) -> bool:
    """Are both alike but for case, white space and punctuation outside of numbers?"""
    return any(x == y for x, y in zip(_readings(a), _readings(b), strict=True))


def says(text: str, phrase: str) -> bool:
    """Does the phrase stand in the text as whole words, whatever the case and the white space?

    An English article at the phrase's head does not count, where more follows. In scripts without
    spaces every character is a word. A phrase without words stands nowhere.
    """
    readings = zip(_readings(text), map(_without_article, _readings(phrase)), strict=True)
    rows = ((" ".join(whole), " ".join(row)) for whole, row in readings)
    return any(bool(row) and f" {row} " in f" {whole} " for whole, row in rows)


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
    readings = zip(_readings(text), map(_without_article, _readings(phrase)), strict=True)
    return any(bool(row) and set(row) <= set(whole) for whole, row in readings)


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
    plain = _INVISIBLE.sub("", unicodedata.normalize("NFKC", text))
    apart = _SYMBOL.sub(r" \g<0> ", _MINUS.sub("-", plain))
    rule = Normalizer.named("unicode-1", lang="").rule
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


def odd_form(text: str, original: str) -> tuple[str, str] | None:
    """(one of FORM_REASONS, what was found); None where the text holds nothing odd.

    What the original, or the material that was shown, has too is no fault of the text.
    """
    for pattern in (ODD, _TURNING):
        for found in pattern.finditer(text):
            if found[0] not in original:
                place = f"U+{ord(found[0]):04X} at character {found.start() + 1}"
                return "control_characters", f"found {place}"
    mark = _MARK.search(text)
    if mark and not _MARK.search(original):
        return "echo", f"found {mark[0]!r}"
    return None


def check_numbers(field: str, numbers: Iterable[int], count: int) -> str | None:
    """What is wrong with a reply's numbers of things that were shown, from 1, in words."""
    for number in numbers:
        if not 1 <= number <= count:
            return f"{field}: found {number}; expected numbers from 1 to {count}"
    return None


def need_languages(what: str = _PURPOSE) -> None:
    """Raises MissingExtraError where `other_language` could not work; loads nothing.

    `what` needs it, in words: it may say how to go without.
    """
    if find_spec("py3langid") is None:
        raise MissingExtraError(what, _EXTRA)


def other_language(text: str, original: str) -> str | None:
    """The code (ISO 639-1) of the text's language, if that is surely not the original's.

    None if they are the same, or too short to tell; `und` for another script in a language that
    nobody knows. In one script only words without capitals are looked at, so that names do not
    count; texts that share a fifth of these are in the same language. MissingExtraError without the
    extra `build`.
    """
    if not (_LETTERS.search(text) and _LETTERS.search(original)):
        return None
    latin = _is_latin(text)
    words = _in_script(text, latin)
    if latin is not _is_latin(original):
        enough = max(_LEAST_LETTERS_APART, _worth(_LETTERS.findall(text)) // 2)
        likely = _ranked(words)[0][0] if _worth(words) >= enough else None
        return "und" if likely == _NO_LANGUAGE else likely
    small, its_small = _small(words), _small(_in_script(original, latin))
    if min(_worth(small), _worth(its_small)) < _LEAST_LETTERS:
        return None
    known = {word.casefold() for word in _LETTERS.findall(original)}
    if _worth([word for word in small if word in known]) >= _SHARED * _worth(small):
        return None
    found = _ranked(small)[0][0]
    if found == _NO_LANGUAGE or _share(small, found) < _SURE or _share(its_small, found) > _DOUBT:
        return None
    return str(found)


def _ranked(words: Sequence[str]) -> list[tuple[str, float]]:
    """Languages with their probabilities, the likeliest first."""
    return list(_identifier().rank(" ".join(words).lower()))


def _share(words: Sequence[str], language: str) -> float:
    """The probability of the language and its kin."""
    kin = _KIN.get(language, language)
    return total(share for name, share in _ranked(words) if _KIN.get(name, name) == kin)


def _is_latin(text: str) -> bool:
    """Is at least half of the letters Latin?"""
    return 2 * len(_LATIN.findall(text)) >= _worth(_LETTERS.findall(text))


def _in_script(text: str, latin: bool) -> list[str]:
    return [word for word in _LETTERS.findall(text) if latin is bool(_LATIN.search(word))]


def _small(words: Sequence[str]) -> list[str]:
    return [word for word in words if not _CAPITAL.search(word)]


def _worth(words: Sequence[str]) -> int:
    """Their letters, those of dense scripts counted several times."""
    joined = "".join(words)
    return len(joined) + (_DENSE_WORTH - 1) * len(_DENSE.findall(joined))


@lru_cache(maxsize=1)
def _identifier() -> Any:
    """The language identifier, loaded once. Raises MissingExtraError."""
    try:
        from py3langid.langid import MODEL_FILE, LanguageIdentifier
    except ImportError:
        raise MissingExtraError(_PURPOSE, _EXTRA) from None
    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
