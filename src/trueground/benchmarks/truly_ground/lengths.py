"""What a token is: the tested model's own, another tokenizer's, or a stated approximation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

CHARACTERS = 4  # to a token
APPROXIMATION = f"{CHARACTERS} characters a token"
_LOCAL = "hf:"


@dataclass(frozen=True)
class TokenCounter:
    """`count(texts)` gives the tokens of each; `name` says whose, as part of a run's identity."""

    name: str
    count: Callable[[Sequence[str]], list[int]]


def make_counter(tokenizer: str | None, model: str | None) -> TokenCounter:
    """The tokenizer named, or that of a model `hf:…`, or 4 characters a token.

    Raises UsageError, InputError, MissingExtraError where the tokenizer cannot be loaded.
    """
    if tokenizer is None and model is not None and model.startswith(_LOCAL):
        tokenizer = model.removeprefix(_LOCAL)
    if tokenizer is None:
        return TokenCounter(APPROXIMATION, _approximately)
    from trueground.encoders import token_counter

    return TokenCounter(_name(tokenizer), token_counter(tokenizer))


def _approximately(texts: Sequence[str]) -> list[int]:
    return [-(-len(text) // CHARACTERS) for text in texts]


def _name(tokenizer: str) -> str:
    """A file is named by its content, so that it may lie elsewhere on another machine."""
    place = Path(tokenizer).expanduser()
    file = place / "tokenizer.json" if place.is_dir() else place
    if not file.is_file():
        return tokenizer
    return f"tokenizer.json sha256:{sha256(file.read_bytes()).hexdigest()[:16]}"
