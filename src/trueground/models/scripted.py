"""A model that answers from a script: a JSON lines file of texts to look for, and replies.

For examples and for trying things out without a model: `fake:@FILE`.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import msgspec

from trueground.errors import InputError
from trueground.models.base import ChatRequest, Reply, Usage
from trueground.types import Status

_EXPECTED = 'an object such as {"contains": ["text"], "reply": "text, or an object"}'


class _ScriptLine(msgspec.Struct, forbid_unknown_fields=True):
    """One line: the reply to messages in which all of these texts stand."""

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
        self._lines = [
            _read(f"{self._path}, line {number}", line)
            for number, line in enumerate(content.splitlines(), start=1)
            if line.strip()
        ]
        if not self._lines:
            raise InputError(f"{self._path}: no line in it; expected at least one, {_EXPECTED}")
        self.signature = f"fake:@{hashlib.sha256(content).hexdigest()[:16]}"

    async def generate(self, request: ChatRequest) -> Reply:
        """The reply of the first line that fits; tokens are counted as words."""
        said = "\n\n".join(message.content for message in request.messages)
        for line in self._lines:
            if all(text in said for text in line.contains):
                text = line.reply if isinstance(line.reply, str) else _json(line.reply)
                usage = Usage(len(said.split()), len(text.split()))
                return Reply(text=text, finish_reason="stop", model=self.name, usage=usage)
        missing = f"no line of {self._path} fits these messages; add one whose texts stand in them"
        return Reply(status=Status.ERROR, error=missing, model=self.name)

    async def close(self) -> None:
        """Nothing is held."""


def _read(place: str, line: bytes) -> _ScriptLine:
    """The line at that place. Raises InputError."""
    try:
        return msgspec.json.decode(line, type=_ScriptLine)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"{place}: {error}. Expected {_EXPECTED}") from None


def _json(value: dict[str, Any]) -> str:
    return msgspec.json.encode(value).decode()
