"""The language of a text, where it is surely another one than the original's."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from importlib.util import find_spec
from typing import Any

import regex

from trueground.errors import MissingExtraError

# What is known of a language: words without capitals and digits, so that names do not count.
_WORD = regex.compile(r"[\p{L}\p{M}]+")
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
    if not (_WORD.search(text) and _WORD.search(original)):
        return None
    latin = _is_latin(text)
    words = _in_script(text, latin)
    if latin is not _is_latin(original):
        enough = max(_LEAST_LETTERS_APART, _worth(_WORD.findall(text)) // 2)
        likely = _ranked(words)[0][0] if _worth(words) >= enough else None
        return "und" if likely == _NO_LANGUAGE else likely
    small, its_small = _small(words), _small(_in_script(original, latin))
    if min(_worth(small), _worth(its_small)) < _LEAST_LETTERS:
        return None
    known = {word.casefold() for word in _WORD.findall(original)}
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
    return sum(share for name, share in _ranked(words) if _KIN.get(name, name) == kin)


def _is_latin(text: str) -> bool:
    """Is at least half of the letters Latin?"""
    return 2 * len(_LATIN.findall(text)) >= _worth(_WORD.findall(text))


def _in_script(text: str, latin: bool) -> list[str]:
    return [word for word in _WORD.findall(text) if latin is bool(_LATIN.search(word))]


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
