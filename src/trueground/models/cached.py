"""Replies that were paid for once: under which key they are kept, and how.

A key depends on who answers, what is asked and how, and on nothing else: not on the endpoint, the
machine or the account.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import msgspec

from trueground.models.base import ChatRequest, Message, Params, Reply
from trueground.net.cache import ResponseCache
from trueground.types import Status

# Part of every key: a change of what a key or a kept reply means must not meet older entries.
_VERSION = "1"
_KEPT = (None, Status.TRUNCATED)
_canonical = msgspec.json.Encoder(order="sorted").encode
# Not JSON: a log-probability may be minus infinity.
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Reply).decode


def request_key(signature: str, request: ChatRequest) -> str:
    """SHA-256 (hex) of the model's signature, the messages, the parameters and the draw."""
    words = (_VERSION, signature, request.messages, _settled(request.params), request.draw)
    return hashlib.sha256(_canonical(words)).hexdigest()


def prompt_sha256(messages: Sequence[Message]) -> str:
    """SHA-256 (hex) of the messages alone."""
    return hashlib.sha256(_canonical(messages)).hexdigest()


def encode_reply(reply: Reply) -> bytes:
    """The reply as bytes; `decode_reply` gives an equal one back."""
    return _encode(reply)


def decode_reply(value: bytes) -> Reply:
    """The reply that was encoded. Raises msgspec.MsgspecError for other bytes."""
    return _decode(value)


def recall(cache: ResponseCache, key: str) -> Reply | None:
    """The reply kept under the key; None if there is none that can be read."""
    value = cache.get(key)
    if value is None:
        return None
    try:
        reply = decode_reply(value)
    except msgspec.MsgspecError:
        # Asking again gives a good one, which takes its place.
        return None
    # What endpoints sent without a text was once kept as an empty answer: that is asked again.
    doubtful = not reply.text and reply.status is None and reply.finish_reason is not None
    return None if doubtful else reply


def remember(cache: ResponseCache, key: str, model: str, reply: Reply) -> None:
    """Keep a reply that is whole or truncated; one that failed may succeed the next time."""
    if reply.status in _KEPT:
        tokens = reply.usage.tokens_in + reply.usage.tokens_out
        cache.put(key, encode_reply(reply), model=model, tokens=tokens)


def _settled(params: Params) -> Params:
    """The same parameters with 0 written as 0.0, where a number need not be whole."""
    whole = {
        name: float(value)
        for name in ("temperature", "top_p")
        if type(value := getattr(params, name)) is int
    }
    return msgspec.structs.replace(params, **whole) if whole else params
