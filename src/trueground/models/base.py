"""What a chat model is: messages and parameters in, one reply out.

A call that fails gives a Reply that says why. Only what concerns the whole run is raised: an option
that cannot be meant (UsageError), an endpoint that refuses or cannot be found (UnreachableError).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Protocol

import msgspec

from trueground.models.options import Extra
from trueground.net import Secrets
from trueground.options import Option
from trueground.types import Status

MAX_SHOWN_CHARS = 2_000  # of a reply in which nothing could be read
_TOKENS_OUT = 256  # what an answer may take where the call sets no limit
# Part of every key: a change of what a key or a kept reply means must not meet older entries.
_KEY_VERSION = "1"
_canonical = msgspec.json.Encoder(order="sorted").encode
_LEAST = -9999.0  # for a log-probability of minus infinity, as endpoints write it
_TOO_MANY = 2**53  # tokens; up to here every JSON reader reads a whole number as it is


class Message(msgspec.Struct, frozen=True):
    """One message of a conversation; `role` is `system`, `user` or `assistant`."""

    role: str
    content: str


class Params(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """How to generate. None leaves the choice to the model; `extra` goes into the call verbatim.

    `logprobs` is the number of alternatives whose log-probabilities are wanted for each token.
    """

    temperature: Annotated[float | None, Option("Sampling temperature.", min=0.0)] = None
    top_p: Annotated[float | None, Option("Nucleus sampling threshold.", min=0.0, max=1.0)] = None
    top_k: Annotated[int | None, Option("Only for endpoints that support it.", min=1)] = None
    min_tokens: Annotated[int | None, Option("Only for endpoints that support it.", min=1)] = None
    max_tokens: Annotated[int | None, Option("Maximum tokens per answer.", min=1)] = None
    seed: Annotated[
        int | None,
        Option("Random seed, for the model and for intervals.", min=0, max=Option.MAX_SEED),
    ] = None
    stop: tuple[str, ...] = ()
    logprobs: int | None = None
    extra: Extra = {}


class ChatRequest(msgspec.Struct, frozen=True):
    """One call. `draw` tells repeated calls with the same words apart (0, 1, 2 …)."""

    CHARACTERS_PER_TOKEN: ClassVar[int] = 4  # a rule of thumb for English

    messages: tuple[Message, ...]
    params: Params = Params()
    draw: int = 0

    def cache_key(self, signature: str) -> str:
        """Return the key of a reply: SHA-256 (hex) of signature, messages, parameters and draw.

        It depends on who answers, what is asked and how, and on nothing else: not on the endpoint,
        the machine or the account.

        Args:
            signature: That of the model.
        """
        params = self.params
        # 0 is 0.0 where a number need not be whole.
        floats = {
            name: float(value)
            for name in ("temperature", "top_p")
            if type(value := getattr(params, name)) is int
        }
        if floats:
            params = msgspec.structs.replace(params, **floats)
        content = (_KEY_VERSION, signature, self.messages, params, self.draw)
        return hashlib.sha256(_canonical(content)).hexdigest()

    @property
    def prompt_sha256(self) -> str:
        """SHA-256 (hex) of the messages alone."""
        return hashlib.sha256(_canonical(self.messages)).hexdigest()

    def estimate_prompt_tokens(self) -> int:
        """Return a quarter of the characters of the messages, rounded up."""
        return -(-sum(len(m.content) for m in self.messages) // self.CHARACTERS_PER_TOKEN)

    def estimate_tokens(self) -> int:
        """Return the tokens of the messages and of the longest answer that the call allows."""
        limit = self.params.max_tokens
        return self.estimate_prompt_tokens() + (_TOKENS_OUT if limit is None else limit)


class TokenUsage(msgspec.Struct, frozen=True, omit_defaults=True):
    """Tokens as the endpoint counts them; `cached` are those of `tokens_in` it had kept."""

    tokens_in: int = 0
    tokens_out: int = 0
    cached: int = 0

    @staticmethod
    def count(value: object) -> int:
        """Return a number of tokens as an endpoint sends it; 0 for what cannot be one."""
        is_valid = isinstance(value, int | float) and 0 <= value < _TOO_MANY
        return int(value) if is_valid else 0  # type: ignore[call-overload]

    def clamped(self) -> TokenUsage:
        """Return the usage with 0 for each invalid number of tokens."""
        numbers = (self.tokens_in, self.tokens_out, self.cached)
        return TokenUsage(*map(self.count, numbers))


class TokenLogprob(msgspec.Struct, frozen=True):
    """One generated token, its log-probability (natural), and those of its alternatives."""

    token: str
    logprob: float
    top: dict[str, float] = {}


class Reply(msgspec.Struct, omit_defaults=True, kw_only=True):
    """What came back.

    `status` is None for a whole answer, empty ones and refusals too; else `truncated` (`text` holds
    what came), `too_long` or `error`, and `error` says why. `reasoning` is what the model thought
    aloud, kept apart from `text`. `model` is who answered, as the endpoint says; `calls` how often
    it was called for this.
    """

    text: str = ""
    finish_reason: str | None = None
    status: Status | None = None
    error: str | None = None
    reasoning: str | None = None
    refusal: bool = False
    model: str | None = None
    usage: TokenUsage = TokenUsage()
    logprobs: list[TokenLogprob] | None = None
    calls: int = 1

    # The finish reason of a call that came to no model: nobody there, not let in, no such model.
    UNREACHABLE: ClassVar[str] = "unreachable"

    def normalized(self) -> Reply:
        """Return the reply without text and numbers that a file can't hold.

        Texts have "?" for half a surrogate pair and \\x00 for NUL.
        """
        clean: dict[str, Any] = {
            name: _sanitize(text)
            for name in ("text", "error", "reasoning", "finish_reason", "model")
            if (text := getattr(self, name)) and not (text.isascii() and "\0" not in text)
        }
        if self.logprobs is not None:
            clean["logprobs"] = [
                TokenLogprob(
                    _sanitize(token.token),
                    max(token.logprob, _LEAST),
                    {_sanitize(text): max(p, _LEAST) for text, p in token.top.items()},
                )
                for token in self.logprobs
            ]
        return msgspec.structs.replace(self, usage=self.usage.clamped(), **clean)

    def shortened_text(self) -> str:
        """Return the text for the evidence, cut and marked as cut if it is long."""
        if len(self.text) <= MAX_SHOWN_CHARS:
            return self.text
        return f"{self.text[:MAX_SHOWN_CHARS]} … ({len(self.text):,} characters in all)"

    def describe_failure(self, subject: str) -> str:
        """Return why a reply with a status can't be used; `subject` is what was in the prompt."""
        if self.status is Status.TRUNCATED:
            return "the model's reply was cut off at the token limit"
        if self.status is Status.TOO_LONG:
            return f"{subject} is too long for the model: {self.error}"
        return f"the call failed: {self.error}"


def _sanitize(text: str) -> str:
    """Return the text as a file can hold it: "?" for half a surrogate pair, \\x00 for NUL."""
    return text.encode("utf-8", "replace").decode().replace("\0", "\\x00")


def without_secrets(reply: Reply, secrets: Sequence[str]) -> Reply:
    """The same reply with nothing of these secrets, should the endpoint have repeated them.

    What was escaped twice shows only once it has been read.
    """
    hidden = Secrets(secrets)
    if not hidden:
        return reply
    clean = {
        name: hidden.hide(text.encode("utf-8", "replace")).decode("utf-8", "replace")
        for name in ("text", "reasoning", "finish_reason", "model")
        if (text := getattr(reply, name))
    }
    if reply.error:
        clean["error"] = hidden.scrub(reply.error)
    tokens = "".join(one.token for one in reply.logprobs or ()).encode("utf-8", "replace")
    kept = reply.logprobs if hidden.hide(tokens) == tokens else None
    return msgspec.structs.replace(reply, logprobs=kept, **clean)


class ChatModel(Protocol):
    """A model that answers.

    `signature` fixes what it would answer, wherever it runs: part of the cache key and of the run's
    identity, and without any secret. `cacheable` is False where asking again costs nothing.
    `concurrency` is how many calls may be under way at once.
    """

    name: str
    signature: str
    cacheable: bool
    concurrency: int

    async def generate(self, request: ChatRequest) -> Reply:
        """One reply; see the module for what is raised."""
        ...

    async def close(self) -> None:
        """Give connections and memory back."""
        ...
