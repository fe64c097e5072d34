"""Models that don't generate: replies from a file, fixed replies, and replies of a script."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from trueground.errors import InputError
from trueground.models.base import (
    ChatRequest,
    Reply,
    TokenLogprob,
    TokenUsage,
)
from trueground.models.openai_replies import is_cut, why_no_answer
from trueground.types import Status

_STATUSES = (None, Status.TRUNCATED, Status.TOO_LONG, Status.ERROR)
_UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
_EXPECTED = (
    "Expected one JSON object per line with `id` and `response` (a text, or null if the call "
    "failed). Fix or remove the line."
)


class _ReplayLine(msgspec.Struct):
    """One line of the file, with the fields that are read.

    In the files of Instruct-QA's authors, the response is `answer` and the id is `id_`. In those of
    Truly-Ground, the response is `output`.
    """

    response: str | msgspec.UnsetType | None = msgspec.UNSET
    answer: str | msgspec.UnsetType | None = msgspec.UNSET
    output: str | msgspec.UnsetType | None = msgspec.UNSET
    id_: str | int | None = None
    id: str | int | None = None
    prompt_sha256: str | None = None
    finish_reason: str | None = None
    status: Status | None = None
    truncated: bool = False
    error: str | None = None
    reasoning: str | None = None
    refusal: bool | None = False
    usage: TokenUsage | None = None
    model: str | None = None
    logprobs: list[TokenLogprob] | None = None

    @property
    def text(self) -> str | msgspec.UnsetType | None:
        names = (self.response, self.answer, self.output)
        return next((text for text in names if text is not msgspec.UNSET), msgspec.UNSET)


class ReplayModel:
    """A model that answers from a file, by the item's id or else by its prompt.

    The file is the responses.jsonl of a run, or any JSON lines of responses. Only the offset of
    each line is kept in memory. If the file is one JSON array or object, as authors publish the
    answers of their models, all of it is kept in memory.

    If an id or prompt is on several lines, the last one counts. If a line isn't a response, the
    model raises InputError with file and line.
    """

    def __init__(self, file: str) -> None:
        self.name = f"replay:{file}"
        self.cacheable = False
        self.concurrency = 64
        self._path = Path(file)
        self._entries: list[_ReplayLine] = []  # of a file that is kept as a whole
        self._ids: dict[str, int] = {}
        self._prompts: dict[str, int] = {}
        try:
            sha256 = self._index()
        except OSError as error:
            raise self._unreadable(error) from error
        self.signature = f"replay:{sha256[:16]}"

    def reply_for(self, id: str) -> Reply | None:  # noqa: A002 - the field's name
        """The reply to the item of that id, or None if the file has none."""
        return self._read(self._ids.get(id))

    async def generate(self, request: ChatRequest) -> Reply:
        """The reply to these messages, where the file says which prompt each line answers.

        There is one for each prompt, so that further draws find none.
        """
        at = None if request.draw else self._prompts.get(request.prompt_sha256)
        missing = f"no response for this item in {self._path}"
        return self._read(at) or Reply(status=Status.ERROR, error=missing)

    async def close(self) -> None:
        """The file is open only while it is read."""

    def _index(self) -> str:
        """Note where every line begins; the SHA-256 of the file. InputError, OSError."""
        digest = hashlib.sha256()
        offset = 0
        with self._path.open("rb") as file:
            first = next((text for text in file if not text.isspace()), b"").lstrip()
            file.seek(0)
            if _is_one_value(first):
                return self._keep(file.read())
            for number, text in enumerate(file, start=1):
                digest.update(text)
                if not text.isspace():
                    place = f"{self._path}, line {number}"
                    try:
                        line = msgspec.json.decode(text, type=_ReplayLine)
                    except _UNREADABLE as error:
                        end = " The file ends in it: it may have been cut off."
                        cut = "" if text.endswith(b"\n") else end
                        raise InputError(f"{place}: {error}.{cut} {_EXPECTED}") from error
                    self._note(place, line, offset)
                offset += len(text)
        return digest.hexdigest()

    def _keep(self, content: bytes) -> str:
        """Keep the answers of the whole file; its SHA-256. InputError."""
        array = content.lstrip()[:1] == b"["
        expected: Any = list[_ReplayLine] if array else dict[str, _ReplayLine]
        try:
            found = msgspec.json.decode(content, type=expected)
        except _UNREADABLE as error:
            raise InputError(
                f"{self._path}: {error}. Expected JSON lines, a JSON array of them, or one object "
                'from id to {"output": …}'
            ) from error
        if isinstance(found, dict):
            for id_, line in found.items():
                line.id = id_
            found = list(found.values())
        self._entries = found
        for number, line in enumerate(found):
            self._note(f"{self._path}, entry {number + 1}", line, number)
        return hashlib.sha256(content).hexdigest()

    def _note(self, place: str, line: _ReplayLine, offset: int) -> None:
        """Note where the item of a line finds it. InputError for a line that is no response."""
        if line.text is msgspec.UNSET:
            raise InputError(f"{place}: Object missing required field `response`. {_EXPECTED}")
        id_ = line.id_ if line.id is None else line.id
        if line.status not in _STATUSES:
            allowed = ", ".join(status for status in _STATUSES if status)
            raise InputError(f"{place}: status {line.status!r}; expected {allowed}, or null")
        if id_ is None and line.prompt_sha256 is None:
            raise InputError(f"{place}: neither `id` nor `prompt_sha256`; give the item's id")
        if id_ is not None:
            self._ids[str(id_)] = offset
        if line.prompt_sha256 is not None:
            self._prompts[line.prompt_sha256] = offset

    def _read(self, offset: int | None) -> Reply | None:
        """The reply at that place of the file. InputError if the file has changed since."""
        if offset is None:
            return None
        if self._entries:
            return _reply(self._entries[offset])
        try:
            with self._path.open("rb") as file:
                file.seek(offset)
                return _reply(msgspec.json.decode(file.readline(), type=_ReplayLine))
        except OSError as error:
            raise self._unreadable(error) from error
        except _UNREADABLE as error:
            changed = f"{self._path} was changed while it was replayed; begin again"
            raise InputError(changed) from error

    def _unreadable(self, error: OSError) -> InputError:
        return InputError(
            f"{self.name}: the file cannot be read ({error.strerror or error}); "
            "give a JSON lines file of responses, such as a run's responses.jsonl"
        )


def _is_one_value(first: bytes) -> bool:
    """Whether a file is one array, or one object of objects, by its first line."""
    try:
        line = msgspec.json.decode(first)
    except _UNREADABLE:
        # Broken off where the line ends: it is spread over several.
        return first[:1] == b"[" or first.rstrip() == b"{"
    if not isinstance(line, dict):
        return isinstance(line, list)
    values = line.values()
    return bool(line) and all(isinstance(value, dict) and "output" in value for value in values)


def _reply(line: _ReplayLine) -> Reply:
    status, error = line.status, line.error
    response = None if line.text is msgspec.UNSET else line.text
    if response is None:
        status = status or Status.ERROR
        error = error or "the response on file is null"
    elif status is None and (line.truncated or is_cut(line.finish_reason)):
        status = Status.TRUNCATED
    elif status is None and line.finish_reason is not None:  # a file without says what it means
        error = why_no_answer(response, line.finish_reason)
        status = Status.ERROR if error else None
    return Reply(
        text=response or "",
        # Which means: now. The file can be reached.
        finish_reason=None if line.finish_reason == Reply.UNREACHABLE else line.finish_reason,
        status=status,
        error=error,
        reasoning=line.reasoning,
        refusal=bool(line.refusal),
        model=line.model,
        usage=line.usage or TokenUsage(),
        logprobs=line.logprobs,
    )


_EXPECTED_SCRIPT = 'an object such as {"contains": ["text"], "reply": "text, or an object"}'


class FakeModel:
    """A model for tests that always returns the same reply, or calls a function.

    Tokens are counted as words. Exceptions of the function aren't caught.

    Args:
        reply: The reply, or a function from the request to the reply.
        name: The name in outputs.
        delay: Seconds before each reply.
        concurrency: Maximum number of calls at the same time.
        cacheable: Whether replies are cached.

    Attributes:
        calls: All requests, in the order in which they arrived.

    Example:
        >>> model = tg.testing.FakeModel("It is 324 m tall.")
        >>> tg.run("questions.jsonl", model=model)
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
        """Return the fixed reply or the function's, after the delay."""
        self.calls.append(request)
        await asyncio.sleep(self._delay)
        answer = self._reply if isinstance(self._reply, str) else self._reply(request)
        if isinstance(answer, Reply):
            return answer
        usage = TokenUsage(
            sum(len(m.content.split()) for m in request.messages), len(answer.split())
        )
        return Reply(text=answer, finish_reason="stop", model=self.name, usage=usage)

    async def close(self) -> None:
        """Nothing is held."""


def named_fake(text: str) -> FakeModel:
    """Return a model that repeats the last user message (`echo`) or answers a fixed text."""

    def echo(request: ChatRequest) -> str:
        return next((m.content for m in reversed(request.messages) if m.role == "user"), "")

    return FakeModel(echo if text == "echo" else text, name=f"fake:{text}")


class _ScriptLine(msgspec.Struct, forbid_unknown_fields=True):
    """The reply to messages that contain all of these texts."""

    contains: list[str]
    reply: str | dict[str, Any]


class ScriptedModel(FakeModel):
    """A model that answers with the first line whose texts are all in the messages.

    A reply that is an object is sent as JSON text. If no line matches, the call fails. If a line
    is invalid, InputError has the file and line.
    """

    def __init__(self, file: str) -> None:
        super().__init__(self._answer, name=f"fake:@{file}")
        self._path = Path(file)
        try:
            content = self._path.read_bytes()
        except OSError as error:
            raise InputError(
                f"{self.name}: the file can't be read ({error.strerror or error}). Expected a JSON "
                f"lines file, each line {_EXPECTED_SCRIPT}"
            ) from error
        self._lines = []
        for number, line in enumerate(content.splitlines(), start=1):
            if line.strip():
                try:
                    self._lines.append(msgspec.json.decode(line, type=_ScriptLine))
                except _UNREADABLE as error:
                    source = f"{self._path}, line {number}"
                    raise InputError(f"{source}: {error}. Expected {_EXPECTED_SCRIPT}") from None
        if not self._lines:
            raise InputError(f"{self._path} is empty. Expected lines, each {_EXPECTED_SCRIPT}")
        self.signature = f"fake:@{hashlib.sha256(content).hexdigest()[:16]}"

    def _answer(self, request: ChatRequest) -> str | Reply:
        prompt = "\n\n".join(message.content for message in request.messages)
        for line in self._lines:
            if all(text in prompt for text in line.contains):
                reply = line.reply
                return reply if isinstance(reply, str) else msgspec.json.encode(reply).decode()
        missing = f"no line of {self._path} matches these messages; add a line with texts in them"
        return Reply(status=Status.ERROR, error=missing, model=self.name)
