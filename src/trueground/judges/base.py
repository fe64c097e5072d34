"""The base class of judges, and the default models of judges with a small model."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from trueground.components import Component, ComponentSpec
from trueground.errors import ProtocolError
from trueground.types import JudgeRequest, Status, Verdict

if TYPE_CHECKING:
    from trueground.judges.people import FitFigures


# The default model of each kind of judge with a small model.
MODELS = {
    "bi-encoder": "sentence-transformers/all-MiniLM-L6-v2",
    "cross-encoder": "cross-encoder/ms-marco-MiniLM-L-12-v2",
    "nli": "google/t5_xxl_true_nli_mixture",
    "minicheck": "lytang/MiniCheck-Flan-T5-Large",
    "token-classifier": "KRLabsOrg/lettucedect-base-modernbert-en-v1",
    "hhem": "vectara/hallucination_evaluation_model",
    "stack": "sentence-transformers/all-MiniLM-L6-v2",
}
# Supported models whose license excludes commercial use, according to their model cards.
_NON_COMMERCIAL = {"google/t5_11b_trueteacher_and_anli": "cc-by-nc-4.0"}
_LICENSE = re.compile(r"^license:\s*(\S*\bnc\b\S*)", re.MULTILINE)


class SupportsJudge(Protocol):
    """The members that an object needs to be used as a judge.

    See `Judge` for the meaning of each member, and for the optional ones.
    """

    @property
    def name(self) -> str:
        """The name under which it is registered."""
        ...

    @property
    def threshold(self) -> float:
        """Scores above it mean "supported"."""
        ...

    @property
    def signature(self) -> str:
        """Everything that its verdicts depend on."""
        ...

    def judge(self, requests: Sequence[JudgeRequest]) -> list[Verdict]:
        """Return one verdict for each request, in their order."""
        ...


class Judge(Component[JudgeRequest, Verdict]):
    """Base class of judges, which decide whether any of several texts supports a claim.

    A subclass has `name`, `threshold`, `signature` and `judge`. A score above `threshold` means
    "supported". The `signature` names the judge, the version of its rules or weights, and every
    option that can change a verdict.

    Attributes:
        scores: Whether verdicts may have a score or a probability.
        basis: The part of the signature that scores depend on: all but threshold and calibration.
        fitted: How well the judge does on the labels that it was fitted to.

    Example:
        >>> class VerbatimJudge(Judge):
        ...     name, signature, threshold = "verbatim", "verbatim-1", 0.5
        ...
        ...     def judge(self, requests):
        ...         return [Verdict(any(r.claim in t for t in r.texts)) for r in requests]
    """

    kind = "judge"
    answers = "verdicts"
    answer_type = Verdict
    members: ClassVar[Mapping[str, str]] = {
        "name": "text",
        "signature": "text",
        "threshold": "number",
        "judge": "method",
    }
    abilities = (*Component.abilities, "scores", "basis")
    scores: bool = True

    if TYPE_CHECKING:

        @property
        def threshold(self) -> float:
            """Scores above it mean "supported"."""

        @property
        def fitted(self) -> FitFigures | None:
            """How well it does on labels. None if it wasn't fitted to labels."""

    else:
        fitted = None

    @property
    def basis(self) -> str:
        """The part of the signature that scores depend on."""
        return self.signature

    @abstractmethod
    def judge(self, requests: Sequence[JudgeRequest]) -> list[Verdict]:
        """Return one verdict for each request, in their order."""

    def answer(self, requests: Sequence[JudgeRequest]) -> list[Verdict]:
        """See `Component.answer`."""
        return self.judge(requests)

    def failed(self, reason: str) -> Verdict:
        """See `Component.failed`."""
        return Verdict(status=Status.ERROR, reasons=(reason,))

    def check(self, requests: Sequence[JudgeRequest], answers: object) -> Sequence[Verdict]:
        """Return the verdicts if each is valid and consistent with itself."""
        verdicts = super().check(requests, answers)
        for request, verdict in zip(requests, verdicts, strict=True):
            _check_verdict(self.label, request, verdict)
        return verdicts


def _check_verdict(judge: str, request: JudgeRequest, verdict: Verdict) -> None:
    """Raise ProtocolError if the fields of a verdict contradict each other."""
    if verdict.text is not None and not 0 <= verdict.text < len(request.texts):
        n = len(request.texts)
        raise ProtocolError(
            f"{judge} returned text={verdict.text} for a request with {n} "
            f"{'text' if n == 1 else 'texts'}; expected an index from 0, less than {n}, or None"
        )
    if (verdict.supported is None) is (verdict.status is Status.SCORED):
        raise ProtocolError(
            f"{judge} returned supported={verdict.supported} with the status {verdict.status}; "
            "expected True or False with the status scored, and None with any other"
        )
    if verdict.probability is not None and not 0 <= verdict.probability <= 1:
        raise ProtocolError(
            f"{judge} returned the probability {verdict.probability}; expected 0 to 1, or None"
        )


def lazy_factory(module: str, function: str, doc: str = "") -> Callable[..., Any]:
    """Return a factory that imports a module of this package when it is first called.

    Args:
        module: Name of the module in `trueground.judges`.
        function: Name of the factory in the module.
        doc: Its line in `trueground list`.
    """

    def factory(spec: ComponentSpec) -> Any:
        return getattr(import_module(f"trueground.judges.{module}"), function)(spec)

    factory.__doc__ = doc
    return factory


@cache
def warn_of_license(model: str) -> None:
    """Log a warning, once per model, if its license excludes commercial use.

    The license is known for some models, else it is read from the model card in their folder.
    """
    terms = _NON_COMMERCIAL.get(model)
    card = Path(model).expanduser() / "README.md"
    if terms is None and card.is_file():
        match = _LICENSE.search(card.read_text("utf-8", "replace")[:4096])
        terms = match[1] if match else None
    if terms:
        import logging

        logging.getLogger(__name__).warning(
            "note: the license of %s is %s: no commercial use", model, terms
        )
