"""A model without a model: fixed answers, or those of a function. Ships for users' tests."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from trueground.models.base import ChatRequest, Reply, Usage

Answer = str | Callable[[ChatRequest], str | Reply]


class FakeModel:
    """A model that always gives `reply`, or what `reply(request)` returns.

    `calls` holds every request, in the order of arrival; `delay` is in seconds. A function that
    raises lets its exception out. Tokens are counted as words.
    """

    def __init__(
        self,
        reply: Answer,
        *,
        name: str = "fake",
        delay: float = 0.0,
        concurrency: int = 64,
        cacheable: bool = False,
    ) -> None:
        self.name = name
        self.signature = f"fake:{name}" + (f"={reply}" if isinstance(reply, str) else "")
        self.cacheable = cacheable
        self.concurrency = concurrency
        self.calls: list[ChatRequest] = []
        self._reply = reply
        self._delay = delay

    async def generate(self, request: ChatRequest) -> Reply:
        """The fixed answer, or the function's, after the delay."""
        self.calls.append(request)
        await asyncio.sleep(self._delay)
        made = self._reply if isinstance(self._reply, str) else self._reply(request)
        if isinstance(made, Reply):
            return made
        usage = Usage(sum(_words(m.content) for m in request.messages), _words(made))
        return Reply(text=made, finish_reason="stop", model=self.name, usage=usage)

    async def close(self) -> None:
        """Nothing is held."""


def named_fake(text: str) -> FakeModel:
    """`echo` gives the last user message back; any other text is the answer."""
    return FakeModel(_last_user_message if text == "echo" else text, name=f"fake:{text}")


def _last_user_message(request: ChatRequest) -> str:
    return next((m.content for m in reversed(request.messages) if m.role == "user"), "")


def _words(text: str) -> int:
    return len(text.split())
