"""Reading prompt log-probabilities in the two forms in which endpoints send them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

from trueground.models.perplexity_base import UnscoredText, as_logprob


class NoLogprobs(Exception):  # noqa: N818 - says that this form is not offered
    """A reply without log-probabilities of the prompt, and what it holds instead."""


def of_echo(choice: Mapping[str, Any], usage: Mapping[str, Any], text: str) -> list[float]:
    """From a completion that repeats the prompt: `logprobs.tokens` and `.token_logprobs`.

    Tokens that were generated after the prompt are left out. Raises NoLogprobs, Unscored.
    """
    logprobs = choice.get("logprobs")
    if not isinstance(logprobs, dict):
        raise NoLogprobs("the reply holds no logprobs")
    tokens, numbers = logprobs.get("tokens"), logprobs.get("token_logprobs")
    if not (isinstance(tokens, list) and tokens and isinstance(numbers, list)):
        raise NoLogprobs("logprobs holds no lists of tokens and token_logprobs")
    if not all(isinstance(token, str) for token in tokens):
        raise NoLogprobs("a token in logprobs is no text")
    if len(tokens) != len(numbers):
        raise NoLogprobs(f"{len(tokens)} tokens and {len(numbers)} log-probabilities of them")
    end = _end_of_prompt(tokens, logprobs.get("text_offset"), choice.get("text"), usage, text)
    return _numbers(numbers[:end])


def of_prompt_logprobs(
    choice: Mapping[str, Any], _usage: Mapping[str, Any], _text: str
) -> list[float]:
    """From `prompt_logprobs`: null, then for each token {token id: {logprob, rank, …}}.

    Raises NoLogprobs, Unscored.
    """
    rows = choice.get("prompt_logprobs")
    if not isinstance(rows, list) or not rows:
        raise NoLogprobs("the reply holds no prompt_logprobs")
    return _numbers([rows[0], *(_own(row) for row in rows[1:])])


def _own(row: Any) -> Any:
    """The number of the token that stands there; beside it the likeliest one may be named."""
    if not isinstance(row, dict) or not row:
        raise NoLogprobs("an entry of prompt_logprobs is no object of tokens")
    entries = list(row.values())
    if not all(isinstance(entry, dict) and "logprob" in entry for entry in entries):
        raise NoLogprobs("an entry of prompt_logprobs has no logprob")
    if len(entries) == 1:
        return entries[0]["logprob"]
    ranks = [entry.get("rank") for entry in entries]
    if len(entries) > 2 or not all(isinstance(rank, int) for rank in ranks):
        raise NoLogprobs("prompt_logprobs does not say which token is the text's own")
    return entries[ranks.index(max(ranks))]["logprob"]


def _end_of_prompt(
    tokens: Sequence[str], offsets: Any, echoed: Any, usage: Mapping[str, Any], text: str
) -> int:
    """How many of the tokens are the prompt's. Raises NoLogprobs if it was not repeated.

    The first may be a mark that stands for the beginning. Tokens need not join to the text (half a
    character, a space that is understood): then the endpoint's own count is taken, or the offsets.
    """
    for start in (0, 1):
        lengths = list(accumulate(map(len, tokens[start:])))
        if "".join(tokens[start:]).startswith(text) and len(text) in lengths:
            return start + lengths.index(len(text)) + 1
    if not isinstance(echoed, str) or not echoed.startswith(text):
        raise NoLogprobs("the prompt was not sent back")
    count = usage.get("prompt_tokens")
    if isinstance(count, int) and 0 < count <= len(tokens):
        return count
    if isinstance(offsets, list) and len(offsets) == len(tokens) and _are_whole(offsets):
        return sum(offset < len(text) for offset in offsets)
    raise NoLogprobs("the reply does not show which tokens are the prompt's")


def _numbers(found: Sequence[Any]) -> list[float]:
    """All but the first, which has nothing before it. Raises NoLogprobs, Unscored."""
    if len(found) < 2:
        raise UnscoredText("too_short", "the text has one token")
    try:
        return [as_logprob(number) for number in found[1:]]
    except ValueError as error:
        raise NoLogprobs(str(error)) from None


def _are_whole(value: list[Any]) -> bool:
    return all(isinstance(one, int) for one in value)
