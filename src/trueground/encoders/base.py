"""What an encoder is: texts in, numbers out; the same numbers whatever else is computed with them.

On a CPU a row's numbers depend, to the last bit, on its own tokens, the weights, the major and
minor version of the library that computes, and the kind of machine (its processor, its system): not
on neighbors in a batch, what was computed before, or the number of threads. Rows are computed in
tiles of fixed shape, each tile by one thread (see `tiles`). On a GPU the same holds
for one kind of GPU and one `batch_rows`, as far as the library's kernels repeat themselves.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueground.components import ComponentSpec
from trueground.errors import UsageError

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

    @classmethod
    def of(cls, spec: ComponentSpec, *, vectors: bool = False) -> EncoderOptions:
        """Read the options of a component's model. UsageError for an invalid value.

        With `vectors` those that only bi-encoders of retrievers have: pooling and similarity.
        """
        options = cls(
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
        if not vectors:
            return options
        return replace(
            options,
            pooling=spec.text("pooling", "", POOLINGS) if "pooling" in spec.options else None,
            similarity=spec.text("similarity", "auto", ("cosine", "dot", "auto")),
        )

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


class TokenStates(NamedTuple):
    """The n tokens of one text, special ones included.

    `vectors` have length 1, shape (n, d). `special` says which tokens the model added, and `ends`
    is the character of the text before which each token ends (0 for those added), shape (n,).
    """

    vectors: Floats
    special: NDArray[np.bool_]
    ends: NDArray[np.int32]
