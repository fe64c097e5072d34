"""Delays for invalid tokens, per address.

Each invalid token from an address is answered later than the one before. Valid tokens are never
delayed. Tokens have 256 bits, so guessing is hopeless anyway; the delays keep the load low.
"""

from __future__ import annotations

import asyncio
import time

_UNDELAYED_ATTEMPTS = 3
_MAX_DELAY_SECONDS = 16.0  # a page gives up after 20 seconds
_RESET_SECONDS = 900.0  # after this time without an invalid token an address starts again at 0
_MAX_WAITING = 4  # requests of an address; others are refused
_MAX_ADDRESSES = 10_000
_BUSY_ATTEMPTS = 60  # of all addresses within a minute, from which on all are delayed
_BUSY_DELAY_SECONDS = 0.5


class TooManyAttemptsError(Exception):
    """Too many requests of an address are waiting; try again after `seconds`."""

    def __init__(self, seconds: float) -> None:
        super().__init__(seconds)
        self.seconds = seconds


class LoginThrottle:
    """Counts invalid tokens by address and delays their responses. For one event loop."""

    def __init__(self) -> None:
        self._invalid: dict[str, tuple[int, float]] = {}
        self._waiting: dict[str, int] = {}
        self._recent: list[float] = []

    def delay_seconds(self, address: str) -> float:
        """Return how long an invalid token from this address has to wait now."""
        now = time.monotonic()
        count, last = self._invalid.get(address, (0, 0.0))
        delay = 0.0
        if count >= _UNDELAYED_ATTEMPTS and now - last < _RESET_SECONDS:
            delay = min(_MAX_DELAY_SECONDS, 2 ** min(count - _UNDELAYED_ATTEMPTS, 10))
        self._recent = [at for at in self._recent[-_BUSY_ATTEMPTS:] if now - at < 60]
        is_busy = len(self._recent) >= _BUSY_ATTEMPTS
        return max(delay, _BUSY_DELAY_SECONDS if is_busy else 0.0)

    async def delay(self, address: str) -> None:
        """Count an invalid token, and wait before it is answered.

        Raises:
            TooManyAttemptsError: Too many requests of the address are waiting.
        """
        seconds = self.delay_seconds(address)
        self.count_invalid(address)
        waiting = self._waiting.get(address, 0)
        if seconds and waiting >= _MAX_WAITING:
            raise TooManyAttemptsError(seconds)
        self._waiting[address] = waiting + 1
        try:
            await asyncio.sleep(seconds)
        finally:
            self._waiting[address] -= 1
            if not self._waiting[address]:
                del self._waiting[address]

    def count_invalid(self, address: str) -> None:
        """Count an invalid token."""
        now = time.monotonic()
        count, last = self._invalid.get(address, (0, 0.0))
        if now - last >= _RESET_SECONDS:
            count = 0
        if len(self._invalid) >= _MAX_ADDRESSES:
            oldest = min(self._invalid, key=lambda other: self._invalid[other][1])
            del self._invalid[oldest]
        self._invalid[address] = (count + 1, now)
        self._recent.append(now)
