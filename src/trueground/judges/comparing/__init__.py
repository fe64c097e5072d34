"""Comparers: models that set a response beside its references or its contexts.

A judge says whether a text supports a claim; a comparer gives the numbers of one metric (BERTScore,
BEM, Q², a language model's yes or no). Metrics in `metrics/compared.py` and
`metrics/llm.py` name them; `error-category` serves the study of errors.
"""

from __future__ import annotations

from collections.abc import Callable

from trueground.errors import UsageError
from trueground.judges.comparing.base import Comparer, compare
from trueground.plugins import PartSpec, make, parse_part

__all__ = ["Comparer", "asks_a_language_model", "compare", "comparers", "make_comparer"]


def _bertscore(given: PartSpec | None = None) -> Comparer:
    """Tokens matched with tokens by the states of a language model's layer."""
    from trueground.judges.comparing.bertscore import bertscore

    return bertscore(given)


def _bem(given: PartSpec | None = None) -> Comparer:
    """A classifier of answers: is the response equivalent to a reference, given the question?"""
    from trueground.judges.comparing.bem import bem

    return bem(given)


def _faith_critic(given: PartSpec | None = None) -> Comparer:
    """A classifier of dialogues: does the response say what its contexts do not hold?"""
    from trueground.judges.comparing.critic import faith_critic

    return faith_critic(given)


def _q2(given: PartSpec) -> Comparer:
    """Questions about the response, answered from the response and from the contexts."""
    from trueground.judges.comparing.q2.comparer import Q2

    return Q2(given)


def _llm_correctness(given: PartSpec) -> Comparer:
    """Does the response say all that some reference says? A language model's yes or no."""
    from trueground.judges.comparing.llm_correctness import LLMCorrectness

    return LLMCorrectness(given)


def _llm_faithfulness(given: PartSpec) -> Comparer:
    """Does all of the response stand in the contexts? A language model's yes or no."""
    from trueground.judges.comparing.llm_faithfulness import LLMFaithfulness

    return LLMFaithfulness(given)


def _llm_abstention(given: PartSpec) -> Comparer:
    """Does the response decline to answer? A language model's yes or no."""
    from trueground.judges.comparing.llm_abstention import LLMAbstention

    return LLMAbstention(given)


def _error_category(given: PartSpec) -> Comparer:
    """Why does a correct response share few words with its references? A language model's word."""
    from trueground.judges.comparing.error_category import ErrorCategory

    return ErrorCategory(given)


comparers: dict[str, Callable[..., Comparer]] = {
    "bertscore": _bertscore,
    "bem": _bem,
    "faith-critic": _faith_critic,
    "q2": _q2,
}
# Those that ask the language model that `--rater` names.
_ON_LANGUAGE_MODELS: dict[str, Callable[..., Comparer]] = {
    "llm-correctness": _llm_correctness,
    "llm-faithfulness": _llm_faithfulness,
    "llm-abstention": _llm_abstention,
    "error-category": _error_category,
}
comparers |= _ON_LANGUAGE_MODELS


def asks_a_language_model(written: str) -> bool:
    """Whether the comparer asks the language model that rates."""
    return parse_part("comparer", written).name in _ON_LANGUAGE_MODELS


def make_comparer(written: str, rater: PartSpec | None = None, *, cache: bool = True) -> Comparer:
    """Return a new comparer from `NAME:MODEL(option=value)`.

    Those that ask a language model ask the one of `rater`. UsageError: an unknown name or option,
    no rater where one is needed. InputError for a model that cannot be found.
    """
    given = parse_part("comparer", written, cache=cache)
    if given.name in _ON_LANGUAGE_MODELS:
        if rater is None or rater.model is None:
            raise UsageError(
                f"{given.name.replace('-', '_')} asks a language model, and none is named; add "
                '--rater "llm:MODEL(base_url=URL)"'
            )
        options = {**rater.options, **given.options}
        given = PartSpec("comparer", given.name, rater.model, options, cache)
    return make("comparer", comparers, given)
