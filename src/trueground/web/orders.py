"""In which order a list has the rows of an index: the worst first, or by their ids."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueground.metrics.registry import higher_is_better
from trueground.reports.selection import headline_metric
from trueground.web.stored import KEY_BYTES, NO_CODE, IndexState

_DIGITS = re.compile(rb"\d+")


def sort_key(name: str) -> bytes:
    """By what an id is sorted: numbers in it by their value, letters whatever their case."""
    text = name.casefold().encode("utf-8", "surrogatepass").replace(b"\0", b" ")
    return _DIGITS.sub(_number_key, text)[:KEY_BYTES]


def _number_key(found: re.Match[bytes]) -> bytes:
    digits = found[0].lstrip(b"0") or b"0"
    length = len(digits)
    return (b"%d" % length if length < 9 else b"9%03d" % min(length, 999)) + digits


def worst_first(state: IndexState, column: Callable[[str], NDArray[Any]]) -> NDArray[np.int32]:
    """All rows, the worst first; `column` gives a column by its name.

    Not grounded, partly, grounded; in each the headline's worst value; those without come last.
    """
    headline = headline_metric(state.metrics)
    if headline is None:
        return np.arange(state.count, dtype=np.int32)
    values = column(f"score-{state.metrics.index(headline)}")
    missing = np.isnan(values)
    order = np.arange(state.count, dtype=np.int32)
    if "support_min" in state.metrics:
        second = column(f"score-{state.metrics.index('support_min')}")
        order = _by(order, np.where(missing, 0, np.where(np.isnan(second), 2, second)))
    lower = higher_is_better(headline) is False
    order = _by(order, np.where(missing, 0, -values if lower else values))
    ranks = np.array([2, 1, 0, 3, 3] + [3] * (NO_CODE - 4), np.uint8)[column("verdict")]
    return _by(order, np.where(missing, np.uint8(9), ranks))


def _by(order: NDArray[np.int32], values: NDArray[Any]) -> NDArray[np.int32]:
    """The rows by these values; equal ones keep their order."""
    return order[np.argsort(values[order], kind="stable")]


def by_id(column: Callable[[str], NDArray[Any]]) -> NDArray[np.int32]:
    """All rows by their ids."""
    return np.argsort(column("keys"), kind="stable").astype(np.int32)
