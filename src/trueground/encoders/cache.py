"""Numbers that were computed once: in memory, and on disk across runs.

They are found by the encoder's signature and the input. Of all that an encoder's numbers
depend on (see `base`) only the kind of machine is not in there: a file that was carried to another
kind of machine gives the numbers of the first, which may differ in their last bits.
"""

from __future__ import annotations

import hashlib
import weakref
from collections import OrderedDict
from collections.abc import Callable, Sequence
from threading import RLock

import numpy as np

from trueground.encoders.base import Floats
from trueground.net import ResponseCache

# Part of every key: a change of the arithmetic here must not meet older entries.
_VERSION = "2"
_MEMORY_BYTES = 100_000_000
_OVERHEAD_BYTES = 300
# Rows are sorted by length within a block; what is finished is stored if the next block fails.
_BLOCK = 2048
_NUMBER = np.dtype("<f4")


class Store:
    """Rows of numbers by what they were computed from, of one encoder.

    In memory those used last, up to `memory_bytes`; on disk all, unless `disk` is False. Opening
    the file raises UsageError where it cannot be used; if it fails later, the work goes on without
    it and `problem` says why.
    """

    def __init__(
        self, name: str, signature: str, disk: bool, memory_bytes: int = _MEMORY_BYTES
    ) -> None:
        self._name = name
        self._start = hashlib.sha256(f"{_VERSION}\0{signature}\0".encode())
        self._disk = disk
        self._memory_bytes = memory_bytes
        self._held: OrderedDict[str, bytes] = OrderedDict()
        self._held_bytes = 0
        self._cache: ResponseCache | None = None
        self._problem: str | None = None
        self._closer: weakref.finalize[[], Store] | None = None
        self._lock = RLock()

    @property
    def problem(self) -> str | None:
        """What went wrong with the file; None if nothing did."""
        return self._problem if self._cache is None else self._problem or self._cache.problem

    @property
    def held_bytes(self) -> int:
        """How much is in memory."""
        return self._held_bytes

    def rows(
        self,
        inputs: Sequence[Sequence[str]],
        width: int,
        compute: Callable[[list[int]], Floats],
    ) -> Floats:
        """The row of each input, shape (n, width). `compute` gives those at some places.

        An input is a text or several; equal ones are computed once.
        """
        out = np.empty((len(inputs), width), np.float32)
        missing: dict[str, list[int]] = {}
        with self._lock:
            for place, texts in enumerate(inputs):
                key = self._key(texts)
                if key in missing:
                    missing[key].append(place)
                elif (value := self._get(key, width)) is None:
                    missing[key] = [place]
                else:
                    out[place] = np.frombuffer(value, _NUMBER)
            keys = list(missing)
            for start in range(0, len(keys), _BLOCK):
                block = keys[start : start + _BLOCK]
                computed = compute([missing[key][0] for key in block])
                for key, row in zip(block, computed, strict=True):
                    out[missing[key]] = row
                    self._put(key, row.astype(_NUMBER).tobytes())
        return out

    def close(self) -> None:
        """Write what is waiting, and let go of the file and the memory."""
        with self._lock:
            self._held.clear()
            self._held_bytes = 0
            if self._closer is not None:
                self._closer()
            self._problem = self.problem
            self._cache = self._closer = None

    def _key(self, texts: Sequence[str]) -> str:
        digest = self._start.copy()
        for text in texts:
            content = text.encode("utf-8", "surrogatepass")
            digest.update(b"%d\0" % len(content))
            digest.update(content)
        return digest.hexdigest()

    def _get(self, key: str, width: int) -> bytes | None:
        value = self._held.get(key)
        if value is not None:
            self._held.move_to_end(key)
            return value
        if not self._disk:
            return None
        value = self._opened().get(key)
        if value is None or len(value) != width * _NUMBER.itemsize:
            return None
        self._hold(key, value)
        return value

    def _put(self, key: str, value: bytes) -> None:
        self._hold(key, value)
        if self._disk:
            self._opened().put(key, value, model=self._name)

    def _hold(self, key: str, value: bytes) -> None:
        self._held[key] = value
        self._held_bytes += len(value) + _OVERHEAD_BYTES
        while self._held_bytes > self._memory_bytes:
            _, oldest = self._held.popitem(last=False)
            self._held_bytes -= len(oldest) + _OVERHEAD_BYTES

    def _opened(self) -> ResponseCache:
        if self._cache is None:
            self._cache = ResponseCache.open("vectors")
            # Also where nobody closes: what is waiting is written when the store or Python ends.
            self._closer = weakref.finalize(self, self._cache.close)
        return self._cache
