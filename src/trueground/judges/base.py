"""What a judge is, and which models judges over small models use."""

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


# The model of each kind of judge over a small model where none is named.
MODELS = {
    "bi-encoder": "sentence-transformers/all-MiniLM-L6-v2",
    "cross-encoder": "cross-encoder/ms-marco-MiniLM-L-12-v2",
    "nli": "google/t5_xxl_true_nli_mixture",
    "minicheck": "lytang/MiniCheck-Flan-T5-Large",
    "token-classifier": "KRLabsOrg/lettucedect-base-modernbert-en-v1",
    "hhem": "vectara/hallucination_evaluation_model",
    "stack": "sentence-transformers/all-MiniLM-L6-v2",
}
# Models that load here and may not be used commercially, by their model cards.
_NON_COMMERCIAL = {"google/t5_11b_trueteacher_and_anli": "cc-by-nc-4.0"}
_LICENSE = re.compile(r"^license:\s*(\S*\bnc\b\S*)", re.MULTILINE)


class SupportsJudge(Protocol):
    """The least that an object needs to be used as a judge.

    See `Judge` for what each member means, and for what a judge may have besides.
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
        """Everything that fixes its verdicts."""
        ...

    def judge(self, requests: Sequence[JudgeRequest]) -> list[Verdict]:
        """Return one verdict for each request, in their order."""
        ...


class Judge(Component[JudgeRequest, Verdict]):
    """Decides whether any of the given texts supports a claim.

    A subclass has `name`, `threshold`, `signature` and `judge`. Its `threshold` is the value above
    which (strictly) its own score means "supported". Its `signature` names the judge and the
    version of its rules or weights, with every option that can change a verdict.

    Attributes:
        scores: Whether verdicts may have a score or a probability.
        basis: The part of the signature that scores depend on: all but threshold and calibration.
        fitted: How well the judge does on the labels that it was fitted to.
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
            """How well it does on labels. None if it was fitted to none."""

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
        """Return the verdicts if they are valid, and none contradicts itself."""
        verdicts = super().check(requests, answers)
        for request, verdict in zip(requests, verdicts, strict=True):
            _check_verdict(self.label, request, verdict)
        return verdicts


def _check_verdict(who: str, request: JudgeRequest, verdict: Verdict) -> None:
    """ProtocolError for a verdict whose fields do not go together."""
    if verdict.text is not None and not 0 <= verdict.text < len(request.texts):
        raise ProtocolError(f"{who} names text {verdict.text} of {len(request.texts)}")
    if (verdict.supported is None) is (verdict.status is Status.SCORED):
        raise ProtocolError(
            f"{who} returned supported={verdict.supported} with the status {verdict.status}; "
            "expected True or False with the status scored, and None with any other"
        )
    if verdict.probability is not None and not 0 <= verdict.probability <= 1:
        raise ProtocolError(
            f"{who} returned the probability {verdict.probability}; expected 0 to 1, or None"
        )


def lazy_factory(module: str, function: str, doc: str = "") -> Callable[..., Any]:
    """The factory of that name in a module of this room, imported when a part is made.

    `doc` is its line in `trueground list`.
    """

    def factory(given: ComponentSpec) -> Any:
        return getattr(import_module(f"trueground.judges.{module}"), function)(given)

    factory.__doc__ = doc
    return factory


@cache
def warn_of_license(model: str) -> None:
    """Say on standard error, once, that a model may not be used commercially.

    Known by its name, or by the model card in its folder.
    """
    terms = _NON_COMMERCIAL.get(model)
    card = Path(model).expanduser() / "README.md"
    if terms is None and card.is_file():
        found = _LICENSE.search(card.read_text("utf-8", "replace")[:4096])
        terms = found and found[1]
    if terms:
        import logging

        logging.getLogger(__name__).warning(
            "note: the license of %s is %s: no commercial use", model, terms
        )
