"""What an encoder is: texts in, numbers out; the same numbers whatever else is computed with them.

On a CPU a row's numbers depend, to the last bit, on its own tokens, the weights, the major and
minor version of the library that computes, and the kind of machine (its processor, its system): not
on neighbours in a batch, what was computed before, or the number of threads. Rows are computed in
tiles of fixed shape, each tile by one thread (see `tiles`). On a GPU the same holds
for one kind of GPU and one `batch_rows`, as far as the library's kernels repeat themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from trueground.errors import UsageError
from trueground.plugins import PartSpec

Floats = NDArray[np.float32]
Pair = tuple[str, str]
# A text or more; before each one after the second stands the token that ends a text.
Parts = tuple[str, ...]
# A text, or several between which the token stands that ends a text for this model.
Prompt = str | tuple[str, ...]


BACKENDS = ("auto", "onnx", "torch")
DTYPES = ("float32", "int8", "float16", "bfloat16")
DEVICES = ("auto", "cpu", "cuda")
POOLINGS = ("mean", "cls", "max")
SIMILARITIES = ("cosine", "dot", "auto")

_ALLOWED = {
    "backend": BACKENDS,
    "dtype": DTYPES,
    "device": DEVICES,
    "pooling": POOLINGS,
    "similarity": SIMILARITIES,
}


@dataclass(frozen=True)
class EncoderOptions:
    """How an encoder is run.

    `backend` auto: ONNX runtime where it is installed and the folder has an .onnx file.

    `file`: which .onnx file, relative to the folder. `revision`: a branch, tag or commit on the
    Hub. `batch_rows`: rows at a time on a GPU (on a CPU the number is fixed: it is part of the
    arithmetic). `cache` False leaves the file of earlier results out. `window`: tokens of one
    input, where the model's own files are to be overruled; likewise `pooling`. `similarity`: what a
    bi-encoder's vectors are compared by; cosine makes unit vectors of them, dot leaves them, and
    auto is what the model was trained for.
    """

    backend: str = "auto"
    dtype: str = "float32"
    device: str = "auto"
    file: str | None = None
    revision: str | None = None
    batch_rows: int | None = None
    cache: bool = True
    trust_remote_code: bool = False
    window: int | None = None
    pooling: str | None = None
    similarity: str = "cosine"

    def check(self) -> None:
        """UsageError for a value that cannot be meant, or two that exclude each other."""
        for option, allowed in _ALLOWED.items():
            value = getattr(self, option)
            if value is not None and value not in allowed:
                raise UsageError(f"{option} {value!r}; expected one of {', '.join(allowed)}")
        if self.batch_rows is not None and self.batch_rows < 1:
            raise UsageError(f"batch_rows {self.batch_rows}; expected 1 or more")
        if self.window is not None and self.window < 8:
            raise UsageError(f"window {self.window}; expected 8 tokens or more")
        if self.file is not None and self.backend == "torch":
            raise UsageError(
                f"file {self.file!r} names an ONNX file; leave it out, or use backend=onnx"
            )
        if self.dtype == "int8" and self.device == "cuda":
            raise UsageError("dtype int8 runs on the CPU; use device=cpu, or dtype=float16")
        if self.trust_remote_code and self.backend == "onnx":
            raise UsageError("an ONNX file brings no code; leave trust_remote_code out")


def encoder_options(spec: PartSpec) -> EncoderOptions:
    """The options of a part's model. UsageError for a value that cannot be meant."""
    options = EncoderOptions(
        backend=spec.text("backend", "auto", BACKENDS),
        dtype=spec.text("dtype", "float32", DTYPES),
        device=spec.text("device", "auto", DEVICES),
        file=spec.options.get("file"),
        revision=spec.options.get("revision"),
        batch_rows=spec.whole("batch_rows", 1) if "batch_rows" in spec.options else None,
        cache=spec.cache,
        trust_remote_code=spec.text("trust_remote_code", "false", ("false", "true")) == "true",
        window=spec.whole("window", 8, 8) if "window" in spec.options else None,
    )
    options.check()
    return options


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
        They are not cached: a corpus has too many.
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
    """A pair scorer that can also read one text, or more than two; see `Parts`."""

    labels: tuple[str, ...]

    def scores(self, parts: Sequence[Parts]) -> Floats:
        """Raw logits, shape (n, len(labels)). What follows the first text is cut off at the window.

        Each text after the second takes one more token.
        """
        ...


class TokenScorer(Windowed, Protocol):
    """A token classifier that reads two texts together and labels the tokens of the second.

    `labels` are the names of its outputs, lower case.
    """

    labels: tuple[str, ...]

    def scores(self, pairs: Sequence[Pair]) -> list[Floats]:
        """Raw logits of the second text's tokens, shape (tokens, len(labels)) for each pair.

        The second text is cut off at the window.
        """
        ...

    def ends(self, text: str) -> list[int]:
        """The character of the text before which each of its tokens ends."""
        ...


class TokenComparer(Windowed, Protocol):
    """A bi-encoder that also compares two texts token by token; see `late.FEATURES`."""

    def compare(self, pairs: Sequence[Pair]) -> Floats:
        """Four similarities of each (claim, evidence), shape (n, 4); cut off at the window."""
        ...


class TextToText(Windowed, Protocol):
    """A sequence-to-sequence model whose answer is one word."""

    def prompt_lengths(self, prompts: Sequence[Prompt]) -> list[int]:
        """Tokens of each prompt, special ones included, without truncation."""
        ...

    def first_token(self, prompts: Sequence[Prompt], words: Sequence[str]) -> Floats:
        """Raw logits of each word as the first token of the answer, shape (n, len(words)).

        UsageError for a word that is not one token. A prompt is cut off at the window.
        """
        ...
