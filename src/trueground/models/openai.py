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
_DOOR = re.compile(r"(?i)key|token|sig|secret|pass|auth|cred|code")
_CERTAIN = 16  # characters of a value in an address that is no word by chance
_PATHS = {"chat": "chat/completions", "completions": "completions"}
_OURS = {"model", "messages", "prompt", "n"}
_VERBATIM = ("temperature", "top_p", "top_k", "min_tokens", "seed")


@dataclass(frozen=True)
class Endpoint:
    """`base` may be shown; what opens the door (`query`, `headers`, `secrets`) may not."""

    base: str
    query: str = field(default="", repr=False)
    headers: dict[str, str] = field(default_factory=dict, repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)

    def url(self, path: str) -> str:
        """The whole address of a path such as `chat/completions`, with all that it needs."""
        return f"{self.base}/{path}" + (f"?{self.query}" if self.query else "")

    def client(self, options: ModelOptions, *, backoff: float = 1.0) -> HttpClient:
        """A client that is let in, with the options' limits; `backoff` as in Policy. UsageError."""
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
    """From the options, else from the environment, else OpenAI's. Raises UsageError."""
    if options.base_url is not None and not options.base_url.strip():
        raise UsageError("the base URL is empty; name an endpoint, or leave it out for OpenAI's")
    address = options.base_url or os.environ.get(ADDRESS_VARIABLE) or _OPENAI
    try:
        parts = urlsplit(address.strip())
        usable = parts.scheme in ("http", "https") and bool(parts.hostname)
        _ = parts.port  # a number, or ValueError
    except ValueError:
        usable = False
    if not usable:
        raise UsageError(
            f"the base URL {shown(address)!r} is no address of an endpoint; expected one such as "
            f"http://localhost:8000/v1 (--base-url or the variable {ADDRESS_VARIABLE})"
        )
    path = parts.path.rstrip("/")
    for call in ("/chat/completions", "/completions"):  # easily taken for the base URL
        if path.endswith(call):
            short = shown(parts._replace(path=path.removesuffix(call)).geturl())
            raise UsageError(
                f"the base URL {shown(parts.geturl())!r} is that of a call; give the part before "
                f"{call}: {short} (--base-url or the variable {ADDRESS_VARIABLE})"
            )
    # Other short values may be words of a reply, such as the date of Azure's api-version.
    query = parse_qsl(parts.query)
    secrets = [parts.query, *(v for n, v in query if len(v) >= _CERTAIN or _DOOR.search(n))]
    headers = {}
    if parts.password is not None:
        pair = f"{unquote(parts.username or '')}:{unquote(parts.password)}"
        packed = base64.b64encode(pair.encode()).decode()
        headers["Authorization"] = f"Basic {packed}"
        secrets += [parts.password, unquote(parts.password), packed]
    # Where the address itself lets us in, only a key that is asked for is looked up.
    if parts.password is None or options.api_key_env is not None:
        key = _find_key(options.api_key_env, str(parts.hostname))
        if key is not None:
            headers["Authorization"] = f"Bearer {key}"
            secrets.append(key)
    # Longest first, so that a secret within a secret does not leave the rest of it standing.
    ordered = tuple(sorted(filter(None, secrets), key=len, reverse=True))
    return Endpoint(shown(parts._replace(path=path).geturl()), parts.query, headers, ordered)


def _find_key(variable: str | None, host: str) -> str | None:
    """The key from the environment, None where none is needed. Raises UsageError."""
    name = variable or KEY_VARIABLE
    key = os.environ.get(name, "").strip()
    if key and not (key.isascii() and key.isprintable() and " " not in key):
        raise UsageError(
            f"the environment variable {name} holds no API key: there are spaces or special "
            "characters in it; set it to the key alone"
        )
    if key:
        return key
    if variable is None and host != "api.openai.com":
        return None  # a server of one's own
    raise UsageError(
        f"the environment variable {name} is not set; it should hold the API key for "
        f"{host}. Set it, or name another variable with --api-key-env"
    )


class OpenAIModel:
    """One model behind one endpoint. A call that fails for good gives a Reply with a reason.

    Where that says that every other call would fail too (nobody there, not let in, no such model,
    no quota), `finish_reason` is `unreachable`.
    """

    cacheable = True

    def __init__(self, name: str, options: ModelOptions) -> None:
        """Raises UsageError for an address, a key, a limit or a wrapper that cannot be used."""
        self.name = name
        self.endpoint = find_endpoint(options)
        self.concurrency = options.max_connections
        self.client = self.endpoint.client(options)
        self._api = options.api
        # Replies as JSON of a schema: most endpoints offer that in the chat API.
        self.offers_schema = options.api == "chat"
        self._extra = options.extra
        self._wrapper = None
        if options.api == "completions" and options.wrapper is not None:
            self._wrapper = read_wrapper(options.wrapper)
        self._url = self.endpoint.url(_PATHS[options.api])
        self._limit_name = "max_tokens"
        self._least_refused = False
        self.signature = f"{options.api}/{name}"
        if self._extra or self._wrapper is not None:  # what changes the answers beside a call's own
            changes = orjson.dumps([self._extra, self._wrapper], option=orjson.OPT_SORT_KEYS)
            self.signature += f"+{sha256(changes).hexdigest()[:12]}"

    def __repr__(self) -> str:
        return f"OpenAIModel({self.name!r}, base_url={self.endpoint.base!r})"

    async def generate(self, request: ChatRequest) -> Reply:
        """One reply. Raises UsageError for parameters that cannot be sent."""
        limiter = self.client.limiter
        tokens = request.estimate_tokens() if limiter.counts_tokens else 0
        limit_name = self._limit_name
        values = self.body(request)
        try:
            body = orjson.dumps(values)
        except TypeError as error:
            reason = f"the call cannot be written as JSON: {error}"
            return Reply(status=Status.ERROR, error=reason, calls=0)
        try:
            reply = await self.client.ask(self._url, body, read_reply, tokens=tokens)
        except HttpError as error:
            if limit_name == "max_tokens" and wants_other_limit(error):
                self._limit_name = "max_completion_tokens"
            # Nearly every reply has a token anyway; a larger least is the user's to give up.
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
        """What is sent for a request, as JSON; a batch file holds the same. Raises UsageError."""
        params = request.params
        body: dict[str, Any] = {"model": self.name}
        if self._api == "chat":
            body["messages"] = [{"role": m.role, "content": m.content} for m in request.messages]
        else:
            body["prompt"] = lay_out(request.messages, self._wrapper)
        for name in _VERBATIM:
            value = getattr(params, name)
            gone = name == "min_tokens" and value == 1 and self._least_refused
            if value is not None and not gone:
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
            raise UsageError(
                "the extra parameter 'stream' cannot be used: replies are read as a whole"
            )
        if taken := _OURS & extra.keys():
            raise UsageError(
                f"the extra parameter {min(taken)!r} would change what is asked, and whom"
            )
        body.update(extra)
        return body

    async def close(self) -> None:
        """Give the connections back."""
        await self.client.close()
