"""How likely a text is to a language model: from a name to a scorer; how numbers are kept."""

from __future__ import annotations

import hashlib

import msgspec

from trueground.errors import UsageError
from trueground.models.options import OPTIONS, ModelOptions, endpoint_options
from trueground.models.perplexity_base import PromptScorer, UnscoredText, perplexity
from trueground.net.cache import ResponseCache
from trueground.plugins import parse_model_part

__all__ = [
    "PromptScorer",
    "UnscoredText",
    "WordScorer",
    "logprobs_key",
    "make_scorer",
    "perplexity",
    "recall_logprobs",
    "remember_logprobs",
]

# Part of every key: a change of what a kept value means must not meet older entries.
_VERSION = "1"
_PREFIXES = ("fake", "hf")
_EXPECTED = "NAME of a model behind an endpoint, hf:PATH, or fake:words to try things out"
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[float]).decode


class WordScorer:
    """No language model: a word of n characters has the log-probability -n/2. For trying out."""

    name = "fake:words"
    signature = "fake:words"
    cacheable = False

    async def logprobs(self, text: str) -> list[float]:
        """One number for each word but the first. Raises Unscored for a text of one word."""
        found = [-len(word) / 2 for word in text.split()[1:]]
        if not found:
            raise UnscoredText("too_short", "the text has fewer than two words")
        return found

    async def close(self) -> None:
        """Nothing is held."""


def make_scorer(written: str, options: ModelOptions | None = None) -> PromptScorer:
    """The scorer that is written so: `NAME`, `hf:PATH` or `fake:words`.

    Options may stand in parentheses, as `NAME(base_url=URL,api_key_env=KEY)`; a base URL there
    makes every name one of a model behind it. Raises UsageError, MissingExtraError, InputError.
    """
    if not written.partition("(")[0].strip():
        raise UsageError(f"the scorer of perplexities has no name; expected {_EXPECTED}")
    name, given = parse_model_part("perplexity", written)
    given.check(OPTIONS)
    options = endpoint_options(given, "the scorer of perplexities", options)
    prefix, colon, rest = name.partition(":")
    if colon and prefix in _PREFIXES and "base_url" not in given.options:
        if prefix == "hf" and rest:
            from trueground.models.perplexity_hf import LocalScorer

            return LocalScorer(rest, options)
        if name != WordScorer.name:
            raise UsageError(f"{name!r} gives no perplexities; expected {_EXPECTED}")
        return WordScorer()
    from trueground.models.perplexity_endpoint import EndpointScorer

    return EndpointScorer(name, options)


def logprobs_key(scorer: PromptScorer, text: str) -> str:
    """SHA-256 (hex) of the scorer's signature and the text: under it the numbers are kept."""
    head = msgspec.json.encode(["perplexity", _VERSION, scorer.signature])
    return hashlib.sha256(head + text.encode("utf-8", "surrogatepass")).hexdigest()


def recall_logprobs(cache: ResponseCache, key: str) -> list[float] | None:
    """The numbers kept under the key; None if there are none that can be read."""
    value = cache.get(key)
    try:
        return None if value is None else _decode(value)
    except msgspec.MsgspecError:
        return None  # asking again gives good ones, which take their place


def remember_logprobs(cache: ResponseCache, key: str, model: str, found: list[float]) -> None:
    """Keep the numbers of a text."""
    cache.put(key, _encode(found), model=model, tokens=len(found) + 1)
