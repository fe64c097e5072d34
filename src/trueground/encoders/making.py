"""Encoders put together: files, tokens, tiles, and what runs them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from threading import RLock
from typing import Protocol

import numpy as np

from trueground.encoders.base import (
    Floats,
    PairScorer,
    Parts,
    PartsScorer,
    Prompt,
    TextEncoder,
    TextToText,
)
from trueground.encoders.cached import (
    CachedPairScorer,
    CachedTextEncoder,
    CachedTextToText,
    Store,
)
from trueground.encoders.folders import Checkpoint, find_checkpoint
from trueground.encoders.kinds import PAIR, TEXT, WORDS, Kind, labels_of, width_of, window_of
from trueground.encoders.onnx_backend import OnnxBackend, onnx_device
from trueground.encoders.options import EncoderOptions
from trueground.encoders.pooling import POOLINGS, pooling_of, similarity_of, unit
from trueground.encoders.tiles import ROWS, STEP, Row, Shape, Tile, in_tiles
from trueground.encoders.tokens import Tokeniser
from trueground.encoders.torch_backend import TorchBackend, torch_device
from trueground.encoders.workers import Workers
from trueground.errors import InputError, UsageError

_GPU_ROWS = 64


class Backend(Protocol):
    """Tiles in, numbers out; `version` names the library.

    Tiles are run while `computing`, by those whom it gives, or one after the other (None).
    """

    version: str

    def computing(self) -> AbstractContextManager[Workers | None]: ...

    def run(self, tile: Tile) -> Floats: ...

    def close(self) -> None: ...


class Encoder:
    """What all kinds share. `layers`: how many layers of a PyTorch model run; None for all."""

    def __init__(
        self, model: str, options: EncoderOptions, kind: Kind, layers: int | None = None
    ) -> None:
        options.check()
        checkpoint = find_checkpoint(model, options, kind)
        self.checkpoint = checkpoint
        self.name = model
        self.window = window_of(model, checkpoint.folder, checkpoint.config, options.window)
        self.tokeniser = Tokeniser(model, checkpoint.folder, self.window, kind is PAIR)
        self.specials = self.tokeniser.specials
        device = (onnx_device if checkpoint.onnx else torch_device)(_place(options))
        self._backend = _backend(checkpoint, options, kind, device, layers)
        self._shape = _shape(checkpoint, options, device, self.window)
        where = "" if device == "cpu" else f"+{device}{self._shape.rows}"
        arithmetic = f"{self._backend.version}+{options.dtype}+{self.window}{where}"
        self.signature = f"{checkpoint.signature}+{arithmetic}"
        self._lock = RLock()

    def lengths(self, texts: Sequence[str]) -> list[int]:
        return self.tokeniser.lengths(texts)

    def close(self) -> None:
        with self._lock:
            self._backend.close()

    def tiled(
        self, rows: Sequence[Row], width: int, then: Callable[[Floats, Tile], Floats]
    ) -> Floats:
        """Each row's numbers; `then` is done to what the model gives for a tile."""
        if not rows:  # the weights are not needed
            return np.empty((0, width), np.float32)

        def compute(tile: Tile) -> Floats:
            numbers = then(self._backend.run(tile), tile)
            if numbers.shape[1] != width:
                raise InputError(
                    f"{self.name} gives {numbers.shape[1]} numbers for a text; its config.json "
                    f"speaks of {width}. The files do not belong together."
                )
            return numbers

        with self._lock, self._backend.computing() as workers:
            each = map if workers is None else workers.map
            return in_tiles(rows, self._shape, width, compute, each)


class BiEncoder(Encoder):
    """Vectors of texts, not kept; see `base.TextEncoder`."""

    def __init__(self, model: str, options: EncoderOptions) -> None:
        super().__init__(model, options, TEXT)
        checkpoint = self.checkpoint
        name = pooling_of(model, checkpoint.folder, checkpoint.config, options.pooling)
        self._pooling = POOLINGS[name]
        self.similarity = options.similarity
        if self.similarity == "auto":
            self.similarity = similarity_of(model, checkpoint.folder, checkpoint.config)
        self._unit = self.similarity == "cosine"
        meaning = name if self._unit else f"{name}+dot"
        self.space = f"{checkpoint.signature}+{self.window}+{meaning}"
        self.signature += f"+{meaning}"
        self.width = width_of(model, checkpoint.config)

    def encode(self, texts: Sequence[str]) -> Floats:
        return self.pooled(self.tokeniser.singles(texts))

    def pooled(self, rows: Sequence[Row]) -> Floats:
        """The vector of each row of tokens, shape (n, width)."""

        def one_each(states: Floats, tile: Tile) -> Floats:
            vectors = self._pooling(states, tile.mask)
            return unit(vectors) if self._unit else vectors

        return self.tiled(rows, self.width, one_each)


class _CrossEncoder(Encoder):
    def __init__(self, model: str, options: EncoderOptions) -> None:
        super().__init__(model, options, PAIR)
        self.labels = labels_of(self.checkpoint.config)

    def scores(self, pairs: Sequence[Parts]) -> Floats:
        rows = self.tokeniser.pairs(pairs)
        return self.tiled(rows, len(self.labels), lambda logits, _tile: logits)


class _TextToText(Encoder):
    def __init__(self, model: str, options: EncoderOptions) -> None:
        super().__init__(model, options, WORDS)

    def check_words(self, words: Sequence[str]) -> None:
        """UsageError for a word that is not one token."""
        self.tokeniser.words(words)

    def prompt_lengths(self, prompts: Sequence[Prompt]) -> list[int]:
        return self.tokeniser.prompt_lengths(prompts)

    def first_token(self, prompts: Sequence[Prompt], words: Sequence[str]) -> Floats:
        chosen = self.tokeniser.words(words)
        rows = self.tokeniser.prompts(prompts)
        return self.tiled(rows, len(chosen), lambda logits, _tile: logits[:, chosen])


def _place(options: EncoderOptions) -> str:
    return "cpu" if options.dtype == "int8" else options.device


def _backend(
    checkpoint: Checkpoint, options: EncoderOptions, kind: Kind, device: str, layers: int | None
) -> Backend:
    if checkpoint.onnx:
        return OnnxBackend(checkpoint, kind, device)
    return TorchBackend(checkpoint, options, kind, device, layers)


def _shape(checkpoint: Checkpoint, options: EncoderOptions, device: str, window: int) -> Shape:
    """The tiles. UsageError for a number of rows on a CPU, where it is fixed."""
    padding = checkpoint.config.get("pad_token_id")
    padding = padding if isinstance(padding, int) else 0
    if device == "cpu" and options.batch_rows is not None:
        raise UsageError(
            f"batch_rows {options.batch_rows}: on a CPU the number of rows is fixed, so that the "
            "results are the same everywhere; leave it out"
        )
    if options.dtype == "int8":
        # The scale of whole numbers is taken from the whole tile: a row must be alone in it.
        return Shape(1, 1, window, padding)
    if device == "cpu":
        return Shape(ROWS, STEP, window, padding)
    return Shape(options.batch_rows or _GPU_ROWS, STEP, window, padding)


def make_text_encoder(model: str | Path, options: EncoderOptions) -> TextEncoder:
    """See `trueground.encoders.text_encoder`."""
    encoder = BiEncoder(str(model), options)
    return CachedTextEncoder(encoder, Store(encoder.name, encoder.signature, options.cache))


def make_pair_scorer(model: str | Path, options: EncoderOptions) -> PairScorer:
    """See `trueground.encoders.pair_scorer`."""
    scorer = _CrossEncoder(str(model), options)
    return CachedPairScorer(scorer, Store(scorer.name, scorer.signature, options.cache))


def make_parts_scorer(model: str | Path, options: EncoderOptions) -> PartsScorer:
    """See `trueground.encoders.parts_scorer`."""
    scorer = _CrossEncoder(str(model), options)
    return CachedPairScorer(scorer, Store(scorer.name, scorer.signature, options.cache))


def make_text_to_text(model: str | Path, options: EncoderOptions) -> TextToText:
    """See `trueground.encoders.text_to_text`."""
    asked = _TextToText(str(model), options)
    return CachedTextToText(asked, Store(asked.name, asked.signature, options.cache))
