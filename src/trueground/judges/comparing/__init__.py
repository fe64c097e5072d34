"""Comparers: models that set a response beside its references or its contexts.

A judge says whether a text supports a claim; a comparer gives the numbers of one metric (BERTScore,
BEM, Q², a language model's yes or no). Metrics in `metrics/compared.py` name
them; `error-category` serves the study of errors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol, runtime_checkable

from trueground.components.checks import check_answers
from trueground.components.registry import Registry
from trueground.components.specs import ComponentSpec
from trueground.errors import ProtocolError, UsageError
from trueground.judges.base import each_once, lazy_factory
from trueground.types import Comparison, ComparisonRequest, Status

__all__ = ["Comparer", "asks_a_language_model", "compare", "comparers", "make_comparer"]


@runtime_checkable
class Comparer(Protocol):
    """Compares responses with their references or contexts, by a model.

    `signature` names the model and everything that can change a value. `values` are the names of
    the values that a scored comparison has. Nothing heavy is loaded before the first request. A
    comparer that asks a language model also has `prompts` and `spent`, one whose results are kept
    on disk has `problem`, and all have `close()`, as judges do.
    """

    @property
    def name(self) -> str: ...

    @property
    def values(self) -> tuple[str, ...]: ...

    @property
    def signature(self) -> str: ...

    def compare(self, requests: Sequence[ComparisonRequest]) -> list[Comparison]:
        """Return one comparison for each request, in their order."""
        ...

    def close(self) -> None:
        """Give memory and connections back; asking again opens them anew."""
        ...


def compare(
    comparer: Comparer,
    requests: Sequence[ComparisonRequest],
    known: dict[ComparisonRequest, Comparison] | None = None,
) -> list[Comparison]:
    """Ask every different request once; one comparison for each request, in their order.

    Those in `known`, which takes the others, are not asked again. A request on which the comparer
    fails has the status `error`. Raises ProtocolError if the comparer returns no list of
    comparisons, another number of them, or a scored one with other values than it declares.
    """

    def failed(reason: str) -> Comparison:
        return Comparison(status=Status.ERROR, reason=reason)

    who = f"the comparer {comparer.name!r}"
    check = partial(check_answers, who, "comparisons", expected=Comparison)
    results, different = each_once(who, check, comparer.compare, requests, failed, known)
    for _, result in different:
        expected = set(comparer.values) if result.status is Status.SCORED else set()
        if set(result.values) != expected:
            raise ProtocolError(
                f"{who} gave the values {sorted(result.values)} with the status {result.status}; "
                f"it must give {sorted(expected)}"
            )
    return results


# Those that ask the language model that `--rater` names.
_ON_LANGUAGE_MODELS = {
    "llm-correctness": lazy_factory("comparing.llm", "LLMCorrectness"),
    "llm-faithfulness": lazy_factory("comparing.llm", "LLMComparer"),
    "llm-abstention": lazy_factory("comparing.llm", "LLMComparer"),
    "error-category": lazy_factory("comparing.llm", "ErrorCategory"),
}
_COMPARERS: dict[str, Callable[..., Comparer]] = {
    "bertscore": lazy_factory("comparing.bertscore", "bertscore"),
    "bem": lazy_factory("comparing.small", "bem"),
    "faith-critic": lazy_factory("comparing.small", "faith_critic"),
    "q2": lazy_factory("comparing.q2", "Q2"),
    **_ON_LANGUAGE_MODELS,
}
comparers = Registry("comparer", _COMPARERS)


def asks_a_language_model(written: str) -> bool:
    """Whether the comparer asks the language model that rates."""
    return ComponentSpec.parse("comparer", written).name in _ON_LANGUAGE_MODELS


def make_comparer(
    written: str, rater: ComponentSpec | None = None, *, cache: bool = True
) -> Comparer:
    """Return a new comparer from `NAME:MODEL(option=value)`.

    Those that ask a language model ask the one of `rater`. UsageError: an unknown name or option,
    no rater where one is needed. InputError for a model that cannot be found.
    """
    given = ComponentSpec.parse("comparer", written, cache=cache)
    if given.name in _ON_LANGUAGE_MODELS:
        if rater is None or rater.model is None:
            raise UsageError(
                f"{given.name.replace('-', '_')} asks a language model, and none is named; add "
                '--rater "llm:MODEL(base_url=URL)"'
            )
        options = {**rater.options, **given.options}
        given = ComponentSpec("comparer", given.name, rater.model, options, cache)
    return comparers.make(given)
