"""Tiles through PyTorch: safetensors, in float32, half precision or int8."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from importlib.metadata import version
from inspect import signature
from threading import Lock
from typing import Any

import numpy as np

from trueground.encoders.base import Floats
from trueground.encoders.folders import Checkpoint
from trueground.encoders.kinds import TEXT, WORDS, Kind, class_of, is_dpr
from trueground.encoders.options import EncoderOptions
from trueground.encoders.tiles import Tile
from trueground.encoders.workers import Workers, named
from trueground.errors import UsageError
from trueground.net import checkpoints
from trueground.net.pretrained import check_complete, loading

_computing = Lock()


def needed(module: str) -> Any:
    """A module of the `hf` extra."""
    return checkpoints.needed(module, "an encoder on PyTorch", "hf")


def torch_device(asked: str) -> str:
    """cpu or cuda. UsageError for a GPU that is not there."""
    if asked == "cpu" or (asked == "auto" and version("torch").endswith("+cpu")):
        return "cpu"  # answered without the seconds that importing torch takes
    if needed("torch").cuda.is_available():
        return "cuda"
    if asked == "cuda":
        raise UsageError("device cuda: PyTorch finds no NVIDIA GPU here; use device=cpu")
    return "cpu"


class TorchBackend:
    """Computes tiles; the weights are loaded with the first one."""

    def __init__(
        self,
        checkpoint: Checkpoint,
        options: EncoderOptions,
        kind: Kind,
        device: str,
        layers: int | None = None,
    ) -> None:
        self._checkpoint = checkpoint
        self._options = options
        self._kind = kind
        self._device = device
        self._changes = {} if layers is None else {"num_hidden_layers": layers}
        self.version = named("torch")

    @contextmanager
    def computing(self) -> Iterator[Workers | None]:
        """Weights loaded; on a CPU those who compute tiles, each with one thread."""
        _ = self._typed  # here, not in several threads at once
        if self._device == "cuda":
            yield None
            return
        with _one_thread(needed("torch")):
            yield self._workers

    def run(self, tile: Tile) -> Floats:
        """States of all tokens, or logits, or logits at the decoder's first position."""
        torch = needed("torch")
        given = {"input_ids": tile.ids, "attention_mask": tile.mask}
        if self._typed:
            given["token_type_ids"] = tile.types
        tensors = {name: torch.from_numpy(a).to(self._device) for name, a in given.items()}
        if self._kind is WORDS:
            start = np.full((len(tile.ids), 1), decoder_start(self._checkpoint), np.int64)
            tensors["decoder_input_ids"] = torch.from_numpy(start).to(self._device)
        with torch.inference_mode():
            output = self._model(**tensors)
            numbers = self._states(output) if self._kind is TEXT else output.logits
            if self._kind is WORDS:
                numbers = numbers[:, 0]
            return np.asarray(numbers.float().cpu().numpy(), dtype=np.float32)

    @property
    def model(self) -> Any:
        """The model itself, loaded; for those that run it in another way."""
        return self._model

    @property
    def typed(self) -> bool:
        """Whether the model is told which of two texts a token belongs to."""
        return self._typed

    def _states(self, output: Any) -> Any:
        """Vectors of all tokens; of DPR only the text's own, in the place of the first token."""
        if is_dpr(self._checkpoint.config):
            return output.pooler_output[:, None]
        return output.last_hidden_state

    def close(self) -> None:
        """Give the memory back."""
        workers: Workers | None = self.__dict__.pop("_workers", None)
        if workers is not None:
            workers.close()
        if "_model" in self.__dict__:
            del self.__dict__["_model"]
            self.__dict__.pop("_typed", None)
            gc.collect()
            if self._device == "cuda":
                needed("torch").cuda.empty_cache()

    @cached_property
    def _workers(self) -> Workers:
        torch = needed("torch")
        return Workers(lambda: torch.set_num_threads(1))

    @cached_property
    def _typed(self) -> bool:
        return "token_type_ids" in signature(self._model.forward).parameters

    @cached_property
    def _model(self) -> Any:
        torch, shown = needed("torch"), self._checkpoint.shown
        int8 = self._options.dtype == "int8"
        with loading(needed, shown, "say trust_remote_code=true") as transformers:
            model, info = getattr(
                transformers, class_of(self._checkpoint.config, self._kind)
            ).from_pretrained(
                str(self._checkpoint.folder),
                use_safetensors=True,
                dtype=torch.float32 if int8 else getattr(torch, self._options.dtype),
                output_loading_info=True,
                trust_remote_code=self._options.trust_remote_code,
                **self._changes,
            )
            missing = [key for key in info["missing_keys"] if not self._is_unused(key)]
            check_complete(shown, missing)
            model.eval()
            if int8:
                return _quantised(torch, model)
            if self._device == "cpu":
                _one_by_one(torch, model)
            return model.to(self._device)

    def _is_unused(self, key: str) -> bool:
        """A bi-encoder's vectors are taken before the pooler: many folders come without it."""
        return self._kind is TEXT and key.startswith("pooler.")


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
        def forward(given: Any) -> Any:
            if given.numel() != len(given) * given.shape[-1]:
                return linear(given)
            return torch.cat([linear(vector) for vector in given.split(1)])

        return forward

    for layer in model.modules():
        if isinstance(layer, torch.nn.Linear):
            layer.forward = alone(layer.forward)


def _quantised(torch: Any, model: Any) -> Any:
    with warnings.catch_warnings():
        # Both announce that a later PyTorch has this elsewhere; the user can do nothing about it.
        warnings.filterwarnings("ignore", message=r"torch\.ao\.quantization is deprecated")
        warnings.filterwarnings("ignore", message=r"torch\.quantize_per_tensor, .* are deprecated")
        # One scale for each output, not one for all: nearer to float32, and no slower.
        by_channel = torch.ao.quantization.per_channel_dynamic_qconfig
        return torch.ao.quantization.quantize_dynamic(
            model, {torch.nn.Linear: by_channel}, inplace=True
        )
