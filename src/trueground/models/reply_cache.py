"""Replies in the response cache."""

from __future__ import annotations

import msgspec

from trueground.models.base import Reply
from trueground.net import ResponseCache
from trueground.types import Status

CACHED_STATUSES = (None, Status.TRUNCATED)
# Not JSON: a log-probability may be minus infinity.
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Reply).decode


def load_cached_reply(cache: ResponseCache, key: str) -> Reply | None:
    """Return the reply cached under the key; None if there is none that can be read."""
    value = cache.get(key)
    if value is None:
        return None
    try:
        reply = _decode(value)
    except msgspec.MsgspecError:
        # A new request gives a good one, which replaces it.
        return None
    # Older versions cached replies without a text as empty answers: request these again.
    is_doubtful = not reply.text and reply.status is None and reply.finish_reason is not None
    return None if is_doubtful else reply


def cache_reply(cache: ResponseCache, key: str, model: str, reply: Reply) -> None:
    """Cache a complete or truncated reply. A failed request may succeed the next time."""
    if reply.status in CACHED_STATUSES:
        tokens = reply.usage.tokens_in + reply.usage.tokens_out
        cache.put(key, _encode(reply), model=model, tokens=tokens)
