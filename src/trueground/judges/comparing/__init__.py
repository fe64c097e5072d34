"""Comparers: models that set a response beside its references or its contexts.

A judge says whether a text supports a claim; a comparer gives the numbers of one metric (BERTScore,
BEM, Q², a language model's yes or no). Metrics in `metrics/compared.py` name
them; `error-category` serves the study of errors.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from trueground.components import Component, ComponentSpec, Registry
from trueground.errors import ProtocolError, UsageError
from trueground.judges.base import lazy_factory
from trueground.types import Comparison, ComparisonRequest, Status

__all__ = ["Comparer", "asks_a_language_model", "comparers"]


class Comparer(Component[ComparisonRequest, Comparison]):
    """Compares responses with their references or contexts, by a model.

    A subclass has `name`, `signature`, `values` and `compare`. Its `signature` names the model and
    everything that can change a value. Its `values` are the names of the values that a scored
    comparison has.
    """

    kind = "comparer"
    answers = "comparisons"
    answer_type = Comparison
    members: ClassVar[Mapping[str, str]] = {
        "name": "text",
        "signature": "text",
        "values": "tuple",
        "compare": "method",
    }

    if TYPE_CHECKING:

        @property
        def values(self) -> tuple[str, ...]:
            """Names of the values that a scored comparison has."""

    @staticmethod
    def make(written: str, rater: ComponentSpec | None = None, *, cache: bool = True) -> Comparer:
        """Return a new comparer from `NAME:MODEL(option=value)`.

        Those that ask a language model ask the one of `rater`.

        Raises:
            UsageError: A name or option is unknown, or a rater is needed and none is named.
            InputError: A model can't be found.
        """
        spec = ComponentSpec.parse("comparer", written, cache=cache)
        if spec.name in _ON_LANGUAGE_MODELS:
            if rater is None or rater.model is None:
                raise UsageError(
                    f"{spec.name.replace('-', '_')} asks a language model, and none is named; add "
                    '--rater "llm:MODEL(base_url=URL)"'
                )
            options = {**rater.options, **spec.options}
            spec = ComponentSpec("comparer", spec.name, rater.model, options, cache)
        return comparers.make(spec)

    @abstractmethod
    def compare(self, requests: Sequence[ComparisonRequest]) -> list[Comparison]:
        """Return one comparison for each request, in their order."""

    def answer(self, requests: Sequence[ComparisonRequest]) -> list[Comparison]:
        """See `Component.answer`."""
        return self.compare(requests)

    def failed(self, reason: str) -> Comparison:
        """See `Component.failed`."""
        return Comparison(status=Status.ERROR, reason=reason)

    def check(self, requests: Sequence[ComparisonRequest], answers: object) -> Sequence[Comparison]:
        """Return the comparisons if scored ones have the values that the comparer declares."""
        results = super().check(requests, answers)
        for result in results:
            expected = set(self.values) if result.status is Status.SCORED else set()
            if set(result.values) != expected:
                raise ProtocolError(
                    f"{self.label} gave the values {sorted(result.values)} with the status "
                    f"{result.status}; it must give {sorted(expected)}"
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
