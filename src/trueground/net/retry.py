"""Further attempts at a call whose first attempt failed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

import tenacity

from trueground.net.failures import HttpError, SlowError

T = TypeVar("T")
_LONGEST_BACKOFF = 60.0
LONGEST_WAIT = 300.0  # seconds for which an endpoint is heeded that asks for a pause
_MOST_PAID = 2  # replies to one call that may have cost money and were of no use


async def persist(
    attempt: Callable[[], Awaitable[T]],
    failure: HttpError,
    *,
    max_attempts: int,
    deadline: float,
    backoff: float,
    sleep: Callable[[float], Awaitable[None]],
) -> T:
    """Try again after a first failure; the last failure, with its count, if nothing helps.

    Waits as long as the endpoint asks, within reason, and at least a random time up to `backoff`
    seconds that doubles with each attempt. `deadline` is a moment of time.monotonic.
    """
    last = failure
    made = 0
    paid = int(failure.paid)

    async def next_attempt() -> T:
        nonlocal last, made, paid
        made += 1
        if made == 1:  # it has been made already
            raise failure
        try:
            return await _until(deadline, attempt, last)
        except HttpError as error:
            last = error
            paid += error.paid
            raise

    jitter = tenacity.wait_random_exponential(multiplier=backoff, max=_LONGEST_BACKOFF)

    def asked() -> float:
        wait = last.wait or 0.0
        # Beyond the deadline there is nothing to wait for.
        return min(wait, LONGEST_WAIT) if time.monotonic() + wait < deadline else wait

    def enough() -> bool:
        return made >= max_attempts or paid >= _MOST_PAID

    def too_late(state: tenacity.RetryCallState) -> bool:
        return time.monotonic() + state.upcoming_sleep >= deadline

    retrying = tenacity.AsyncRetrying(
        retry=tenacity.retry_if_exception(lambda e: isinstance(e, HttpError) and e.retryable),
        wait=lambda state: max(asked(), jitter(state)),
        stop=lambda state: enough() or too_late(state),
        sleep=sleep,
        reraise=True,
    )
    try:
        return await retrying(next_attempt)
    except HttpError as error:
        error.attempts = made
        if error.retryable and not enough():
            error.reason += _no_time(error.wait)
        raise


async def _until(deadline: float, attempt: Callable[[], Awaitable[T]], last: HttpError) -> T:
    """One attempt, with all waiting for its turn, ended by the deadline."""
    left = None if deadline == float("inf") else deadline - time.monotonic()
    try:
        async with asyncio.timeout(left):
            return await attempt()
    except TimeoutError:
        raise SlowError(last.reason + _no_time(None), retryable=False) from None


def _no_time(wait: float | None) -> str:
    asked = "" if not wait else f"; the endpoint asks to wait {wait:.0f} s"
    return f"{asked}; the deadline of this call leaves no time for another attempt"
