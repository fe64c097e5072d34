"""How fast tokens can be tried: a limit for each address.

Each wrong token from an address is answered later than the last. A right one is never held up,
whoever else is at that address. Tokens have 256 bits, so that none would be found without all
this; it keeps a guesser from busying the server.
"""

from __future__ import annotations

import asyncio
import time

_FREE = 3  # wrong tokens that are answered at once
_LONGEST_WAIT = 16.0  # seconds; a page gives up after 20
_FORGOTTEN = 900.0  # seconds after which wrong tokens of an address count no more
_MOST_WAITING = 4  # of an address; others are sent away
_MOST_ADDRESSES = 10_000
_MANY, _MANY_WAIT = 60, 0.5  # wrong tokens of all addresses within a minute, and the wait then


class TooManyError(Exception):
    """So many tries wait already; `seconds` is when to come again."""

    def __init__(self, seconds: float) -> None:
        super().__init__(seconds)
        self.seconds = seconds


class Doorkeeper:
    """Counts wrong tokens by address, and lets their answers wait. For one event loop."""

    def __init__(self) -> None:
        self._wrong: dict[str, tuple[int, float]] = {}
        self._waiting: dict[str, int] = {}
        self._lately: list[float] = []

    def wait(self, address: str) -> float:
        """The seconds that a wrong token from there waits now."""
        now = time.monotonic()
        count, last = self._wrong.get(address, (0, 0.0))
        own = 0.0
        if count >= _FREE and now - last < _FORGOTTEN:
            own = min(_LONGEST_WAIT, 2 ** min(count - _FREE, 10))
        self._lately = [at for at in self._lately[-_MANY:] if now - at < 60]
        return max(own, _MANY_WAIT if len(self._lately) >= _MANY else 0.0)

    async def hold_up(self, address: str) -> None:
        """Count a wrong token, and wait before it is answered. TooManyError."""
        seconds = self.wait(address)
        self.note(address)
        waiting = self._waiting.get(address, 0)
        if seconds and waiting >= _MOST_WAITING:
            raise TooManyError(seconds)
        self._waiting[address] = waiting + 1
        try:
            await asyncio.sleep(seconds)
        finally:
            self._waiting[address] -= 1
            if not self._waiting[address]:
                del self._waiting[address]

    def note(self, address: str) -> None:
        """Count a wrong token."""
        now = time.monotonic()
        count, last = self._wrong.get(address, (0, 0.0))
        if now - last >= _FORGOTTEN:
            count = 0
        if len(self._wrong) >= _MOST_ADDRESSES:  # the one that was wrong longest ago
            del self._wrong[min(self._wrong, key=lambda one: self._wrong[one][1])]
        self._wrong[address] = (count + 1, now)
        self._lately.append(now)
