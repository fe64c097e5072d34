"""How fast calls may go out: requests and tokens per minute, and pauses that an endpoint asks for.

A bucket holds what one second allows and fills at 59/60 of the limit, so that bucket and inflow
together never exceed the limit in any minute. A call that needs more than the bucket holds waits
until it is full and takes it into debt, which the next calls wait out.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

from trueground.errors import UsageError

_sharers = 1


def share_limits(processes: int) -> None:
    """What an endpoint allows is for so many processes together: each keeps its part from now on.

    Limiters that are there already stay as they are.
    """
    global _sharers
    _sharers = processes


class _Bucket:
    """An allowance that fills with time; amounts are requests or tokens."""

    def __init__(self, name: str, per_minute: float, now: float) -> None:
        if not 0 < per_minute < float("inf"):
            raise UsageError(
                f"--{name} {per_minute:g} lets no call out; give a number above 0, or leave it away"
            )
        per_minute /= _sharers
        self._size = self._level = per_minute / 60
        self._rate = (per_minute - self._size) / 60  # a second
        self._then = now

    def wait(self, amount: float, now: float) -> float:
        """Seconds until `amount` may be taken; 0 if it may be taken now."""
        self._level = min(self._size, self._level + (now - self._then) * self._rate)
        self._then = now
        missing = min(amount, self._size) - self._level
        # A rounding error of the clock must not cost another sleep.
        return missing / self._rate if missing > 1e-9 * self._size else 0.0

    def take(self, amount: float) -> None:
        """Take what `wait` allowed; a negative amount gives back."""
        self._level = min(self._size, self._level - amount)


class Limiter:
    """Lets calls go out, first come, first served; without limits and pauses it never waits.

    At most `rpm` calls start in any minute, and `tpm` tokens plus those of one call. `clock` gives
    seconds, `sleep` waits for some.
    """

    def __init__(
        self,
        rpm: float | None = None,
        tpm: float | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """Raises UsageError for a limit that lets nothing through."""
        self._clock, self._sleep = clock, sleep
        self._requests = None if rpm is None else _Bucket("rpm", rpm, clock())
        self._tokens = None if tpm is None else _Bucket("tpm", tpm, clock())
        self._unlimited = rpm is None and tpm is None
        self._until = 0.0
        self._paused = False
        self._line: tuple[asyncio.AbstractEventLoop, asyncio.Lock] | None = None

    @property
    def counts_tokens(self) -> bool:
        """Whether an estimate of a call's tokens is of any use."""
        return self._tokens is not None

    async def acquire(self, tokens: float = 0) -> None:
        """Wait until a call of so many tokens may go out."""
        if self._unlimited and not self._paused:
            return
        loop = asyncio.get_running_loop()
        if self._line is None or self._line[0] is not loop:
            # A lock belongs to one event loop, a limiter may see several.
            self._line = (loop, asyncio.Lock())
        async with self._line[1]:
            while (wait := self._wait(tokens)) > 0:
                await self._sleep(wait)
            if self._requests is not None:
                self._requests.take(1)
            if self._tokens is not None:
                self._tokens.take(tokens)

    def pause(self, seconds: float) -> None:
        """Let nothing out for so long; of several pauses the one that ends last counts."""
        self._until = max(self._until, self._clock() + seconds)
        self._paused = True

    def correct(self, estimated: float, actual: float) -> None:
        """Settle the tokens of a call once the endpoint has counted them."""
        if self._tokens is not None:
            self._tokens.take(actual - estimated)

    def _wait(self, tokens: float) -> float:
        now = self._clock()
        pause = max(0.0, self._until - now)
        self._paused = pause > 0
        requests = self._requests.wait(1, now) if self._requests is not None else 0.0
        words = self._tokens.wait(tokens, now) if self._tokens is not None else 0.0
        return max(pause, requests, words)
