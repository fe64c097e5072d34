"""The encoders: files, tokens, tiles, what runs them, and results that are computed once.

Each is that of a folder, or of the name ORGANIZATION/MODEL[@REVISION] on the Hub. Its files are
found and checked when it is made (UsageError, InputError, MissingExtraError); weights are loaded
when a text is met that is not in the cache. What looks like a special token ("[SEP]", "</s>") is
read as the text that it is, wherever a text is encoded.

Among them the bi-encoders of questions and passages, for retrieval. DPR (Karpukhin et al. 2020,
section 3) has one encoder for questions and one for passages. It was trained with title and text of
a passage as a pair, and with all tokens of type 0. Contriever (Izacard et al. 2022) and the models
of sentence-transformers read "title text".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from threading import RLock
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from trueground.encoders.backends import (
    Backend,
    OnnxBackend,
    TorchBackend,
    onnx_device,
    torch_device,
)
from trueground.encoders.base import EncoderOptions, Floats, Pair, Parts, Prompt, TokenStates
from trueground.encoders.cache import Store
from trueground.encoders.loading import (
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
from trueground.encoders.tokens import Marked, Tokenizer
from trueground.errors import InputError, UsageError

_GPU_ROWS = 64
_DEFAULT = EncoderOptions()
_SHARE = 0.2  # of the first text's tokens: the least similar ones
_BLOCK = 256  # pairs: the states of all their tokens are in memory at once
_DECIMALS = 6  # fewer than a matrix product is sure of


class Encoder:
    """What all kinds share.

    `signature` names the weights (revision or hash), the library with its version (torch-2.13), the
    arithmetic (float32, int8) and the window; not the kind of machine. `window` is the most tokens
    of one input, special tokens included; `specials` how many of them special tokens take.
    """

    def __init__(
        self, model: str | Path, options: EncoderOptions, kind: ModelKind, layers: int | None = None
    ) -> None:
        """`layers`: how many layers of a PyTorch model run; None for all."""
        options.check()
        model = str(model)
        checkpoint = find_checkpoint(model, options, kind)
        self.checkpoint = checkpoint
        self.name = model
        self.window = window_of(model, checkpoint.folder, checkpoint.config, options.window)
        self.tokenizer = Tokenizer(
            model, checkpoint.folder, self.window, kind in (ModelKind.PAIR, ModelKind.TOKENS)
        )
        self.specials = self.tokenizer.specials
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

    def open_store(self, signature: str, *, cached: bool) -> Store:
        """Open a store of results that are computed with this encoder and have this signature."""
        return Store(self.name, signature, cached)

    def lengths(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, without truncation and without those that the model adds."""
        return self.tokenizer.lengths(texts)

    def close(self) -> None:
        """Give memory back; asking again loads anew."""
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
    """A bi-encoder: one vector for a text, a question or a passage; see the module.

    `similarity` is `cosine` or `dot`; only for cosine are vectors of unit length. `space` names
    what vectors of it can be compared with: weights, window, pooling and similarity, but neither
    library nor device. `width` is that of a vector, d. `only`: "questions" or "passages" where the
    model knows nothing else (DPR), else None.
    """

    COMPARED: ClassVar[tuple[str, ...]] = ("cosine", "late", "late20", "least")
    """What `compare` gives of each pair."""

    def __init__(self, model: str | Path, options: EncoderOptions = _DEFAULT) -> None:
        super().__init__(model, options, ModelKind.TEXT)
        folder, config = self.checkpoint.folder, self.checkpoint.config
        pooling = pooling_of(self.name, folder, config, options.pooling)
        self._pool = _POOLINGS[pooling]
        self.similarity = options.similarity
        if self.similarity == "auto":
            self.similarity = similarity_of(self.name, folder, config)
        meaning = pooling if self.similarity == "cosine" else f"{pooling}+dot"
        self.space = f"{self.checkpoint.signature}+{self.window}+{meaning}"
        self.signature += f"+{meaning}"
        self.width = width_of(self.name, config)
        self._paired = is_dpr(config)
        self.only = only_dpr(config)

    def encode(self, texts: Sequence[str]) -> Floats:
        """Vectors of texts, shape (n, d). A text beyond the window is cut off at it."""

        def compute(places: list[int]) -> Floats:
            return self._vectors(self.tokenizer.singles([texts[place] for place in places]))

        return self.store.rows([(text,) for text in texts], self.width, compute)

    def encode_queries(self, queries: Sequence[Sequence[str]]) -> Floats:
        """Vectors of questions, each the last of its turns, shape (n, d).

        Between turns stands the token that ends a text for this model ([SEP], </s>), or a space
        where it has none. Beyond the window the beginning is cut off, so that the question stays.
        """

        def compute(places: list[int]) -> Floats:
            return self._vectors(self.tokenizer.turns([queries[place] for place in places]))

        return self.store.rows(queries, self.width, compute)

    def encode_passages(self, passages: Sequence[Pair]) -> Floats:
        """Vectors of (title, text), shape (n, d); the title may be empty.

        DPR reads title and text with [SEP] between, others with a space. Cut off at the window.
        They are not cached: a corpus has too many.
        """
        if self._paired:
            return self._vectors(self.tokenizer.titled(passages))
        texts = [f"{title} {text}" if title else text for title, text in passages]
        return self._vectors(self.tokenizer.singles(texts))

    def _vectors(self, rows: Sequence[TileRow]) -> Floats:
        """The vector of each row of tokens, shape (n, width)."""

        def finish(states: Floats, tile: TokenTile) -> Floats:
            vectors = self._pool(states, tile.mask)
            return normalize(vectors) if self.similarity == "cosine" else vectors

        return self.compute(rows, self.width, finish)

    def compare(self, pairs: Sequence[Pair]) -> Floats:
        """Compare each claim with its evidence, token by token: late interaction.

        Each token of one text is matched with the nearest token of the other (Khattab & Zaharia
        2020, "ColBERT", section 3), here with the states of a bi-encoder that was not trained for
        it. How near the least similar tokens of a claim are says most of whether the evidence
        supports it.

        Returns the values of `COMPARED`, shape (n, 4); cached, the same whatever is computed with
        them. The cosine of the two vectors; of the claim's tokens the mean similarity to the most
        similar token of the evidence, the same over the fifth of them that is least similar, and
        the least. 0 where either has no token. Beyond the window a text is cut off.
        """

        def compute(places: list[int]) -> Floats:
            blocks = range(0, len(places), _BLOCK)
            found = [self._compare([pairs[n] for n in places[b : b + _BLOCK]]) for b in blocks]
            return np.concatenate(found)

        keys = [("late-1", *pair) for pair in pairs]
        return self.store.rows(keys, len(self.COMPARED), compute)

    def _compare(self, pairs: Sequence[Pair]) -> Floats:
        texts = list(dict.fromkeys(text for pair in pairs for text in pair))
        marked = self.tokenizer.marked(texts)
        states = self.states_of([one.row for one in marked], self.width)
        vectors = {
            text: self._vectors_of(own, one)
            for text, own, one in zip(texts, states, marked, strict=True)
        }
        return np.array([_features(*vectors[a], *vectors[b]) for a, b in pairs], np.float32)

    def _vectors_of(self, states: Floats, marked: Marked) -> tuple[Floats, Floats]:
        """The unit vector of the text, shape (width,), and those of its own tokens, (n, width)."""
        mask = np.ones((1, len(states)), np.int64)
        return normalize(self._pool(states[None], mask))[0], normalize(states[~marked.special])


class CrossEncoder(Encoder):
    """A model that reads texts together: a cross-encoder, or a classifier of entailment.

    `labels` are the names of its outputs, lower case; a cross-encoder has one.
    """

    def __init__(self, model: str | Path, options: EncoderOptions = _DEFAULT) -> None:
        super().__init__(model, options, ModelKind.PAIR)
        self.labels = labels_of(self.checkpoint.config)

    def scores(self, pairs: Sequence[Parts]) -> Floats:
        """Raw logits, shape (n, len(labels)). What follows the first text is cut off at the window.

        Each text after the second takes one more token.
        """

        def compute(places: list[int]) -> Floats:
            rows = self.tokenizer.pairs([pairs[place] for place in places])
            return self.compute(rows, len(self.labels), lambda logits, _tile: logits)

        return self.store.rows(pairs, len(self.labels), compute)


class TokenClassifier(Encoder):
    """Reads two texts together and labels the tokens of the second; `labels` in lower case."""

    def __init__(self, model: str | Path, options: EncoderOptions = _DEFAULT) -> None:
        super().__init__(model, options, ModelKind.TOKENS)
        self.labels = labels_of(self.checkpoint.config)

    def ends(self, text: str) -> list[int]:
        """The character of the text before which each of its tokens ends."""
        return self.tokenizer.ends(text)

    def scores(self, pairs: Sequence[Pair]) -> list[Floats]:
        """Raw logits of the second text's tokens, shape (tokens, len(labels)) for each pair.

        The second text is cut off at the window.
        """
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
            marked = self.tokenizer.second_tokens([pairs[place] for place in places])
            out = np.zeros((len(places), tokens, len(self.labels)), np.float32)
            states = self.states_of([row for row, _ in marked], len(self.labels))
            for own, logits, (_, second) in zip(out, states, marked, strict=True):
                own[: len(second)] = logits[second]
            return out.reshape(len(places), width)

        return self.store.rows(pairs, width, compute).reshape(len(pairs), tokens, -1)


class FirstTokenModel(Encoder):
    """A sequence-to-sequence model whose answer is one word."""

    def __init__(self, model: str | Path, options: EncoderOptions = _DEFAULT) -> None:
        super().__init__(model, options, ModelKind.WORDS)

    def prompt_lengths(self, prompts: Sequence[Prompt]) -> list[int]:
        """Tokens of each prompt, special ones included, without truncation."""
        return self.tokenizer.prompt_lengths(prompts)

    def first_token(self, prompts: Sequence[Prompt], words: Sequence[str]) -> Floats:
        """Raw logits of each word as the first token of the answer, shape (n, len(words)).

        UsageError for a word that is not one token. A prompt is cut off at the window.
        """
        # Also where all is cached: a word that is no token is a mistake in any case.
        columns = self.tokenizer.words(words)

        def compute(places: list[int]) -> Floats:
            rows = self.tokenizer.prompts([prompts[place] for place in places])
            return self.compute(rows, len(columns), lambda logits, _tile: logits[:, columns])

        inputs = [
            (prompt, *words) if isinstance(prompt, str) else (str(len(prompt)), *prompt, *words)
            for prompt in prompts
        ]
        return self.store.rows(inputs, len(words), compute)


class LayerEncoder(Encoder):
    """The states of the `layer`th layer (1 is the first), not cached; those above are not loaded.

    It runs on PyTorch. A tokenizer by bytes is shown a space before the first word, so that it has
    the tokens that it would have in the middle of a text.
    """

    def __init__(self, model: str | Path, layer: int, options: EncoderOptions = _DEFAULT) -> None:
        if options.backend == "onnx" or options.file is not None:
            raise UsageError(
                f"{model}: an ONNX file gives the states of its last layer only; leave backend and "
                "file out, and PyTorch gives those of any layer"
            )
        super().__init__(model, replace(options, backend="torch"), ModelKind.TEXT, layer)
        config = self.checkpoint.config
        most = config.get("num_hidden_layers", config.get("n_layers"))
        if not isinstance(most, int):
            raise InputError(f"{model}: config.json says no num_hidden_layers; expected how many")
        if not 1 <= layer <= most:
            raise UsageError(f"layer {layer}; {model} has {most}, so expected 1 to {most}")
        self.signature += f"+layer{layer}"
        self._width = width_of(self.name, config)
        self._lead = " " if self.tokenizer.by_bytes else ""

    def lengths(self, texts: Sequence[str]) -> list[int]:
        return super().lengths([self._lead + text for text in texts])

    def states(self, texts: Sequence[str]) -> list[TokenStates]:
        """The tokens of each text. A text beyond the window is cut off at it."""
        marked = self.tokenizer.marked([self._lead + text for text in texts])
        vectors = [normalize(own) for own in self.states_of([m.row for m in marked], self._width)]
        shift = len(self._lead)
        return [
            TokenStates(own, one.special, np.maximum(one.ends - shift, 0))
            for own, one in zip(vectors, marked, strict=True)
        ]


def _features(claim: Floats, words: Floats, text: Floats, others: Floats) -> NDArray[np.float64]:
    if not len(words) or not len(others):
        return np.zeros(len(BiEncoder.COMPARED))
    nearest = np.sort((words.astype(np.float64) @ others.astype(np.float64).T).max(axis=1))
    fifth = nearest[: max(1, round(_SHARE * len(nearest)))]
    cosine = claim.astype(np.float64) @ text
    return np.round(np.array([cosine, nearest.mean(), fifth.mean(), nearest[0]]), _DECIMALS)


def normalize(vectors: Floats) -> Floats:
    """Each row divided by its length; a row of zeros stays."""
    lengths = np.sqrt((vectors * vectors).sum(axis=1, keepdims=True))
    return np.asarray(vectors / np.maximum(lengths, np.float32(1e-12)), dtype=np.float32)


def _pool_mean(states: Floats, mask: NDArray[np.int64]) -> Floats:
    weights = mask.astype(np.float32)
    total = (states * weights[..., None]).sum(axis=1)
    return np.asarray(total / weights.sum(axis=1, keepdims=True), dtype=np.float32)


def _pool_max(states: Floats, mask: NDArray[np.int64]) -> Floats:
    hidden = np.where(mask[..., None] == 1, states, np.float32(-np.inf))
    return np.asarray(hidden.max(axis=1), dtype=np.float32)


# Vectors of tokens (n, tokens, d) and which tokens are no padding (n, tokens) -> (n, d).
_POOLINGS: dict[str, Callable[[Floats, NDArray[np.int64]], Floats]] = {
    "mean": _pool_mean,
    "cls": lambda states, _mask: states[:, 0],
    "max": _pool_max,
}
