"""Models behind an OpenAI-compatible endpoint: chat completions and plain completions."""

from __future__ import annotations

import base64
import os
import re
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import orjson

from trueground.errors import UsageError
from trueground.models.base import ChatRequest, Reply, without_secrets
from trueground.models.openai_replies import failed, read_reply, refuses, wants_other_limit
from trueground.models.options import ModelOptions
from trueground.models.prompts import lay_out, read_wrapper
from trueground.net import HttpClient, HttpError, Limiter, Policy, shown
from trueground.types import Status

KEY_VARIABLE = "OPENAI_API_KEY"
ADDRESS_VARIABLE = "OPENAI_BASE_URL"
_OPENAI = "https://api.openai.com/v1"
_CREDENTIAL = re.compile(r"(?i)key|token|sig|secret|pass|auth|cred|code")
MIN_SECRET_VALUE_LENGTH = 16  # A value in the query with so many characters counts as a secret.
_PATHS = {"chat": "chat/completions", "completions": "completions"}
# Parameters of a call that `extra` may not change.
_RESERVED = {"model", "messages", "prompt", "n"}
_VERBATIM = ("temperature", "top_p", "top_k", "min_tokens", "seed")


@dataclass(frozen=True)
class Endpoint:
    """The address of an endpoint and its credentials.

    Attributes:
        base: The address without credentials, which may be displayed.
        query: The query of the address. It may have credentials.
        headers: Headers with credentials.
        secrets: All texts that must not be displayed.
    """

    base: str
    query: str = field(default="", repr=False)
    headers: dict[str, str] = field(default_factory=dict, repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)

    def url(self, path: str) -> str:
        """Return the address of a path such as `chat/completions`, with the query."""
        if self.query:
            return f"{self.base}/{path}?{self.query}"
        return f"{self.base}/{path}"

    def client(self, options: ModelOptions, *, backoff: float = 1.0) -> HttpClient:
        """Return a client with these credentials and the limits of the options.

        Args:
            options: The options.
            backoff: Maximum seconds before the second attempt, as in Policy.

        Raises:
            UsageError: A limit is invalid.
        """
        policy = Policy(
            max_connections=options.max_connections,
            timeout=options.timeout,
            deadline=options.deadline,
            max_attempts=options.max_attempts,
            backoff=backoff,
        )
        limiter = Limiter(options.rpm, options.tpm)
        return HttpClient(policy, headers=self.headers, secrets=self.secrets, limiter=limiter)


def find_endpoint(options: ModelOptions) -> Endpoint:
    """Return the endpoint of the options, else of the environment, else OpenAI's.

    Raises:
        UsageError: The address is invalid, or there is no API key.
    """
    if options.base_url is not None and not options.base_url.strip():
        raise UsageError("the base URL is empty. Pass an address, or omit it to use OpenAI")
    address = options.base_url or os.environ.get(ADDRESS_VARIABLE) or _OPENAI
    try:
        parts = urlsplit(address.strip())
        usable = parts.scheme in ("http", "https") and bool(parts.hostname)
        _ = parts.port  # This raises ValueError if the port isn't a number.
    except ValueError:
        usable = False
    if not usable:
        raise UsageError(
            f"the base URL {shown(address)!r} is invalid; expected an address such as "
            f"http://localhost:8000/v1. Set it with --base-url or {ADDRESS_VARIABLE}"
        )
    path = parts.path.rstrip("/")
    for call in ("/chat/completions", "/completions"):
        if path.endswith(call):
            short = shown(parts._replace(path=path.removesuffix(call)).geturl())
            raise UsageError(
                f"the base URL {shown(parts.geturl())!r} must end before {call}. Use {short} "
                f"(--base-url or {ADDRESS_VARIABLE})"
            )
    # Short values may be ordinary words, such as the date of Azure's api-version.
    secrets = [parts.query]
    for name, value in parse_qsl(parts.query):
        if len(value) >= MIN_SECRET_VALUE_LENGTH or _CREDENTIAL.search(name):
            secrets.append(value)
    headers = {}
    if parts.password is not None:
        pair = f"{unquote(parts.username or '')}:{unquote(parts.password)}"
        packed = base64.b64encode(pair.encode()).decode()
        headers["Authorization"] = f"Basic {packed}"
        secrets += [parts.password, unquote(parts.password), packed]
    # If the address has a password, use a key only if the user named its variable.
    if parts.password is None or options.api_key_env is not None:
        key = _find_key(options.api_key_env, str(parts.hostname))
        if key is not None:
            headers["Authorization"] = f"Bearer {key}"
            secrets.append(key)
    # Longest first, so that no rest of a longer secret remains.
    ordered = tuple(sorted(filter(None, secrets), key=len, reverse=True))
    return Endpoint(shown(parts._replace(path=path).geturl()), parts.query, headers, ordered)


def _find_key(variable: str | None, host: str) -> str | None:
    """Return the API key from the environment, None if none is needed. Raises UsageError."""
    name = variable or KEY_VARIABLE
    key = os.environ.get(name, "").strip()
    if key and not (key.isascii() and key.isprintable() and " " not in key):
        raise UsageError(
            f"the environment variable {name} isn't an API key: it has spaces or special "
            "characters. Set it to the key only"
        )
    if key:
        return key
    if variable is None and host != "api.openai.com":
        return None  # Local servers need no key.
    raise UsageError(
        f"{host} needs an API key, but the environment variable {name} isn't set. Set it, or pass "
        "the name of another variable with --api-key-env"
    )


class OpenAIModel:
    """A model behind an OpenAI-compatible endpoint.

    If a call fails after all attempts, the Reply has the reason. Its `finish_reason` is
    `unreachable` if every other call would fail, too: no server, no access, an unknown model, or no
    quota.
    """

    cacheable = True

    def __init__(self, name: str, options: ModelOptions) -> None:
        """Prepare the endpoint. UsageError if an address, key, limit or wrapper is invalid."""
        self.name = name
        self.endpoint = find_endpoint(options)
        self.concurrency = options.max_connections
        self.client = self.endpoint.client(options)
        self._api = options.api
        # Most endpoints support JSON schemas only in the chat API.
        self.offers_schema = options.api == "chat"
        self._extra = options.extra
        self._wrapper = None
        if options.api == "completions" and options.wrapper is not None:
            self._wrapper = read_wrapper(options.wrapper)
        self._url = self.endpoint.url(_PATHS[options.api])
        self._limit_name = "max_tokens"
        self._least_refused = False
        self.signature = f"{options.api}/{name}"
        if self._extra or self._wrapper is not None:  # Both change the answers.
            changes = orjson.dumps([self._extra, self._wrapper], option=orjson.OPT_SORT_KEYS)
            self.signature += f"+{sha256(changes).hexdigest()[:12]}"

    def __repr__(self) -> str:
        return f"OpenAIModel({self.name!r}, base_url={self.endpoint.base!r})"

    async def generate(self, request: ChatRequest) -> Reply:
        """Return the reply to a request. UsageError if parameters can't be sent."""
        limiter = self.client.limiter
        tokens = request.estimate_tokens() if limiter.counts_tokens else 0
        limit_name = self._limit_name
        values = self.body(request)
        try:
            body = orjson.dumps(values)
        except TypeError as error:
            reason = f"the request can't be written as JSON: {error}"
            return Reply(status=Status.ERROR, error=reason, calls=0)
        try:
            reply = await self.client.ask(self._url, body, read_reply, tokens=tokens)
        except HttpError as error:
            if limit_name == "max_tokens" and wants_other_limit(error):
                self._limit_name = "max_completion_tokens"
            # Nearly every reply has one token anyway. Larger minimums are the user's decision.
            elif values.get("min_tokens") == 1 and refuses(error, "min_tokens"):
                self._least_refused = True
            else:
                return without_secrets(failed(error), self.endpoint.secrets)
            reply = await self.generate(request)
            reply.calls += error.calls
            return reply
        if tokens and reply.usage.tokens_in:
            limiter.correct(tokens, reply.usage.tokens_in + reply.usage.tokens_out)
        return without_secrets(reply, self.endpoint.secrets)

    def body(self, request: ChatRequest) -> dict[str, Any]:
        """Return the JSON body of a request, also for batches. Raises UsageError."""
        params = request.params
        body: dict[str, Any] = {"model": self.name}
        if self._api == "chat":
            body["messages"] = [{"role": m.role, "content": m.content} for m in request.messages]
        else:
            body["prompt"] = lay_out(request.messages, self._wrapper)
        for name in _VERBATIM:
            value = getattr(params, name)
            unsupported = name == "min_tokens" and value == 1 and self._least_refused
            if value is not None and not unsupported:
                body[name] = value
        if params.max_tokens is not None:
            body[self._limit_name] = params.max_tokens
        if params.stop:
            body["stop"] = params.stop
        if params.logprobs is not None:
            if self._api == "completions":
                body["logprobs"] = params.logprobs
            else:
                body["logprobs"] = True
                if params.logprobs:
                    body["top_logprobs"] = params.logprobs
        extra = {**self._extra, **params.extra} if self._extra or params.extra else {}
        if extra.get("stream"):
            raise UsageError("the extra parameter 'stream' isn't supported. Remove it")
        reserved = _RESERVED & extra.keys()
        if reserved:
            raise UsageError(f"the extra parameter {min(reserved)!r} can't be changed. Remove it")
        body.update(extra)
        return body

    async def close(self) -> None:
        """Close the connections."""
        await self.client.close()
