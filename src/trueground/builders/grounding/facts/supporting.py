"""The judge of facts (--fact-judge): does a context hold a fact?"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence

from trueground.builders.fallen import Fallen
from trueground.judges import get_judge
from trueground.judges.base import ask
from trueground.types import JudgeRequest, Status, Verdict


class FactJudge:
    """A judge of the judges room, used from several tasks at once. Raises UsageError."""

    def __init__(self, written: str, *, cache: bool = True) -> None:
        self._judge = get_judge(written, cache=cache)
        self._lock = threading.Lock()  # judges and their models are not made for many threads
        self.signature = self._judge.signature

    async def unsupported(self, facts: Sequence[str], contexts: Sequence[str]) -> str | None:
        """The first fact that no context holds; None if all stand there.

        Raises Fallen, `call_failed`, where the judge gives no verdict.
        """
        requests = [JudgeRequest(fact, tuple(contexts)) for fact in facts]
        verdicts = await asyncio.to_thread(self._judged, requests)
        for fact, verdict in zip(facts, verdicts, strict=True):
            if verdict.status is Status.ERROR:
                said = "; ".join(verdict.reasons) or "the fact judge gave no verdict"
                raise Fallen("call_failed", said, passing=True)
            if not verdict.supported:
                return fact
        return None

    def close(self) -> None:
        """Close the judge's model, where it has one."""
        close = getattr(self._judge, "close", None)
        if close is not None:
            close()

    def _judged(self, requests: list[JudgeRequest]) -> list[Verdict]:
        with self._lock:
            return ask(self._judge, requests)
