"""How an encoder is run, and what of that cannot be meant."""

from __future__ import annotations

from dataclasses import dataclass

from trueground.errors import UsageError
from trueground.plugins import PartSpec

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
    """`backend` auto: ONNX runtime where it is installed and the folder has an .onnx file.

    `file`: which .onnx file, relative to the folder. `revision`: a branch, tag or commit on the
    Hub. `batch_rows`: rows at a time on a GPU (on a CPU the number is fixed: it is part of the
    arithmetic). `cache` False leaves the file of earlier results out. `window`: tokens of one
    input, where the model's own files are to be overruled; so `pooling`. `similarity`: what a
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


def encoder_options(given: PartSpec) -> EncoderOptions:
    """How the model of a part is run. UsageError for a value that cannot be meant."""
    options = EncoderOptions(
        backend=given.text("backend", "auto", BACKENDS),
        dtype=given.text("dtype", "float32", DTYPES),
        device=given.text("device", "auto", DEVICES),
        file=given.options.get("file"),
        revision=given.options.get("revision"),
        batch_rows=given.whole("batch_rows", 1) if "batch_rows" in given.options else None,
        cache=given.cache,
        trust_remote_code=given.text("trust_remote_code", "false", ("false", "true")) == "true",
        window=given.whole("window", 8, 8) if "window" in given.options else None,
    )
    options.check()
    return options
