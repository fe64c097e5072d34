"""The interface of chat models: messages and parameters in, one reply out.

A call that fails returns a Reply with the reason. A model raises only if all calls would fail:
UsageError for an invalid option, UnreachableError for an endpoint that can't be used.
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

MAX_SHOWN_CHARS = 2_000  # Characters of a reply that couldn't be parsed, in the evidence.
DEFAULT_TOKENS_OUT = 256  # Estimated tokens of an answer if the call has no limit.
# Part of every cache key. Change it if the meaning of a key or a cached reply changes.
_KEY_VERSION = "1"
_canonical = msgspec.json.Encoder(order="sorted").encode
MIN_LOGPROB = -9999.0  # Replaces minus infinity, as endpoints do.
MAX_TOKEN_COUNT = 2**53  # Larger whole numbers aren't exact in every JSON reader.


class Message(msgspec.Struct, frozen=True):
    """One message of a conversation.

    Attributes:
        role: `system`, `user` or `assistant`.
        content: The text.

    Example:
        >>> tg.Message("user", "How tall is it?")
    """

    role: str
    content: str


class Params(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Parameters of generation. None leaves a choice to the model.

    Attributes:
        temperature: Sampling temperature.
        top_p: Probability mass of nucleus sampling.
        top_k: Number of most likely tokens to sample from.
        min_tokens: Minimum length of the answer.
        max_tokens: Maximum length of the answer.
        seed: Seed of sampling.
        stop: Texts at which generation stops.
        logprobs: Number of alternatives per token whose log-probabilities are returned.
        extra: Further parameters, sent to the endpoint unchanged.

    Example:
        >>> tg.Params(temperature=0, max_tokens=200)
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
    """One call to a chat model.

    Attributes:
        messages: The conversation.
        params: Parameters of generation.
        draw: Number of the sample (0, 1, 2 …), if the same call is repeated.

    Example:
        >>> tg.ChatRequest((tg.Message("user", "How tall is it?"),))
    """

    CHARACTERS_PER_TOKEN: ClassVar[int] = 4  # A rule of thumb for English.

    messages: tuple[Message, ...]
    params: Params = Params()
    draw: int = 0

    def cache_key(self, signature: str) -> str:
        """Return the key of a reply: SHA-256 (hex) of signature, messages, parameters and draw.

        It doesn't depend on the endpoint, the machine or the account.

        Args:
            signature: The signature of the model.
        """
        params = self.params
        # 0 and 0.0 must give the same key.
        if type(params.temperature) is int:
            params = msgspec.structs.replace(params, temperature=float(params.temperature))
        if type(params.top_p) is int:
            params = msgspec.structs.replace(params, top_p=float(params.top_p))
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
        return self.estimate_prompt_tokens() + (DEFAULT_TOKENS_OUT if limit is None else limit)


class TokenUsage(msgspec.Struct, frozen=True, omit_defaults=True):
    """Tokens as the endpoint counts them.

    Attributes:
        tokens_in: Tokens of the messages.
        tokens_out: Tokens of the answer.
        cached: How many of `tokens_in` the endpoint read from its own cache.
    """

    tokens_in: int = 0
    tokens_out: int = 0
    cached: int = 0

    @staticmethod
    def count(value: object) -> int:
        """Return a number of tokens from an endpoint; 0 if it is invalid."""
        is_valid = isinstance(value, int | float) and 0 <= value < MAX_TOKEN_COUNT
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
    """The reply of a chat model, or the reason why there is none.

    Attributes:
        text: The answer.
        finish_reason: Why generation ended, as the endpoint reports it.
        status: None for a complete answer, also if it is empty or a refusal. `truncated` if `text`
            was cut off, `too_long` if the messages don't fit, `error` if the call failed.
        error: The reason of `too_long` or `error`.
        reasoning: The thoughts of the model, if they are separate from the answer.
        refusal: Whether the endpoint marked the answer as a refusal.
        model: The model that answered, as the endpoint reports it.
        usage: Tokens of the call.
        logprobs: Log-probabilities of the tokens, if requested.
        calls: Number of calls to the endpoint for this reply.

    Example:
        >>> tg.Reply(text="324 m", finish_reason="stop")
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

    # Finish reason of a call that reached no model: no server, no access, or an unknown model.
    UNREACHABLE: ClassVar[str] = "unreachable"

    def normalized(self) -> Reply:
        """Return the reply without text and numbers that a file can't hold.

        Texts have "?" for half a surrogate pair and \\x00 for NUL.
        """
        clean: dict[str, Any] = {}
        for name in _TEXT_FIELDS:
            text = getattr(self, name)
            if text and not (text.isascii() and "\0" not in text):
                clean[name] = _sanitize(text)
        if self.logprobs is not None:
            clean["logprobs"] = [_normalize_logprob(token) for token in self.logprobs]
        return msgspec.structs.replace(self, usage=self.usage.clamped(), **clean)

    def shortened_text(self) -> str:
        """Return the text for the evidence; if it is long, cut with a mark."""
        if len(self.text) <= MAX_SHOWN_CHARS:
            return self.text
        return f"{self.text[:MAX_SHOWN_CHARS]} … ({len(self.text):,} characters in all)"

    def describe_failure(self, subject: str) -> str:
        """Return why a reply with a status can't be used.

        Args:
            subject: What the prompt contains, such as "the claim with its contexts".
        """
        if self.status is Status.TRUNCATED:
            return "the model's reply was cut off at the token limit"
        if self.status is Status.TOO_LONG:
            return f"{subject} is too long for the model: {self.error}"
        return f"the call failed: {self.error}"


_TEXT_FIELDS = ("text", "error", "reasoning", "finish_reason", "model")


def _normalize_logprob(token: TokenLogprob) -> TokenLogprob:
    top = {_sanitize(text): max(logprob, MIN_LOGPROB) for text, logprob in token.top.items()}
    return TokenLogprob(_sanitize(token.token), max(token.logprob, MIN_LOGPROB), top)


def _sanitize(text: str) -> str:
    """Return the text as a file can hold it: "?" for half a surrogate pair, \\x00 for NUL."""
    return text.encode("utf-8", "replace").decode().replace("\0", "\\x00")


def without_secrets(reply: Reply, secrets: Sequence[str]) -> Reply:
    """Return the reply without secrets, in case the endpoint repeated them.

    The body of the reply was checked already, but a secret that was escaped twice is visible only
    after parsing.
    """
    hidden = Secrets(secrets)
    if not hidden:
        return reply
    clean = {}
    for name in ("text", "reasoning", "finish_reason", "model"):
        text = getattr(reply, name)
        if text:
            encoded = hidden.hide(text.encode("utf-8", "replace"))
            clean[name] = encoded.decode("utf-8", "replace")
    if reply.error:
        clean["error"] = hidden.scrub(reply.error)
    tokens = "".join(token.token for token in reply.logprobs or ()).encode("utf-8", "replace")
    kept = reply.logprobs if hidden.hide(tokens) == tokens else None
    return msgspec.structs.replace(reply, logprobs=kept, **clean)


class ChatModel(Protocol):
    """The interface of a chat model. Any object with these members is one.

    Attributes:
        name: The name in outputs.
        signature: Identifies everything that affects the replies, such as model and version. It is
            part of cache keys and of the run's identity, so it must not contain secrets.
        cacheable: Whether replies are cached. False if repeating a call costs nothing.
        concurrency: Maximum number of calls at the same time.

    Example:
        >>> class EchoModel:
        ...     name = signature = "echo"
        ...     cacheable = False
        ...     concurrency = 8
        ...
        ...     async def generate(self, request: tg.ChatRequest) -> tg.Reply:
        ...         return tg.Reply(text=request.messages[-1].content)
        ...
        ...     async def close(self) -> None:
        ...         pass
        >>> tg.run("questions.jsonl", model=EchoModel())
    """

    name: str
    signature: str
    cacheable: bool
    concurrency: int

    async def generate(self, request: ChatRequest) -> Reply:
        """Return the reply to a request. If the call fails, return a Reply with the reason.

        Raises:
            UsageError: A parameter is invalid, so every call would fail.
            UnreachableError: The model can't be reached, so every call would fail.
        """
        ...

    async def close(self) -> None:
        """Close connections and free memory."""
        ...
