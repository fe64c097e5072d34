"""What the comparers over small models have in common: their options, and which output is meant."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib.util import find_spec

import numpy as np

from trueground.encoders.base import Floats
from trueground.errors import MissingExtraError, UsageError
from trueground.plugins import PartSpec

_OPTIONS = (
    "backend",
    "batch_rows",
    "device",
    "dtype",
    "file",
    "revision",
    "trust_remote_code",
    "window",
)
_ON_TORCH = ("bertscore",)
BROKEN = "the model gave no finite numbers: its weights or its arithmetic are broken"


def given_or(name: str, given: PartSpec | None, more: Iterable[str] = ()) -> PartSpec:
    """What was given, seen through; the bare comparer of that name where nothing was.

    MissingExtraError where nothing is installed that runs a model: the extra that runs every one.
    """
    given = given or PartSpec("comparer", name)
    given.check((*_OPTIONS, *more))
    runs = ("torch",) if name in _ON_TORCH else ("torch", "onnxruntime")
    if not any(map(find_spec, runs)):
        raise MissingExtraError(f"the comparer {name}", "hf")
    return given


def output_of(given: PartSpec, model: str, labels: Sequence[str], wanted: Sequence[str]) -> int:
    """The number of the output that is meant: the one of `label=`, or of one of the wanted names.

    Of two outputs without names (LABEL_0, LABEL_1) it is the second. UsageError where none is.
    """
    if "label" in given.options:
        asked = given.options["label"].lower()  # labels are read in lower case
        if asked not in labels:
            raise given.refused("label", f"one of {', '.join(labels)}")
        return labels.index(asked)
    found = [label for label in labels if label in wanted]
    if len(found) == 1:
        return labels.index(found[0])
    if tuple(labels) == ("label_0", "label_1"):
        return 1
    raise UsageError(
        f"{given.name}:{model} has the outputs {', '.join(labels)}; expected two, or one named "
        f"{' or '.join(wanted)}. Say which one is meant with label=NAME"
    )


def shares(logits: Floats, column: int) -> list[float]:
    """Softmax of one column of raw logits, shape (n, outputs)."""
    numbers = logits.astype(np.float64)
    with np.errstate(invalid="ignore"):  # what is not finite stays so, and is told
        powers = np.exp(numbers - numbers.max(axis=1, keepdims=True))
    found: list[float] = (powers[:, column] / powers.sum(axis=1)).tolist()
    return found
