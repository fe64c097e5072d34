"""From vectors of tokens to one unit vector of a text, as the model's files say."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from trueground.encoders.base import Floats
from trueground.encoders.kinds import settings
from trueground.errors import InputError

# Vectors of tokens (n, tokens, d) and which tokens are no padding (n, tokens) -> (n, d).
Pooling = Callable[[Floats, NDArray[np.int64]], Floats]


def mean(states: Floats, mask: NDArray[np.int64]) -> Floats:
    weights = mask.astype(np.float32)
    total = (states * weights[..., None]).sum(axis=1)
    return np.asarray(total / weights.sum(axis=1, keepdims=True), dtype=np.float32)


def cls(states: Floats, _mask: NDArray[np.int64]) -> Floats:
    return states[:, 0]


def largest(states: Floats, mask: NDArray[np.int64]) -> Floats:
    hidden = np.where(mask[..., None] == 1, states, np.float32(-np.inf))
    return np.asarray(hidden.max(axis=1), dtype=np.float32)


POOLINGS: dict[str, Pooling] = {"mean": mean, "cls": cls, "max": largest}
_MODES = {
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
}
_PARTS = ("Transformer", "Pooling", "Normalize")


def unit(vectors: Floats) -> Floats:
    """Each row divided by its length; a row of zeros stays."""
    lengths = np.sqrt((vectors * vectors).sum(axis=1, keepdims=True))
    return np.asarray(vectors / np.maximum(lengths, np.float32(1e-12)), dtype=np.float32)


def pooling_of(shown: str, folder: Path) -> str:
    """The pooling that the files of sentence-transformers name, else `mean`. InputError."""
    for part in _modules(shown, folder):
        kind = str(part.get("type", "")).rpartition(".")[2]
        if kind not in _PARTS:
            raise InputError(
                f"{shown}: modules.json has a part {kind!r}; expected {', '.join(_PARTS)} and "
                "no others"
            )
        if kind == "Pooling":
            return _named(shown, folder, str(part.get("path", "")))
    return "mean"


def _modules(shown: str, folder: Path) -> list[dict[str, Any]]:
    try:
        return msgspec.json.decode(
            (folder / "modules.json").read_bytes(), type=list[dict[str, Any]]
        )
    except FileNotFoundError:
        return []
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InputError(f"{shown}: modules.json cannot be read there: {error}") from error


def _named(shown: str, folder: Path, path: str) -> str:
    file = f"{path}/config.json".removeprefix("/")
    config = settings(shown, folder, file)
    modes = [
        _MODES.get(name, name)
        for name, value in config.items()
        if name.startswith("pooling_mode_") and value is True
    ]
    if isinstance(newer := config.get("pooling_mode"), str):
        modes = [newer]
    if len(modes) != 1 or modes[0] not in POOLINGS:
        raise InputError(
            f"{shown}: {file} says the pooling {' and '.join(modes) or 'nothing'}; expected one "
            f"of {', '.join(POOLINGS)}"
        )
    return modes[0]
