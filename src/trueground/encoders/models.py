"""The encoders: files, tokens, tiles, what runs them, and results that are computed once.

Among them the bi-encoders of questions and passages, for retrieval. DPR (Karpukhin et al. 2020,
section 3) has one encoder for questions and one for passages. It was trained with title and text of
a passage as a pair, and with all tokens of type 0. Contriever (Izacard et al. 2022) and the models
of sentence-transformers read "title text".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from threading import RLock

import numpy as np
from numpy.typing import NDArray

from trueground.encoders.backends import (
    Backend,
    OnnxBackend,
    TorchBackend,
    onnx_device,
    torch_device,
)
from trueground.encoders.base import (
    EncoderOptions,
    Floats,
    Pair,
    Parts,
    Prompt,
    TokenStates,
)
from trueground.encoders.cache import Store
from trueground.encoders.loading import (
    PAIR,
    TEXT,
    TOKENS,
    WORDS,
    ModelKind,
    find_checkpoint,
    is_dpr,
    labels_of,
    only_dpr,
    pooling_of,
    similarity_of,
    width_of,
    window_of,
)
from trueground.encoders.tiles import ROWS, STEP, Shape, TileRow, TokenTile, compute_in_tiles
from trueground.encoders.tokens import Tokeniser
from trueground.errors import InputError, UsageError

_GPU_ROWS = 64


class Encoder:
    """What all kinds share. `layers`: how many layers of a PyTorch model run; None for all."""

    def __init__(
        self, model: str, options: EncoderOptions, kind: ModelKind, layers: int | None = None
    ) -> None:
        options.check()
        checkpoint = find_checkpoint(model, options, kind)
        self.checkpoint = checkpoint
        self.name = model
        self.window = window_of(model, checkpoint.folder, checkpoint.config, options.window)
        self.tokeniser = Tokeniser(model, checkpoint.folder, self.window, kind in (PAIR, TOKENS))
        self.specials = self.tokeniser.specials
        place = "cpu" if options.dtype == "int8" else options.device
        device = (onnx_device if checkpoint.onnx else torch_device)(place)
        self._backend: Backend = (
            OnnxBackend(checkpoint, kind, device)
            if checkpoint.onnx
            else TorchBackend(checkpoint, options, kind, device, layers)
        )
        padding = checkpoint.config.get("pad_token_id")
        padding = padding if isinstance(padding, int) else 0
        self._shape = _tile_shape(options, device, self.window, padding)
        where = "" if device == "cpu" else f"+{device}{self._shape.rows}"
        arithmetic = f"{self._backend.version}+{options.dtype}+{self.window}{where}"
        self.signature = f"{checkpoint.signature}+{arithmetic}"
        self._cached = options.cache
        self._lock = RLock()

    @cached_property
    def store(self) -> Store:
        """The results computed before."""
        return Store(self.name, self.signature, self._cached)

    @property
    def problem(self) -> str | None:
        """Why results were no longer written to disk; None where they were."""
        return self.store.problem

    def lengths(self, texts: Sequence[str]) -> list[int]:
        return self.tokeniser.lengths(texts)

    def close(self) -> None:
        with self._lock:
            self._backend.close()
        self.store.close()

    def compute(
        self, rows: Sequence[TileRow], width: int, finish: Callable[[Floats, TokenTile], Floats]
    ) -> Floats:
        """Each row's numbers, not cached; `finish` is applied to the model's output for a tile."""
        if not rows:  # the weights are not needed
            return np.empty((0, width), np.float32)

        def compute_tile(tile: TokenTile) -> Floats:
            numbers = finish(self._backend.run(tile), tile)
            if numbers.shape[1] != width:
                raise InputError(
                    f"{self.name} gives {numbers.shape[1]} numbers for a text; its config.json "
                    f"speaks of {width}. The files do not belong together."
                )
            return numbers

        with self._lock, self._backend.computing() as workers:
            each = map if workers is None else workers.map
            return compute_in_tiles(rows, self._shape, width, compute_tile, each)

    def states_of(self, rows: Sequence[TileRow], width: int) -> list[Floats]:
        """The states of each row's own tokens, shape (tokens, width) each; not cached."""
        buckets: dict[tuple[int, bool], list[int]] = {}
        for place, row in enumerate(rows):
            buckets.setdefault(self._shape.bucket(len(row.ids)), []).append(place)
        found: list[Floats] = [np.empty((0, width), np.float32)] * len(rows)
        for (tokens, _), places in buckets.items():
            own = [rows[place] for place in places]
            flat = self.compute(
                own, tokens * width, lambda states, _tile: states.reshape(len(states), -1)
            )
            for place, row, states in zip(places, own, flat, strict=True):
                found[place] = states.reshape(tokens, width)[: len(row.ids)]
        return found


def _tile_shape(options: EncoderOptions, device: str, window: int, padding: int) -> Shape:
    """UsageError for a number of rows on a CPU, where it is fixed."""
    if device == "cpu" and options.batch_rows is not None:
        raise UsageError(
            f"batch_rows {options.batch_rows}: on a CPU the number of rows is fixed, so that the "
            "results are the same everywhere; leave it out"
        )
    if options.dtype == "int8":
        # The scale of whole numbers is taken from the whole tile: a row must be alone in it.
        return Shape(1, 1, window, padding)
    rows = ROWS if device == "cpu" else options.batch_rows or _GPU_ROWS
    return Shape(rows, STEP, window, padding)


class BiEncoder(Encoder):
    """Vectors of texts, of questions and of passages; see `base.PassageEncoder`."""

    def __init__(self, model: str, options: EncoderOptions) -> None:
        super().__init__(model, options, TEXT)
        folder, config = self.checkpoint.folder, self.checkpoint.config
        pooling = pooling_of(model, folder, config, options.pooling)
        self._pool = _POOLINGS[pooling]
        self.similarity = options.similarity
        if self.similarity == "auto":
            self.similarity = similarity_of(model, folder, config)
        meaning = pooling if self.similarity == "cosine" else f"{pooling}+dot"
        self.space = f"{self.checkpoint.signature}+{self.window}+{meaning}"
        self.signature += f"+{meaning}"
        self.width = width_of(model, config)
        self._paired = is_dpr(config)
        self.only = only_dpr(config)

    def encode(self, texts: Sequence[str]) -> Floats:
        def compute(places: list[int]) -> Floats:
            return self._vectors(self.tokeniser.singles([texts[place] for place in places]))

        return self.store.rows([(text,) for text in texts], self.width, compute)

    def encode_queries(self, queries: Sequence[Sequence[str]]) -> Floats:
        def compute(places: list[int]) -> Floats:
            return self._vectors(self.tokeniser.turns([queries[place] for place in places]))

        return self.store.rows(queries, self.width, compute)

    def encode_passages(self, passages: Sequence[Pair]) -> Floats:
        if self._paired:
            return self._vectors(self.tokeniser.titled(passages))
        texts = [f"{title} {text}" if title else text for title, text in passages]
        return self._vectors(self.tokeniser.singles(texts))

    def _vectors(self, rows: Sequence[TileRow]) -> Floats:
        """The vector of each row of tokens, shape (n, width)."""

        def finish(states: Floats, tile: TokenTile) -> Floats:
            vectors = self._pool(states, tile.mask)
            return normalize(vectors) if self.similarity == "cosine" else vectors

        return self.compute(rows, self.width, finish)


class CrossEncoder(Encoder):
    """Logits of pairs, and of more texts; see `base.PairScorer` and `base.PartsScorer`."""

    def __init__(self, model: str, options: EncoderOptions) -> None:
        super().__init__(model, options, PAIR)
        self.labels = labels_of(self.checkpoint.config)

    def scores(self, pairs: Sequence[Parts]) -> Floats:
        def compute(places: list[int]) -> Floats:
            rows = self.tokeniser.pairs([pairs[place] for place in places])
            return self.compute(rows, len(self.labels), lambda logits, _tile: logits)

        return self.store.rows(pairs, len(self.labels), compute)


class TokenClassifier(Encoder):
    """Logits of the second text's tokens; see `base.TokenScorer`."""

    def __init__(self, model: str, options: EncoderOptions) -> None:
        super().__init__(model, options, TOKENS)
        self.labels = labels_of(self.checkpoint.config)

    def ends(self, text: str) -> list[int]:
        return self.tokeniser.ends(text)

    def scores(self, pairs: Sequence[Pair]) -> list[Floats]:
        # What is kept has one width: second texts of nearly the same length are filled up to it.
        lengths = self.lengths([second for _, second in pairs])
        by_width: dict[int, list[int]] = {}
        for place, length in enumerate(lengths):
            by_width.setdefault(-(-length // STEP) * STEP, []).append(place)
        found: list[Floats] = [np.empty((0, len(self.labels)), np.float32)] * len(pairs)
        for tokens, places in by_width.items():
            if tokens:
                logits = self._logits([pairs[place] for place in places], tokens)
                for place, own in zip(places, logits, strict=True):
                    found[place] = own[: lengths[place]]
        return found

    def _logits(self, pairs: Sequence[Pair], tokens: int) -> Floats:
        """Shape (n, tokens, labels); 0 behind the last token of the second text."""
        width = tokens * len(self.labels)

        def compute(places: list[int]) -> Floats:
            marked = self.tokeniser.second_tokens([pairs[place] for place in places])
            out = np.zeros((len(places), tokens, len(self.labels)), np.float32)
            states = self.states_of([row for row, _ in marked], len(self.labels))
            for own, logits, (_, second) in zip(out, states, marked, strict=True):
                own[: len(second)] = logits[second]
            return out.reshape(len(places), width)

        return self.store.rows(pairs, width, compute).reshape(len(pairs), tokens, -1)


class FirstTokenModel(Encoder):
    """Logits of an answer's first token; see `base.TextToText`."""

    def __init__(self, model: str, options: EncoderOptions) -> None:
        super().__init__(model, options, WORDS)

    def prompt_lengths(self, prompts: Sequence[Prompt]) -> list[int]:
        return self.tokeniser.prompt_lengths(prompts)

    def first_token(self, prompts: Sequence[Prompt], words: Sequence[str]) -> Floats:
        # Also where all is cached: a word that is no token is a mistake in any case.
        columns = self.tokeniser.words(words)

        def compute(places: list[int]) -> Floats:
            rows = self.tokeniser.prompts([prompts[place] for place in places])
            return self.compute(rows, len(columns), lambda logits, _tile: logits[:, columns])

        inputs = [
            (prompt, *words) if isinstance(prompt, str) else (str(len(prompt)), *prompt, *words)
            for prompt in prompts
        ]
        return self.store.rows(inputs, len(words), compute)


class LayerEncoder(Encoder):
    """The states of a chosen layer, not cached; those above it are not loaded.

    A tokenizer by bytes is shown a space before the first word, so that it has the tokens that it
    would have in the middle of a text. See `base.TokenEncoder`.
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
        vectors = [normalize(own) for own in self.states_of([m.row for m in marked], self._width)]
        shift = len(self._lead)
        return [
            TokenStates(own, one.special, np.maximum(one.ends - shift, 0))
            for own, one in zip(vectors, marked, strict=True)
        ]


def normalize(vectors: Floats) -> Floats:
    """Each row divided by its length; a row of zeros stays."""
    lengths = np.sqrt((vectors * vectors).sum(axis=1, keepdims=True))
    return np.asarray(vectors / np.maximum(lengths, np.float32(1e-12)), dtype=np.float32)


def _pool_mean(states: Floats, mask: NDArray[np.int64]) -> Floats:
    weights = mask.astype(np.float32)
    total = (states * weights[..., None]).sum(axis=1)
    return np.asarray(total / weights.sum(axis=1, keepdims=True), dtype=np.float32)


def _pool_first(states: Floats, _mask: NDArray[np.int64]) -> Floats:
    return states[:, 0]


def _pool_max(states: Floats, mask: NDArray[np.int64]) -> Floats:
    hidden = np.where(mask[..., None] == 1, states, np.float32(-np.inf))
    return np.asarray(hidden.max(axis=1), dtype=np.float32)


# Vectors of tokens (n, tokens, d) and which tokens are no padding (n, tokens) -> (n, d).
_POOLINGS: dict[str, Callable[[Floats, NDArray[np.int64]], Floats]] = {
    "mean": _pool_mean,
    "cls": _pool_first,
    "max": _pool_max,
}
