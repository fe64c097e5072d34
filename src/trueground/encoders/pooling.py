"""From vectors of tokens to one vector of a text, and how such are compared, as files say."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from trueground.encoders.base import Floats
from trueground.encoders.kinds import Config, is_dpr, settings
from trueground.errors import InputError, UsageError

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


def pooling_of(shown: str, folder: Path, config: Config, asked: str | None) -> str:
    """The pooling that was asked for, else that of the files of sentence-transformers, else `mean`.

    DPR has only `cls`. UsageError for another; InputError for files that name what is not known.
    """
    if is_dpr(config):
        if asked not in (None, "cls"):
            raise UsageError(
                f"{shown} is a DPR encoder, whose vector is the first token's; leave "
                f"pooling={asked} out"
            )
        return "cls"
    found = None
    for part in _modules(shown, folder):
        kind = str(part.get("type", "")).rpartition(".")[2]
        if kind not in _PARTS:
            raise InputError(
                f"{shown}: modules.json has a part {kind!r}; expected {', '.join(_PARTS)} and "
                "no others"
            )
        if kind == "Pooling" and asked is None:
            found = found or _named(shown, folder, str(part.get("path", "")))
    return asked or found or "mean"


def similarity_of(shown: str, folder: Path, config: Config) -> str:
    """`cosine` or `dot`: what the vectors were trained to be compared by. InputError.

    DPR and Contriever: dot. Else what the files of sentence-transformers name, else whether one of
    their parts makes unit vectors; cosine where there are no such files.
    """
    if is_dpr(config) or "Contriever" in (config.get("architectures") or ()):
        return "dot"
    file = "config_sentence_transformers.json"
    named = settings(shown, folder, file).get("similarity_fn_name")
    if named is not None and named not in ("cosine", "dot"):
        raise InputError(
            f"{shown}: {file} says the similarity {named!r}; expected cosine or dot. Say one of "
            "them with similarity=…"
        )
    if named is not None:
        return str(named)
    kinds = [str(part.get("type", "")).rpartition(".")[2] for part in _modules(shown, folder)]
    return "dot" if kinds and "Normalize" not in kinds else "cosine"


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
