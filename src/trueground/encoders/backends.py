"""What computes tiles: PyTorch (safetensors; float32, half precision, int8) or ONNX runtime."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property
from importlib.metadata import version
from inspect import signature
from pathlib import Path
from threading import Lock
from typing import Any, Protocol

import numpy as np

from trueground.encoders.base import EncoderOptions, Floats
from trueground.encoders.loading import Checkpoint, ModelKind, class_to_load, is_dpr
from trueground.encoders.tiles import TokenTile, Whole, Workers, library_version
from trueground.errors import InputError, UsageError
from trueground.net import RequestedModel, import_optional, reason

_TYPES = {"tensor(int64)": np.int64, "tensor(int32)": np.int32, "tensor(float)": np.float32}
_CUDA = "CUDAExecutionProvider"
_computing = Lock()


class Backend(Protocol):
    """Tiles in, numbers out; `version` names the library. Weights are loaded with the first tile.

    Tiles are run while `computing`, by the workers that it gives, or one after the other (None).
    """

    version: str

    def computing(self) -> AbstractContextManager[Workers | None]: ...

    def run(self, tile: TokenTile) -> Floats:
        """States of all tokens, or logits, or logits at the decoder's first position."""
        ...

    def close(self) -> None:
        """Give the memory back."""
        ...


def import_hf(module: str) -> Any:
    """A module of the `hf` extra."""
    return import_optional(module, "an encoder on PyTorch", "hf")


def torch_device(place: str) -> str:
    """cpu or cuda. UsageError for a GPU that is not there."""
    if place == "cpu" or (place == "auto" and version("torch").endswith("+cpu")):
        return "cpu"  # answered without the seconds that importing torch takes
    if import_hf("torch").cuda.is_available():
        return "cuda"
    if place == "cuda":
        raise UsageError("device cuda: PyTorch finds no NVIDIA GPU here; use device=cpu")
    return "cpu"


class TorchBackend:
    """PyTorch; see `Backend`."""

    def __init__(
        self,
        checkpoint: Checkpoint,
        options: EncoderOptions,
        kind: ModelKind,
        device: str,
        layers: int | None = None,
    ) -> None:
        self._checkpoint = checkpoint
        self._options = options
        self._kind = kind
        self._device = device
        self._changes = {} if layers is None else {"num_hidden_layers": layers}
        self.version = library_version("torch")

    @contextmanager
    def computing(self) -> Iterator[Workers | None]:
        _ = self._typed  # here, not in several threads at once
        if self._device == "cuda":
            yield None
            return
        with _one_thread(import_hf("torch")):
            yield self._workers

    def run(self, tile: TokenTile) -> Floats:
        torch = import_hf("torch")
        inputs = {"input_ids": tile.ids, "attention_mask": tile.mask}
        if self._typed:
            inputs["token_type_ids"] = tile.types
        tensors = {name: torch.from_numpy(a).to(self._device) for name, a in inputs.items()}
        if self._kind is ModelKind.WORDS:
            start = np.full((len(tile.ids), 1), decoder_start(self._checkpoint), np.int64)
            tensors["decoder_input_ids"] = torch.from_numpy(start).to(self._device)
        with torch.inference_mode():
            output = self._model(**tensors)
            numbers = self._states(output) if self._kind is ModelKind.TEXT else output.logits
            if self._kind is ModelKind.WORDS:
                numbers = numbers[:, 0]
            return np.asarray(numbers.float().cpu().numpy(), dtype=np.float32)

    @property
    def model(self) -> Any:
        """The model itself, loaded; for those that run it in another way."""
        return self._model

    @property
    def typed(self) -> bool:
        """Whether the model takes types: which of two texts a token belongs to."""
        return self._typed

    def _states(self, output: Any) -> Any:
        """Vectors of all tokens; of DPR only the text's own, in the place of the first token."""
        if is_dpr(self._checkpoint.config):
            return output.pooler_output[:, None]
        return output.last_hidden_state

    def close(self) -> None:
        workers: Workers | None = self.__dict__.pop("_workers", None)
        if workers is not None:
            workers.close()
        if "_model" in self.__dict__:
            del self.__dict__["_model"]
            self.__dict__.pop("_typed", None)
            gc.collect()
            if self._device == "cuda":
                import_hf("torch").cuda.empty_cache()

    @cached_property
    def _workers(self) -> Workers:
        torch = import_hf("torch")
        return Workers(lambda: torch.set_num_threads(1))

    @cached_property
    def _typed(self) -> bool:
        return "token_type_ids" in signature(self._model.forward).parameters

    @cached_property
    def _model(self) -> Any:
        torch, requested = import_hf("torch"), RequestedModel(self._checkpoint.shown)
        int8 = self._options.dtype == "int8"
        with requested.loading(import_hf, "say trust_remote_code=true") as transformers:
            model, info = getattr(
                transformers, class_to_load(self._checkpoint.config, self._kind)
            ).from_pretrained(
                str(self._checkpoint.folder),
                use_safetensors=True,
                dtype=torch.float32 if int8 else getattr(torch, self._options.dtype),
                output_loading_info=True,
                trust_remote_code=self._options.trust_remote_code,
                **self._changes,
            )
            missing = [key for key in info["missing_keys"] if not self._is_unused(key)]
            requested.check_complete(missing)
            model.eval()
            if int8:
                return _quantise(torch, model)
            if self._device == "cpu":
                _one_by_one(torch, model)
            return model.to(self._device)

    def _is_unused(self, key: str) -> bool:
        """A bi-encoder's vectors are taken before the pooler: many folders come without it."""
        return self._kind is ModelKind.TEXT and key.startswith("pooler.")


@contextmanager
def _one_thread(torch: Any) -> Iterator[None]:
    """One thread for each product. The user's own number comes back afterwards.

    OpenMP has a number for each thread, but MKL one for the process, and so have threads that begin
    later: it holds as long as tiles are computed, and one encoder computes at a time.
    """
    with _computing:
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            yield
        finally:
            torch.set_num_threads(threads)


def decoder_start(checkpoint: Checkpoint) -> int:
    """The token that a text-to-text model's answer begins with."""
    for name in ("decoder_start_token_id", "pad_token_id"):
        value = checkpoint.config.get(name)
        if isinstance(value, int):
            return value
    return 0


def _one_by_one(torch: Any, model: Any) -> None:
    """Let layers that see one vector for each row of a tile compute each vector alone.

    With so few vectors the library's kernels differ with the place in the tile: measured here for
    a head from 32 numbers to 3. Layers that see all tokens have 128 vectors and more.
    """

    def alone(linear: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def forward(inputs: Any) -> Any:
            if inputs.numel() != len(inputs) * inputs.shape[-1]:
                return linear(inputs)
            return torch.cat([linear(vector) for vector in inputs.split(1)])

        return forward

    for layer in model.modules():
        if isinstance(layer, torch.nn.Linear):
            layer.forward = alone(layer.forward)


def _quantise(torch: Any, model: Any) -> Any:
    with warnings.catch_warnings():
        # Both announce that a later PyTorch has this elsewhere; the user can do nothing about it.
        warnings.filterwarnings("ignore", message=r"torch\.ao\.quantization is deprecated")
        warnings.filterwarnings("ignore", message=r"torch\.quantize_per_tensor, .* are deprecated")
        # One scale for each output, not one for all: nearer to float32, and no slower.
        by_channel = torch.ao.quantization.per_channel_dynamic_qconfig
        return torch.ao.quantization.quantize_dynamic(
            model, {torch.nn.Linear: by_channel}, inplace=True
        )


def _onnxruntime() -> Any:
    """The ONNX runtime, told to report nothing to anybody."""
    runtime = import_optional("onnxruntime", "an encoder on ONNX runtime", "onnx")
    runtime.disable_telemetry_events()
    return runtime


def onnx_device(place: str) -> str:
    """cpu or cuda. UsageError for a GPU that this ONNX runtime cannot use."""
    if place == "cpu":
        return "cpu"
    if _CUDA in _onnxruntime().get_available_providers():
        return "cuda"
    if place == "cuda":
        raise UsageError(
            "device cuda: this ONNX runtime has no CUDA; install onnxruntime-gpu, use "
            "backend=torch, or device=cpu"
        )
    return "cpu"


class OnnxBackend:
    """ONNX runtime; see `Backend`."""

    def __init__(self, checkpoint: Checkpoint, kind: ModelKind, device: str) -> None:
        self._checkpoint = checkpoint
        self._kind = kind
        self._device = device
        self.version = library_version("onnxruntime", "onnxruntime-gpu")

    @contextmanager
    def computing(self) -> Iterator[Workers | None]:
        _ = self._sessions  # here, not in several threads at once
        yield None if self._device == "cuda" else self._workers

    def run(self, tile: TokenTile) -> Floats:
        inputs: dict[str, Any] = {
            "input_ids": tile.ids,
            "attention_mask": tile.mask,
            "token_type_ids": tile.types,
        }
        first, *rest = self._sessions
        if self._kind is ModelKind.TEXT and is_dpr(self._checkpoint.config):
            return self._output(first, inputs, ("pooler_output",), 2)[:, None]
        if self._kind is not ModelKind.WORDS:
            is_text = self._kind is ModelKind.TEXT
            names = ("last_hidden_state", "token_embeddings") if is_text else ("logits",)
            dimensions = 3 if self._kind in (ModelKind.TEXT, ModelKind.TOKENS) else 2
            return self._output(first, inputs, names, dimensions)
        states = self._output(first, inputs, ("last_hidden_state",), 3)
        start: Whole = np.full((len(tile.ids), 1), decoder_start(self._checkpoint), np.int64)
        inputs = {
            "input_ids": start,
            "encoder_hidden_states": states,
            "encoder_attention_mask": tile.mask,
        }
        return self._output(rest[0], inputs, ("logits",), 3)[:, 0]

    def close(self) -> None:
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
        runtime = _onnxruntime()
        options = runtime.SessionOptions()
        if self._device == "cpu":
            options.intra_op_num_threads = 1  # see `Workers`
        options.log_severity_level = 4  # what goes wrong is raised, in words
        providers = ["CPUExecutionProvider"]
        if self._device == "cuda":
            providers.insert(0, _CUDA)
        try:
            return runtime.InferenceSession(str(file), options, providers=providers)
        except Exception as error:  # the runtime has exceptions of several families
            raise InputError(
                f"{self._checkpoint.shown}: {file.name} cannot be loaded: "
                f"{reason(error)}. Fetch or export it again."
            ) from error

    def _output(
        self, session: Any, inputs: dict[str, Any], names: tuple[str, ...], rank: int
    ) -> Floats:
        """The output of one of those names, else the only one of that many dimensions."""
        feed = {}
        for wanted in session.get_inputs():
            if wanted.name not in inputs or wanted.type not in _TYPES:
                raise InputError(
                    f"{self._checkpoint.shown}: the ONNX file wants an input {wanted.name!r} "
                    f"({wanted.type}); expected {', '.join(inputs)}. Export the model plainly."
                )
            feed[wanted.name] = inputs[wanted.name].astype(_TYPES[wanted.type])
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
                f"{self._checkpoint.shown}: the ONNX file fails on {len(inputs['input_ids'])} "
                f"inputs: {reason(error)}. Export it with free numbers of rows and "
                "tokens."
            ) from error
