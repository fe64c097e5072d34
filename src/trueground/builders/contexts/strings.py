"""What can be said of answers and contexts without a model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from trueground.benchmarks.faitheval.source import right_choice
from trueground.benchmarks.faitheval.task import FILTERS, split_documents
from trueground.builders.checks import count, same_answer, says, says_all_words, words
from trueground.text.normalize import FAITHEVAL
from trueground.text.numerals import NUMBER_WORDS
from trueground.types import Choice

# Answers that name nothing: they stand in a text for a hundred other reasons, or not at all.
_VERDICTS = frozenset(["yes", "no", "true", "false", "both", "neither", "none", "all"])
_LARGEST = 12  # of the numbers in words
_NUMBERS = frozenset(
    [
        *(word for word, number in NUMBER_WORDS.items() if number <= _LARGEST),
        *("first", "second", "third", "once", "twice"),
    ]
)
_NOTHING = frozenset(
    [
        "unknown",
        "conflict",
        "unanswerable",
        "n",
        "na",
        "null",
        "none",
        "nothing",
        "no answer",
        "not given",
        "not known",
        "not mentioned",
        "not stated",
        "unclear",
    ]
)
_WITHOUT_SPACES: Mapping[str, Callable[[str, str], bool]] = {
    "phrase": says,
    "words": says_all_words,
}


def is_verdict(answer: str) -> bool:
    """Is it a yes or no, or alike: an answer that no evidence needs to contain?"""
    return _plain(answer) in _VERDICTS


def is_common(answer: str) -> bool:
    """May it stand in a text for other reasons than to answer?

    True of yes, no and alike, of small numbers (one or two digits, or as a word) and of anything
    of two characters or fewer in scripts with spaces between words.
    """
    plain = _plain(answer)
    short = len(plain) <= 2 and plain.isascii()
    return short or plain in _VERDICTS or plain in _NUMBERS


def says_nothing(answer: str) -> bool:
    """Is it no answer at all, but a way to give none?"""
    plain = _plain(answer)
    return not plain or plain in _NOTHING


def alike(answer: str, others: Iterable[str]) -> str | None:
    """The first of the others that is the same answer, holds it, or is held by it."""
    return next((other for other in others if same_answer(answer, other)), None)


def left_over(context: str, original: str, answers: Iterable[str]) -> str | None:
    """The first of the old answers that still stands in the changed context.

    One that may stand there for other reasons (`is_common`) is left over only if it stands there
    as often as before; one that never stood there is not.
    """
    for answer in answers:
        if not is_common(answer):
            if says(context, answer):
                return answer
        elif 0 < count(original, answer) <= count(context, answer):
            return answer
    return None


def holds_option(context: str, choices: tuple[Choice, ...], key: str, rule: str) -> bool:
    """Does the option stand in the context, as the benchmark's filter `phrase` or `words` has it?

    Ming et al. 2024, section 3.2 (all words) and appendix B (the phrase). The filters know words by
    white space; an option in a script without it is looked for by `says` and `says_all_words`.
    """
    option = right_choice(choices, key)
    if words(option) > len(option.split()) and not option.isascii():
        return _WITHOUT_SPACES[rule](context, option)
    return FILTERS[rule](context, option)


def joined(first: str, second: str) -> str:
    """Two documents as one context, as the benchmark heads them."""
    return f"Document:\n{first.strip()}\n\nDocument:\n{second.strip()}"


def can_be_joined(context: str) -> bool:
    """Can it be told apart from a second document: has it no heading of its own?"""
    return len(split_documents(joined(context, "x"))) == 2


def _plain(text: str) -> str:
    return FAITHEVAL.rule(text)
