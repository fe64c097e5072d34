"""How many tokens a call may take, before anybody has counted them."""

from __future__ import annotations

from collections.abc import Iterable

from trueground.models.base import ChatRequest, Message

CHARACTERS_PER_TOKEN = 4
# What an answer may take where the call sets no limit.
DEFAULT_TOKENS_OUT = 256


def estimate_tokens(messages: Iterable[Message]) -> int:
    """Tokens of the messages: a quarter of their characters, rounded up."""
    return -(-sum(len(message.content) for message in messages) // CHARACTERS_PER_TOKEN)


def estimate_call(request: ChatRequest) -> int:
    """Tokens of the messages and of the longest answer that the call allows."""
    limit = request.params.max_tokens
    return estimate_tokens(request.messages) + (DEFAULT_TOKENS_OUT if limit is None else limit)
