"""Checks of made texts that need no model: what a text says, what it kept, its language.

Texts are compared in the form of the normaliser `unicode-1`, articles kept. Punctuation may join
words or part them ("U.S." and "US", "Paris's" and "Paris"), so both readings are tried: a text
says a phrase if it does in either.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from functools import lru_cache
from typing import Any

import regex

from trueground.errors import MissingExtraError
from trueground.text.normalize import get_normalizer

_UNSEEN = regex.compile(r"[\p{Cf}\p{Variation_Selector}]")  # could hide a word from every search
# Points and commas within numbers stay, and so does the minus or point at their beginning.
_PARTING = regex.compile(
    r"(?!(?<=\d)[.,:'’\u066b\u066c]\d)(?!(?<![\w.,])(?:-(?=\.?\d)|\.(?=\d)))\p{P}"
)
_SYMBOL = regex.compile(r"\p{S}")
_MINUS = regex.compile(r"[\p{Pd}\u2212]")
_ARTICLES = ("a", "an", "the")

# What is known of a language: words without capitals and digits, so that names do not count.
_WORD = regex.compile(r"[\p{L}\p{M}]+")
_CAPITAL = regex.compile(r"[\p{Lu}\p{Lt}]")
_NUMBER = regex.compile(r"\p{N}+")
_LATIN = regex.compile(r"\p{Latin}")
_DENSE = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Thai}\p{Lao}\p{Khmer}]")
_DENSE_WORTH = 3  # letters that a character of such a script stands for
_LEAST_SHARE = 0.5  # of all letters and digits
# No false alarm in 13,852 English sentences and claims of published datasets. Of 2,600 English
# passages one: it consists of a quotation in French.
_LEAST_LETTERS, _SURE = 60, 0.99
# A text in quite another script is in another language, whichever that is.
_LEAST_LETTERS_APART, _SURE_APART = 30, 0.5
_KEPT = 0.4  # a text that keeps so many of the words is in the same language
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


def other_language(text: str, original: str) -> str | None:
    """The code (ISO 639-1) of the text's language, if that is surely not the original's.

    None if they are the same, or too short to tell, or mostly names and numbers; only words without
    capitals, in the text's main script, are looked at. MissingExtraError without the extra `build`.
    """
    if not (_WORD.search(text) and _WORD.search(original)):
        return None
    apart = _is_latin(text) is not _is_latin(original)
    words = _telling(text, _LEAST_LETTERS_APART if apart else _LEAST_LETTERS)
    its_words = _telling(original, _LEAST_LETTERS)
    if not words or not (its_words or apart):
        return None
    least = _SURE_APART if apart else _SURE
    found, kin = _language(words, least)
    other_kin = _language(its_words, least)[1] if its_words else ""
    if found in (None, _NO_LANGUAGE) or other_kin in (kin, None):
        return None
    return None if share_kept(original, text) >= _KEPT else found


def _language(words: str, least: float) -> tuple[str | None, str | None]:
    """(code, kin) of the likeliest language; None twice where it and its kin are not sure."""
    ranked = _identifier().rank(words)
    found = ranked[0][0]
    kin = _KIN.get(found, found)
    sure = sum(share for name, share in ranked if _KIN.get(name, name) == kin) >= least
    return (found, kin) if sure else (None, None)


@lru_cache(maxsize=64)
def _readings(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The words of a text: where punctuation parts words, and where it joins them."""
    plain = _UNSEEN.sub("", unicodedata.normalize("NFKC", text))
    apart = _SYMBOL.sub(r" \g<0> ", _MINUS.sub("-", plain))
    rule = get_normalizer("unicode-1", lang="").rule
    return tuple(rule(_PARTING.sub(" ", apart)).split()), tuple(rule(apart).split())


def _without_article(words: tuple[str, ...]) -> tuple[str, ...]:
    return words[1:] if len(words) > 1 and words[0] in _ARTICLES else words


def _is_latin(text: str) -> bool:
    """Is at least half of the letters Latin?"""
    return 2 * len(_LATIN.findall(text)) >= _worth(_WORD.findall(text))


def _telling(text: str, least: int) -> str:
    """The words that show the language, in the text's main script; none where they are too few."""
    latin = _is_latin(text)
    main = [word for word in _WORD.findall(text) if latin is bool(_LATIN.search(word))]
    words = [word for word in main if not _CAPITAL.search(word)]
    enough = max(least, _LEAST_SHARE * _worth(main + _NUMBER.findall(text)))
    return " ".join(words) if _worth(words) >= enough else ""


def _worth(words: list[str]) -> int:
    """Their letters, those of dense scripts counted several times."""
    joined = "".join(words)
    return len(joined) + (_DENSE_WORTH - 1) * len(_DENSE.findall(joined))


@lru_cache(maxsize=1)
def _identifier() -> Any:
    """The language identifier, loaded once. Raises MissingExtraError."""
    try:
        from py3langid.langid import MODEL_FILE, LanguageIdentifier
    except ImportError:
        raise MissingExtraError("telling languages apart", "build") from None
    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
