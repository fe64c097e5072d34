"""Models behind an OpenAI-compatible endpoint: chat completions and plain completions."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import orjson

from trueground.errors import UsageError
from trueground.models.base import ChatRequest, Params, Reply, estimate_call, without_secrets
from trueground.models.endpoint import find_endpoint
from trueground.models.openai_errors import failed, refuses, wants_other_limit
from trueground.models.openai_replies import read_reply
from trueground.models.options import ModelOptions
from trueground.models.wrapper import lay_out, read_wrapper
from trueground.net.failures import HttpError
from trueground.types import Status

_PATHS = {"chat": "chat/completions", "completions": "completions"}
_OURS = {"model", "messages", "prompt", "n"}
_VERBATIM = ("temperature", "top_p", "top_k", "min_tokens", "seed")


class OpenAIModel:
    """One model behind one endpoint.

    A call that fails for good gives a Reply with a reason; where it says that every other call
    would fail too (nobody there, not let in, no such model, no quota), `finish_reason` is
    `unreachable`.
    """

    cacheable = True
    offers_schema = True  # replies as JSON of a schema: most endpoints do

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
        self.signature = f"{options.api}/{name}{self._changes()}"

    def __repr__(self) -> str:
        return f"OpenAIModel({self.name!r}, base_url={self.endpoint.base!r})"

    async def generate(self, request: ChatRequest) -> Reply:
        """One reply. Raises UsageError for parameters that cannot be sent."""
        limiter = self.client.limiter
        tokens = estimate_call(request) if limiter.counts_tokens else 0
        limit_name = self._limit_name
        asked = self.body(request)
        try:
            body = orjson.dumps(asked)
        except TypeError as error:
            reason = f"the call cannot be written as JSON: {error}"
            return Reply(status=Status.ERROR, error=reason, calls=0)
        try:
            reply = await self.client.ask(self._url, body, read_reply, tokens=tokens)
        except HttpError as error:
            if limit_name == "max_tokens" and wants_other_limit(error):
                self._limit_name = "max_completion_tokens"
            # Nearly every reply has a token anyway; a larger least is the user's to give up.
            elif asked.get("min_tokens") == 1 and refuses(error, "min_tokens"):
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
        for field in _VERBATIM:
            value = getattr(params, field)
            gone = field == "min_tokens" and value == 1 and self._least_refused
            if value is not None and not gone:
                body[field] = value
        if params.max_tokens is not None:
            body[self._limit_name] = params.max_tokens
        if params.stop:
            body["stop"] = params.stop
        if params.logprobs is not None:
            body.update(self._logprobs(params))
        if self._extra or params.extra:
            body.update(_checked({**self._extra, **params.extra}))
        return body

    async def close(self) -> None:
        """Give the connections back."""
        await self.client.close()

    def _logprobs(self, params: Params) -> dict[str, Any]:
        if self._api == "completions":
            return {"logprobs": params.logprobs}
        if not params.logprobs:
            return {"logprobs": True}
        return {"logprobs": True, "top_logprobs": params.logprobs}

    def _changes(self) -> str:
        """A mark for what changes the answers beside the name and the parameters of a call."""
        if not self._extra and self._wrapper is None:
            return ""
        changes = orjson.dumps([self._extra, self._wrapper], option=orjson.OPT_SORT_KEYS)
        return f"+{sha256(changes).hexdigest()[:12]}"


def _checked(extra: dict[str, Any]) -> dict[str, Any]:
    if extra.get("stream"):
        raise UsageError("the extra parameter 'stream' cannot be used: replies are read as a whole")
    taken = _OURS & extra.keys()
    if taken:
        raise UsageError(f"the extra parameter {min(taken)!r} would change what is asked, and whom")
    return extra
