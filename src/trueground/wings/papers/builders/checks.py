"""Checks of generated texts without a model: phrases, kept words, form, language.

Texts are compared in the form of the normalizer `unicode-1`, with articles. Punctuation may join or
separate words ("U.S." and "US", "Paris's" and "Paris"). Therefore both readings are tried, and a
text contains a phrase if it does in either.
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
from trueground.wings.papers.builders.rows import CONTROL_CHARACTER

FORM_REASONS = {
    "control_characters": "the text holds control characters, or broken letters",
    "echo": "the text repeats marks of the prompt",
}
# Characters that change the direction of writing, and tags; not those that join letters.
_DIRECTION_CHARACTER = re.compile(r"[\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]")
_MARK = re.compile(r"={3,}\s*(?:BEGIN|END)\b")
_INVISIBLE = regex.compile(r"[\p{Cf}\p{Variation_Selector}]")  # could hide a word from every search
# Points and commas inside numbers stay, and so does a minus or point at their beginning.
_SEPARATOR = regex.compile(
    r"(?!(?<=\d)[.,:'’\u066b\u066c]\d)(?!(?<![\w.,])(?:-(?=\.?\d)|\.(?=\d)))\p{P}"
)
_SYMBOL = regex.compile(r"\p{S}")
_MINUS = regex.compile(r"[\p{Pd}\u2212]")
_ARTICLES = ("a", "an", "the")
_GAP = ""  # in place of a removed word; no word is empty
_LETTER = regex.compile(r"[\p{L}\p{N}]")
# A language is identified by words without capitals and digits, so that names do not count.
_LETTERS = regex.compile(r"[\p{L}\p{M}]+")
_CAPITAL = regex.compile(r"[\p{Lu}\p{Lt}]")
_LATIN = regex.compile(r"\p{Latin}")
_DENSE = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Thai}\p{Lao}\p{Khmer}]")
_LETTERS_PER_DENSE_CHARACTER = 3
# These thresholds gave no false alarm in 40,000 pairs of unrelated English texts, including
# questions and single sentences. They detected 87 of 96 pairs of an English text and one sentence
# in another language. The missed sentences had five words.
_MIN_LETTERS, _MIN_PROBABILITY, _MAX_ORIGINAL_PROBABILITY = 18, 0.95, 0.02
# A text in a different script is in another language, so fewer letters are enough.
_MIN_LETTERS_OTHER_SCRIPT = 8
# Above this share of letters in words that the original has too, the language is the same.
_MAX_SHARED_LETTERS = 0.2
# Languages that are easily confused count as one: the first of each group.
_SIMILAR_LANGUAGES = (
    "an es ext",
    "ar ary arz",
    "bs hr sr",
    "cs sk",
    "da nn no",
    "el grc",
    "en pcm",
    "fr gcf gcr wa",
    "gl pt",
    "hbo he",
    "id ms",
    "it lij vec",
    "ku sdh",
    "uz uzs",
    "wuu yue zh",
)
_NO_LANGUAGE = "zxx"
_PURPOSE, _EXTRA = "telling languages apart", "build"


@lru_cache(maxsize=1)
def _language_groups() -> dict[str, str]:
    """Return the group of each similar language."""
    groups: dict[str, str] = {}
    for line in _SIMILAR_LANGUAGES:
        languages = line.split()
        groups |= dict.fromkeys(languages, languages[0])
    return groups


def same_text(a: str, b: str) -> bool:
    """Return whether both differ only in case, white space and punctuation outside numbers."""
    return any(x == y for x, y in zip(_readings(a), _readings(b), strict=True))


def contains_phrase(text: str, phrase: str) -> bool:
    """Return whether a text contains a phrase as whole words, ignoring case and white space.

    An English article at the beginning of the phrase is ignored if more words follow. In scripts
    without spaces, every character is a word. No text contains a phrase without words.
    """
    phrases = map(_without_article, _readings(phrase))
    for text_tokens, phrase_tokens in zip(_readings(text), phrases, strict=True):
        if phrase_tokens and f" {' '.join(phrase_tokens)} " in f" {' '.join(text_tokens)} ":
            return True
    return False


def count_phrase(text: str, phrase: str) -> int:
    """Return how often a phrase occurs in a text, without overlaps; see `contains_phrase`."""
    phrases = map(_without_article, _readings(phrase))
    readings = zip(_readings(text), phrases, strict=True)
    return max(
        len(_find_phrase(text_tokens, phrase_tokens)) for text_tokens, phrase_tokens in readings
    )


def count_other_words(text: str, phrases: Iterable[str]) -> Counter[str]:
    """Return the words of a text that are in none of the phrases, with their counts.

    Longer phrases are removed first. Words before and after a removed phrase don't form a new one.
    """
    left: list[str] = list(_readings(text)[0])
    all_phrase_tokens = (_without_article(_readings(phrase)[0]) for phrase in phrases)
    for phrase_tokens in sorted(all_phrase_tokens, key=len, reverse=True):
        for start in reversed(_find_phrase(left, phrase_tokens)):
            left[start : start + len(phrase_tokens)] = [_GAP]
    return Counter(word for word in left if word != _GAP)


def contains_quote(quote: str, text: str) -> bool:
    """Return whether a text contains a quotation word for word.

    Quotation marks, an ellipsis at the ends, other punctuation, soft hyphens, white space and case
    are ignored. Articles are not. No text contains a quotation without a letter or digit.
    """
    if not _LETTER.search(quote):
        return False
    readings = zip(_readings(text), _readings(quote), strict=True)
    return any(_find_phrase(text_tokens, quote_tokens) for text_tokens, quote_tokens in readings)


def same_answer(a: str, b: str) -> bool:
    """Return whether both answers are the same text, or one contains the other."""
    return same_text(a, b) or contains_phrase(a, b) or contains_phrase(b, a)


def count_words(text: str) -> int:
    """Return the number of words. In scripts without spaces, every character is a word."""
    return len(_readings(text)[0])


def contains_all_words(text: str, phrase: str) -> bool:
    """Return whether a text contains every word of a phrase, in any order."""
    phrases = map(_without_article, _readings(phrase))
    for text_tokens, phrase_tokens in zip(_readings(text), phrases, strict=True):
        if phrase_tokens and set(phrase_tokens) <= set(text_tokens):
            return True
    return False


def share_kept(original: str, changed: str) -> float:
    """Return the share (0 to 1) of the original's words that the changed text has too.

    Repeated words count each time. If the original has no words, the share is 1.0.
    """
    original_words, changed_words = _readings(original)[0], _readings(changed)[0]
    if not original_words:
        return 1.0
    return (Counter(original_words) & Counter(changed_words)).total() / len(original_words)


@lru_cache(maxsize=64)
def _readings(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the words of a text twice: punctuation separates words, and it joins them."""
    plain = _INVISIBLE.sub("", unicodedata.normalize("NFKC", text))
    spaced = _SYMBOL.sub(r" \g<0> ", _MINUS.sub("-", plain))
    rule = Normalizer.named("unicode-1", lang="").rule
    return tuple(rule(_SEPARATOR.sub(" ", spaced)).split()), tuple(rule(spaced).split())


def _without_article(tokens: tuple[str, ...]) -> tuple[str, ...]:
    return tokens[1:] if len(tokens) > 1 and tokens[0] in _ARTICLES else tokens


def _find_phrase(tokens: Sequence[str], phrase: Sequence[str]) -> list[int]:
    """Return the starts of a phrase's occurrences, without overlaps."""
    starts: list[int] = []
    if not phrase:
        return starts
    size, expected = len(phrase), list(phrase)
    for start in range(len(tokens) - size + 1):
        is_match = tokens[start] == expected[0] and list(tokens[start : start + size]) == expected
        if is_match and (not starts or start >= starts[-1] + size):
            starts.append(start)
    return starts


def find_form_error(text: str, original: str) -> tuple[str, str] | None:
    """Return one of FORM_REASONS with what was found; None if the form is right.

    Characters and marks that the original text has too are allowed.
    """
    for pattern in (CONTROL_CHARACTER, _DIRECTION_CHARACTER):
        for match in pattern.finditer(text):
            if match[0] not in original:
                code = f"U+{ord(match[0]):04X}"
                return "control_characters", f"found {code} at character {match.start() + 1}"
    mark = _MARK.search(text)
    if mark and not _MARK.search(original):
        return "echo", f"found {mark[0]!r}"
    return None


def check_numbers(field: str, numbers: Iterable[int], count: int) -> str | None:
    """Return what is wrong with numbers in a reply that should be from 1 to `count`, or None."""
    for number in numbers:
        if not 1 <= number <= count:
            return f"{field}: found {number}; expected numbers from 1 to {count}"
    return None


def require_languages(purpose: str = _PURPOSE) -> None:
    """Raise MissingExtraError if `other_language` can't work, without loading anything.

    Args:
        purpose: What needs the extra; it may say how to do without.
    """
    if find_spec("py3langid") is None:
        raise MissingExtraError(purpose, _EXTRA)


def other_language(text: str, original: str) -> str | None:
    """Return the language code of a text if it is certainly not the original's language.

    The same script: only words without capitals are compared, so that names do not count. If the
    texts share a fifth of these words, they are in the same language.

    Returns:
        The ISO 639-1 code, or `und` if the script differs and the language is unknown. None if
        the languages are the same, or the texts are too short to tell.

    Raises:
        MissingExtraError: The extra `build` isn't installed.
    """
    if not (_LETTERS.search(text) and _LETTERS.search(original)):
        return None
    is_latin = _is_latin(text)
    tokens = _words_in_script(text, is_latin)
    if is_latin is not _is_latin(original):
        min_letters = max(_MIN_LETTERS_OTHER_SCRIPT, _count_letters(_LETTERS.findall(text)) // 2)
        if _count_letters(tokens) < min_letters:
            return None
        language = _rank_languages(tokens)[0][0]
        return "und" if language == _NO_LANGUAGE else language
    text_words = _without_capitals(tokens)
    original_words = _without_capitals(_words_in_script(original, is_latin))
    n_letters = _count_letters(text_words)
    if min(n_letters, _count_letters(original_words)) < _MIN_LETTERS:
        return None
    vocabulary = {word.casefold() for word in _LETTERS.findall(original)}
    shared = [word for word in text_words if word in vocabulary]
    if _count_letters(shared) >= _MAX_SHARED_LETTERS * n_letters:
        return None
    language = _rank_languages(text_words)[0][0]
    if (
        language == _NO_LANGUAGE
        or _language_probability(text_words, language) < _MIN_PROBABILITY
        or _language_probability(original_words, language) > _MAX_ORIGINAL_PROBABILITY
    ):
        return None
    return str(language)


def _rank_languages(tokens: Sequence[str]) -> list[tuple[str, float]]:
    """Return the languages with their probabilities, the most likely one first."""
    return list(_identifier().rank(" ".join(tokens).lower()))


def _language_probability(tokens: Sequence[str], language: str) -> float:
    """Return the probability of a language and the similar ones together."""
    groups = _language_groups()
    group = groups.get(language, language)
    ranks = _rank_languages(tokens)
    return total(share for name, share in ranks if groups.get(name, name) == group)


def _is_latin(text: str) -> bool:
    """Return whether at least half of the letters are Latin."""
    return 2 * len(_LATIN.findall(text)) >= _count_letters(_LETTERS.findall(text))


def _words_in_script(text: str, is_latin: bool) -> list[str]:
    return [word for word in _LETTERS.findall(text) if is_latin is bool(_LATIN.search(word))]


def _without_capitals(tokens: Sequence[str]) -> list[str]:
    return [word for word in tokens if not _CAPITAL.search(word)]


def _count_letters(tokens: Sequence[str]) -> int:
    """Return the number of letters; a character of a dense script counts as several."""
    joined = "".join(tokens)
    n_dense = len(_DENSE.findall(joined))
    return len(joined) + (_LETTERS_PER_DENSE_CHARACTER - 1) * n_dense


@lru_cache(maxsize=1)
def _identifier() -> Any:
    """Return the language identifier, loaded once. Raises MissingExtraError."""
    try:
        from py3langid.langid import MODEL_FILE, LanguageIdentifier
    except ImportError:
        raise MissingExtraError(_PURPOSE, _EXTRA) from None
    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
