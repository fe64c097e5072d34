"""One vector for each token of a text: the states of a chosen layer of a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from trueground.encoders.base import Floats, TokenEncoder, TokenStates
from trueground.encoders.kinds import TEXT, width_of
from trueground.encoders.making import Encoder
from trueground.encoders.options import EncoderOptions
from trueground.encoders.pooling import unit
from trueground.encoders.tiles import Tile
from trueground.errors import InputError, UsageError


class _TokenEncoder(Encoder):
    """The layers above the chosen one are not loaded.

    A tokenizer by bytes is shown a space before the first word, so that it has the tokens that it
    would have in the middle of a text.
    """

    def __init__(self, model: str, layer: int, options: EncoderOptions) -> None:
        if options.backend == "onnx" or options.file is not None:
            raise UsageError(
                f"{model}: an ONNX file gives the states of its last layer only; leave backend and "
                "file out, and PyTorch gives those of any layer"
            )
        super().__init__(model, replace(options, backend="torch"), TEXT, layer)
        config = self.checkpoint.config
        most = config.get("num_hidden_layers", config.get("n_layers"))
        if not isinstance(most, int):
            raise InputError(f"{model}: config.json says no num_hidden_layers; expected how many")
        if not 1 <= layer <= most:
            raise UsageError(f"layer {layer}; {model} has {most}, so expected 1 to {most}")
        self.signature += f"+layer{layer}"
        self._width = width_of(model, config)
        self._lead = " " if self.tokeniser.by_bytes else ""

    def lengths(self, texts: Sequence[str]) -> list[int]:
        return super().lengths([self._lead + text for text in texts])

    def states(self, texts: Sequence[str]) -> list[TokenStates]:
        marked = self.tokeniser.marked([self._lead + text for text in texts])
        buckets: dict[tuple[int, bool], list[int]] = {}
        for place, found in enumerate(marked):
            buckets.setdefault(self._shape.bucket(len(found.row.ids)), []).append(place)
        vectors: list[Floats] = [np.empty((0, self._width), np.float32)] * len(texts)
        for (tokens, _), places in buckets.items():
            rows = [marked[place].row for place in places]
            flat = self.tiled(rows, tokens * self._width, _flat)
            for place, row, found in zip(places, rows, flat, strict=True):
                vectors[place] = unit(found.reshape(tokens, self._width)[: len(row.ids)])
        shift = len(self._lead)
        return [
            TokenStates(found, one.special, np.maximum(one.ends - shift, 0))
            for found, one in zip(vectors, marked, strict=True)
        ]


def _flat(states: Floats, _tile: Tile) -> Floats:
    return states.reshape(len(states), -1)


def make_token_encoder(model: str | Path, layer: int, options: EncoderOptions) -> TokenEncoder:
    """See `trueground.encoders.token_encoder`."""
    return _TokenEncoder(str(model), layer, options)
