"""Tiles through ONNX runtime."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from trueground.encoders.base import Floats
from trueground.encoders.folders import Checkpoint
from trueground.encoders.kinds import TEXT, WORDS, Kind, is_dpr
from trueground.encoders.tiles import Tile, Whole
from trueground.encoders.torch_backend import decoder_start
from trueground.encoders.workers import Workers, named
from trueground.errors import InputError, UsageError
from trueground.net import checkpoints

_TYPES = {"tensor(int64)": np.int64, "tensor(int32)": np.int32, "tensor(float)": np.float32}
_CUDA = "CUDAExecutionProvider"


def needed() -> Any:
    """The ONNX runtime, told to report nothing to anybody."""
    runtime = checkpoints.needed("onnxruntime", "an encoder on ONNX runtime", "onnx")
    runtime.disable_telemetry_events()
    return runtime


def onnx_device(asked: str) -> str:
    """cpu or cuda. UsageError for a GPU that this ONNX runtime cannot use."""
    if asked == "cpu":
        return "cpu"
    if _CUDA in needed().get_available_providers():
        return "cuda"
    if asked == "cuda":
        raise UsageError(
            "device cuda: this ONNX runtime has no CUDA; install onnxruntime-gpu, use "
            "backend=torch, or device=cpu"
        )
    return "cpu"


class OnnxBackend:
    """Computes tiles; the files are loaded with the first one."""

    def __init__(self, checkpoint: Checkpoint, kind: Kind, device: str) -> None:
        self._checkpoint = checkpoint
        self._kind = kind
        self._device = device
        self.version = named("onnxruntime", "onnxruntime-gpu")

    @contextmanager
    def computing(self) -> Iterator[Workers | None]:
        """Files loaded; on a CPU those who compute tiles, each with one thread."""
        _ = self._sessions  # here, not in several threads at once
        yield None if self._device == "cuda" else self._workers

    def run(self, tile: Tile) -> Floats:
        """States of all tokens, or logits, or logits at the decoder's first position."""
        given: dict[str, Any] = {
            "input_ids": tile.ids,
            "attention_mask": tile.mask,
            "token_type_ids": tile.types,
        }
        first, *rest = self._sessions
        if self._kind is TEXT and is_dpr(self._checkpoint.config):
            return self._asked(first, given, ("pooler_output",), 2)[:, None]
        if self._kind is not WORDS:
            names = ("last_hidden_state", "token_embeddings") if self._kind is TEXT else ("logits",)
            return self._asked(first, given, names, 3 if self._kind is TEXT else 2)
        states = self._asked(first, given, ("last_hidden_state",), 3)
        start: Whole = np.full((len(tile.ids), 1), decoder_start(self._checkpoint), np.int64)
        given = {
            "input_ids": start,
            "encoder_hidden_states": states,
            "encoder_attention_mask": tile.mask,
        }
        return self._asked(rest[0], given, ("logits",), 3)[:, 0]

    def close(self) -> None:
        """Give the memory back."""
        workers: Workers | None = self.__dict__.pop("_workers", None)
        if workers is not None:
            workers.close()
        self.__dict__.pop("_sessions", None)

    @cached_property
    def _workers(self) -> Workers:
        return Workers()

    @cached_property
    def _sessions(self) -> list[Any]:
        return [self._session(file) for file in self._checkpoint.onnx]

    def _session(self, file: Path) -> Any:
        runtime = needed()
        options = runtime.SessionOptions()
        if self._device == "cpu":
            options.intra_op_num_threads = 1  # see `workers`
        options.log_severity_level = 4  # what goes wrong is raised, in words
        providers = ["CPUExecutionProvider"]
        if self._device == "cuda":
            providers.insert(0, _CUDA)
        try:
            return runtime.InferenceSession(str(file), options, providers=providers)
        except Exception as error:  # the runtime has exceptions of several families
            raise InputError(
                f"{self._checkpoint.shown}: {file.name} cannot be loaded: "
                f"{checkpoints.reason(error)}. Fetch or export it again."
            ) from error

    def _asked(
        self, session: Any, given: dict[str, Any], names: tuple[str, ...], rank: int
    ) -> Floats:
        """The output of one of those names, else the only one of that many dimensions."""
        feed = {}
        for wanted in session.get_inputs():
            if wanted.name not in given or wanted.type not in _TYPES:
                raise InputError(
                    f"{self._checkpoint.shown}: the ONNX file wants an input {wanted.name!r} "
                    f"({wanted.type}); expected {', '.join(given)}. Export the model plainly."
                )
            feed[wanted.name] = given[wanted.name].astype(_TYPES[wanted.type])
        there = {output.name: len(output.shape) for output in session.get_outputs()}
        fitting = [name for name in names if there.get(name) == rank] or [
            name for name, dimensions in there.items() if dimensions == rank
        ]
        if not fitting:
            raise InputError(
                f"{self._checkpoint.shown}: the ONNX file gives {', '.join(there)}; expected "
                f"{' or '.join(names)} with {rank} dimensions. Export it for this task."
            )
        try:
            return np.asarray(session.run([fitting[0]], feed)[0], dtype=np.float32)
        except Exception as error:  # the runtime has exceptions of several families
            raise InputError(
                f"{self._checkpoint.shown}: the ONNX file fails on {len(given['input_ids'])} "
                f"inputs: {checkpoints.reason(error)}. Export it with free numbers of rows and "
                "tokens."
            ) from error
