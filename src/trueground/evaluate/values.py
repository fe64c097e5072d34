"""Per-item numbers of a whole run: small runs in memory, large ones in a temporary file."""

from __future__ import annotations

import tempfile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueground.errors import UsageError
from trueground.evaluate.scorer import Scored

_MOST_VALUES = 1_000


class Rows:
    """Rows of numbers, appended in blocks; the bytes live in a spooled temporary file."""

    def __init__(self, dtype: type[np.generic], width: int) -> None:
        self._dtype = np.dtype(dtype)
        self._width = width
        self._file = tempfile.SpooledTemporaryFile(max_size=16_000_000)  # noqa: SIM115

    def append(self, block: NDArray[Any]) -> None:
        """Add rows, shape (rows, width)."""
        self._file.write(np.ascontiguousarray(block, self._dtype).tobytes())

    def array(self) -> NDArray[Any]:
        """All rows so far, shape (rows, width); read from disk on demand where they are many."""
        shape = (-1, self._width)
        if self._file._rolled:  # type: ignore[attr-defined]
            self._file.flush()
            return np.memmap(self._file._file, self._dtype, "r").reshape(shape)  # type: ignore[attr-defined]
        self._file.seek(0)
        return np.frombuffer(self._file.read(), self._dtype).reshape(shape)


class Values:
    """The numbers of all items, and the codes of their breakdown values."""

    def __init__(self, width: int, by: tuple[str, ...]) -> None:
        self._scores = Rows(np.float64, width)
        self._status = Rows(np.uint8, width)
        self._clusters = Rows(np.int64, 1)
        self._answerable = Rows(np.int8, 1)
        self._by = Rows(np.int32, max(1, len(by)))
        self.fields = by
        self.names: list[dict[str, int]] = [{} for _ in by]
        self.n = 0
        self.empty = 0

    def append(self, batch: Scored) -> None:
        """Add one batch. Raises UsageError where a breakdown has too many values."""
        self._scores.append(batch.values)
        self._status.append(batch.status)
        self._clusters.append(batch.clusters)
        self._answerable.append(batch.answerable)
        if self.fields:
            self._by.append(np.column_stack([self._codes(i, v) for i, v in enumerate(batch.by)]))
        self.n += batch.n
        self.empty += batch.empty

    def _codes(self, i: int, values: list[str]) -> NDArray[np.int32]:
        names = self.names[i]
        codes = [names.setdefault(value, len(names)) for value in values]
        if len(names) > _MOST_VALUES:
            raise UsageError(
                f"--by {self.fields[i]} has more than {_MOST_VALUES} different values; "
                "choose a field with fewer"
            )
        return np.array(codes, np.int32)

    @property
    def scores(self) -> NDArray[np.float64]:
        """Values of all items, shape (n, metrics); NaN where there is none."""
        return self._scores.array()

    @property
    def status(self) -> NDArray[np.uint8]:
        """Status codes of all items, shape (n, metrics)."""
        return self._status.array()

    @property
    def clusters(self) -> NDArray[np.int64]:
        """One number per item, equal within a cluster."""
        return self._clusters.array()[:, 0]

    @property
    def answerable(self) -> NDArray[np.int8]:
        """1, 0, or -1 where the record does not say."""
        return self._answerable.array()[:, 0]

    def by(self, i: int) -> NDArray[np.int32]:
        """Codes of breakdown field i, one per item; `names[i]` tells what they mean."""
        return self._by.array()[:, i]
