"""What a judge is, and how requests reach it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from trueground.errors import ProtocolError
from trueground.judges.once import each_once
from trueground.types import JudgeRequest, Status, Verdict


@runtime_checkable
class Judge(Protocol):
    """Says whether any of the given texts supports a claim.

    `threshold` is the value above which (strictly) the judge's own score means "supported", and
    `signature` names the judge and the version of its rules or weights, with every option that can
    change a verdict. Nothing heavy is loaded before the first request. A judge that holds a model
    in memory or asks one has `in_one_process = True`, `close()`, and `problem`: why what it found
    could no longer be kept on disk, None where it was. One that asks a language model also has
    `prompts` and `spent` (see `trueground.models.asker`), and one whose verdicts have neither score
    nor probability `scores = False`.
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
    again. A request on which the judge fails has the status `error`. Raises ProtocolError where the
    judge gives another number of verdicts, or names a text that is not there.
    """

    def lost(reason: str) -> Verdict:
        return Verdict(status=Status.ERROR, reasons=(reason,))

    who = f"the judge {judge.name!r}"
    verdicts, different = each_once(who, "verdicts", judge.judge, requests, lost, known)
    for request, verdict in different:
        if verdict.text is not None and not 0 <= verdict.text < len(request.texts):
            raise ProtocolError(
                f"the judge {judge.name!r} names text {verdict.text} of {len(request.texts)}"
            )
    return verdicts
