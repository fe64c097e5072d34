"""Models without a model: fixed answers, those of a function or a script. For users' tests."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from trueground.errors import InputError
from trueground.models.base import ChatRequest, Reply, Usage
from trueground.types import Status

_EXPECTED = 'an object such as {"contains": ["text"], "reply": "text, or an object"}'


class FakeModel:
    """A model that always gives `reply`, or what `reply(request)` returns.

    `calls` holds every request, in the order of arrival; `delay` is in seconds. A function that
    raises lets its exception out. Tokens are counted as words.
    """

    def __init__(
        self,
        reply: str | Callable[[ChatRequest], str | Reply],
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
        answer = self._reply if isinstance(self._reply, str) else self._reply(request)
        if isinstance(answer, Reply):
            return answer
        usage = Usage(sum(len(m.content.split()) for m in request.messages), len(answer.split()))
        return Reply(text=answer, finish_reason="stop", model=self.name, usage=usage)

    async def close(self) -> None:
        """Nothing is held."""


def named_fake(text: str) -> FakeModel:
    """`echo` gives the last user message back; any other text is the answer."""

    def echo(request: ChatRequest) -> str:
        return next((m.content for m in reversed(request.messages) if m.role == "user"), "")

    return FakeModel(echo if text == "echo" else text, name=f"fake:{text}")


class _ScriptLine(msgspec.Struct, forbid_unknown_fields=True):
    """The reply to messages in which all of these texts stand."""

    contains: list[str]
    reply: str | dict[str, Any]


class ScriptedModel:
    """Answers with the reply of the first line all of whose texts stand in the messages.

    A reply that is an object is sent as JSON text. Where no line fits, the call fails and says so.
    Raises InputError with file and line for a line of another shape.
    """

    def __init__(self, file: str) -> None:
        self.name = f"fake:@{file}"
        self.cacheable = False
        self.concurrency = 64
        self._path = Path(file)
        try:
            content = self._path.read_bytes()
        except OSError as error:
            raise InputError(
                f"{self.name}: the file cannot be read ({error.strerror or error}); "
                f"give a JSON lines file, each line {_EXPECTED}"
            ) from error
        self._lines = []
        for number, line in enumerate(content.splitlines(), start=1):
            if not line.strip():
                continue
            try:
                self._lines.append(msgspec.json.decode(line, type=_ScriptLine))
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
                place = f"{self._path}, line {number}"
                raise InputError(f"{place}: {error}. Expected {_EXPECTED}") from None
        if not self._lines:
            raise InputError(f"{self._path}: no line in it; expected at least one, {_EXPECTED}")
        self.signature = f"fake:@{hashlib.sha256(content).hexdigest()[:16]}"

    async def generate(self, request: ChatRequest) -> Reply:
        """The reply of the first line that fits; tokens are counted as words."""
        prompt = "\n\n".join(message.content for message in request.messages)
        for line in self._lines:
            if all(text in prompt for text in line.contains):
                text = line.reply
                if isinstance(text, dict):
                    text = msgspec.json.encode(text).decode()
                usage = Usage(len(prompt.split()), len(text.split()))
                return Reply(text=text, finish_reason="stop", model=self.name, usage=usage)
        missing = f"no line of {self._path} fits these messages; add one whose texts stand in them"
        return Reply(status=Status.ERROR, error=missing, model=self.name)

    async def close(self) -> None:
        """Nothing is held."""
