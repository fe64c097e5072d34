"""Many askers, one answerer: what items ask for at the same time is answered in one go."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import Generic, TypeVar

from trueground.builders.stages.threads import in_daemon

Q = TypeVar("Q")
A = TypeVar("A")
_Waiting = list[tuple[Sequence[Q], "asyncio.Future[list[A]]"]]


class Together(Generic[Q, A]):
    """Gathers the questions of all tasks of an event loop, and has them answered in one thread.

    For judges and decomposers, which are not made for many threads but ask their own model many
    things at once. While one lot is being answered, the next one gathers.
    """

    def __init__(self, answer: Callable[[Sequence[Q]], Sequence[A]]) -> None:
        """`answer` gives one answer for each question, in their order."""
        self._answer = answer
        self._waiting: _Waiting[Q, A] = []
        self._work: asyncio.Task[None] | None = None

    async def ask(self, questions: Sequence[Q]) -> list[A]:
        """One answer for each question. Raises what `answer` raises."""
        loop = asyncio.get_running_loop()
        place: asyncio.Future[list[A]] = loop.create_future()
        self._waiting.append((questions, place))
        if self._work is None or self._work.done():
            self._work = loop.create_task(self._serve())
        return await place

    async def _serve(self) -> None:
        await asyncio.sleep(0)  # others of this turn may want to ask too
        while self._waiting:
            lot, self._waiting = self._waiting, []
            lot = [(questions, place) for questions, place in lot if not place.done()]
            try:
                every = [question for questions, _ in lot for question in questions]
                answers = iter(await in_daemon(partial(self._answer, every)))
                for questions, place in lot:
                    found = [next(answers) for _ in questions]
                    if not place.done():
                        place.set_result(found)
            except asyncio.CancelledError:
                for _, place in lot:
                    place.cancel()
                raise
            except Exception as error:  # those who asked must hear of it
                for _, place in lot:
                    if not place.done():
                        place.set_exception(error)
