"""What an encoder is: texts in, numbers out; the same numbers whatever else is asked with them.

On a CPU a row's numbers depend, to the last bit, on its own tokens, the weights, the major and
minor version of the library that computes, and the kind of machine (its processor, its system): not
on neighbours in a batch, what was asked before, or the number of threads. Rows are computed in
tiles of fixed shape (see `tiles`), each tile by one thread (see `workers`). On a GPU the same holds
for one kind of GPU and one `batch_rows`, as far as the library's kernels repeat themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Pair = tuple[str, str]
# Two texts or more; before each one after the second stands the token that ends a text.
Parts = tuple[str, ...]
# A text, or several between which the token stands that ends a text for this model.
Prompt = str | tuple[str, ...]


class Windowed(Protocol):
    """What all encoders have.

    `signature` names the weights (revision or hash), the library with its version (torch-2.13), the
    arithmetic (float32, int8) and the window; not the kind of machine. `window` is the most tokens
    of one input, special tokens included; `specials` how many of them special tokens take.
    """

    name: str
    signature: str
    window: int
    specials: int

    def lengths(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, without truncation and without those that the model adds.

        What looks like a special token ("[SEP]", "</s>") is read as the text that it is, here and
        wherever a text is encoded.
        """
        ...

    def close(self) -> None:
        """Give memory back; asking again loads anew."""
        ...


class TextEncoder(Windowed, Protocol):
    """A bi-encoder: one vector for a text."""

    def encode(self, texts: Sequence[str]) -> Floats:
        """Unit vectors, shape (n, d). A text beyond the window is cut off at it."""
        ...


class PassageEncoder(TextEncoder, Protocol):
    """A bi-encoder for retrieval: of questions, of passages, or of both.

    `similarity` is `cosine` or `dot`; only for cosine are vectors of unit length. `space` names
    what vectors of it can be compared with: weights, window, pooling and similarity, but neither
    library nor device. `width` is d. `only`: "questions" or "passages" where the model knows
    nothing else (DPR), else None.
    """

    similarity: str
    space: str
    width: int
    only: str | None

    def encode_queries(self, queries: Sequence[Sequence[str]]) -> Floats:
        """Vectors of questions, each the last of its turns, shape (n, d).

        Between turns stands the token that ends a text for this model ([SEP], </s>), or a space
        where it has none. Beyond the window the beginning is cut off, so that the question stays.
        """
        ...

    def encode_passages(self, passages: Sequence[Pair]) -> Floats:
        """Vectors of (title, text), shape (n, d); the title may be empty.

        DPR reads title and text with [SEP] between, others with a space. Cut off at the window.
        They are not kept: a corpus has too many.
        """
        ...


class TokenStates(NamedTuple):
    """The n tokens of one text, special ones included.

    `vectors` have length 1, shape (n, d). `special` says which tokens the model added, and `ends`
    is the character of the text before which each token ends (0 for those added), shape (n,).
    """

    vectors: Floats
    special: NDArray[np.bool_]
    ends: NDArray[np.int32]


class TokenEncoder(Windowed, Protocol):
    """A model that gives one vector for each token of a text: the states of one of its layers."""

    def states(self, texts: Sequence[str]) -> list[TokenStates]:
        """The tokens of each text. A text beyond the window is cut off at it."""
        ...


class PairScorer(Windowed, Protocol):
    """A model that reads two texts together: a cross-encoder, or a classifier of entailment.

    `labels` are the names of its outputs, lower case; a cross-encoder has one.
    """

    labels: tuple[str, ...]

    def scores(self, pairs: Sequence[Pair]) -> Floats:
        """Raw logits, shape (n, len(labels)). The second text is cut off at the window."""
        ...


class PartsScorer(Windowed, Protocol):
    """A pair scorer that can also read more than two texts; see `Parts`."""

    labels: tuple[str, ...]

    def scores(self, parts: Sequence[Parts]) -> Floats:
        """Raw logits, shape (n, len(labels)). What follows the first text is cut off at the window.

        Each text after the second takes one more token.
        """
        ...


class TextToText(Windowed, Protocol):
    """A sequence-to-sequence model that is asked for one word."""

    def prompt_lengths(self, prompts: Sequence[Prompt]) -> list[int]:
        """Tokens of each prompt, special ones included, without truncation."""
        ...

    def first_token(self, prompts: Sequence[Prompt], words: Sequence[str]) -> Floats:
        """Raw logits of each word as the first token of the answer, shape (n, len(words)).

        UsageError for a word that is not one token. A prompt is cut off at the window.
        """
        ...
