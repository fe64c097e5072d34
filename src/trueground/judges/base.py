"""What a judge is, and how requests reach a part: equal ones once, failures one by one."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Sequence
from contextlib import nullcontext
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, TypeVar, runtime_checkable

from trueground.errors import ProtocolError, fails_alone
from trueground.net.redact import raised
from trueground.plugins import PartSpec
from trueground.protocols import check_answers
from trueground.types import JudgeRequest, Status, Verdict

Q = TypeVar("Q", bound=Hashable)
A = TypeVar("A")
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
_LICENCE = re.compile(r"^license:\s*(\S*\bnc\b\S*)", re.MULTILINE)


@runtime_checkable
class Judge(Protocol):
    """Says whether any of the given texts supports a claim.

    `threshold` is the value above which (strictly) the judge's own score means "supported", and
    `signature` names the judge and the version of its rules or weights, with every option that can
    change a verdict. Nothing heavy is loaded before the first request. A judge that holds a model
    in memory or asks one has `in_one_process = True`, `close()`, and `problem`: why what it found
    could no longer be kept on disk, None where it was. One whose numbers a small model computes has
    `uses_encoder = True`: they may differ between machines. One that asks a language model has
    `prompts` and `spent` (see `trueground.models.component`), and one whose verdicts have neither
    score nor probability `scores = False`.
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


def ask(
    judge: Judge, requests: Sequence[JudgeRequest], known: dict[JudgeRequest, Verdict] | None = None
) -> list[Verdict]:
    """Judge every different request once and return one verdict for each request, in their order.

    Equal requests share one verdict object; those in `known`, which takes the others, are not asked
    again. A request on which the judge fails has the status `error`. Raises ProtocolError if the
    judge returns no list of verdicts, another number of them, or one that contradicts itself.
    """

    def failed(reason: str) -> Verdict:
        return Verdict(status=Status.ERROR, reasons=(reason,))

    who = f"the judge {judge.name!r}"
    check = partial(check_answers, who, "verdicts", expected=Verdict)
    verdicts, different = each_once(who, check, judge.judge, requests, failed, known)
    for request, verdict in different:
        _check_verdict(who, request, verdict)
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

    def factory(given: PartSpec) -> Any:
        return getattr(import_module(f"trueground.judges.{module}"), function)(given)

    factory.__doc__ = doc
    return factory


@cache
def warn_of_licence(model: str) -> None:
    """Say on standard error, once, that a model may not be used commercially.

    Known by its name, or by the model card in its folder.
    """
    licence = _NON_COMMERCIAL.get(model)
    card = Path(model).expanduser() / "README.md"
    if licence is None and card.is_file():
        found = _LICENCE.search(card.read_text("utf-8", "replace")[:4096])
        licence = found and found[1]
    if licence:
        import logging

        logging.getLogger(__name__).warning(
            "note: the licence of %s is %s: no commercial use", model, licence
        )


def each_once(
    who: str,
    check: Callable[[object, int], Sequence[A]],
    ask: Callable[[Sequence[Q]], Sequence[A]],
    requests: Sequence[Q],
    failed: Callable[[str], A],
    known: dict[Q, A] | None = None,
) -> tuple[list[A], list[tuple[Q, A]]]:
    """The answer to each request, in their order, and every request asked now with its answer.

    Equal requests share one answer, and those in `known`, which takes all others, are not asked
    again. Where `ask`, a method of the part `who`, raises, the requests are halved until the one is
    found that it fails on; this one's answer is `failed(reason)`. `check` takes what it returned
    and how many answers are expected, and raises ProtocolError if these are no such answers.
    """
    known = {} if known is None else known
    new = [request for request in dict.fromkeys(requests) if request not in known]

    def answers(some: Sequence[Q]) -> Sequence[A]:
        try:
            results = ask(some)
        except BaseException as error:
            if not fails_alone(error):
                raise
            if len(some) == 1:
                return [failed(f"{who} failed: {raised(error)}")]
        else:
            return check(results, len(some))
        middle = len(some) // 2
        # What a language model has replied so far is paid for.
        with getattr(getattr(ask, "__self__", None), "again", nullcontext)():
            return [*answers(some[:middle]), *answers(some[middle:])]

    if new:
        known.update(zip(new, answers(new), strict=True))
    return [known[request] for request in requests], [(one, known[one]) for one in new]
