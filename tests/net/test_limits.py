"""Limits in simulated time: the clock moves only where the limiter sleeps."""

from __future__ import annotations

import asyncio
import time
from bisect import bisect_left
from itertools import pairwise

import pytest

from trueground.errors import UsageError
from trueground.net.pool import Limiter


class Time:
    """A clock that sleeping moves on."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self.slept = 0

    def clock(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept += 1
        self.now += seconds
        await asyncio.sleep(0)


def starts(limiter: Limiter, time: Time, calls: int, tokens: float = 0) -> list[float]:
    """When each of many calls made at once went out, in seconds from the first moment."""
    out: list[float] = []

    async def call() -> None:
        await limiter.acquire(tokens)
        out.append(time.now - 1_000.0)

    async def main() -> None:
        await asyncio.gather(*(call() for _ in range(calls)))

    asyncio.run(main())
    return out


def most_in_a_minute(moments: list[float]) -> int:
    return max(bisect_left(moments, start + 60) - i for i, start in enumerate(moments))


@pytest.mark.parametrize("rpm", [1, 7, 60, 3_000])
def test_no_minute_has_more_calls_than_the_limit(rpm: int) -> None:
    time = Time()
    moments = starts(Limiter(rpm, clock=time.clock, sleep=time.sleep), time, 2 * rpm + 5)
    assert moments == sorted(moments)
    assert most_in_a_minute(moments) <= rpm
    assert moments[-1] < 60 * (2 * rpm + 5) / rpm * 61 / 59  # and not much slower than allowed


def test_the_start_is_no_burst() -> None:
    time = Time()
    moments = starts(Limiter(600, clock=time.clock, sleep=time.sleep), time, 300)
    assert sum(m < 0.05 for m in moments) == 10  # one second's worth
    assert sum(m < 10 for m in moments) <= 110


def test_tokens_of_a_minute_stay_within_the_limit_and_one_call() -> None:
    time = Time()
    moments = starts(Limiter(tpm=60_000, clock=time.clock, sleep=time.sleep), time, 60, 5_000)
    assert most_in_a_minute(moments) * 5_000 <= 60_000 + 5_000
    assert moments[-1] == pytest.approx(59 * 5_000 / (60_000 * 59 / 3_600), rel=0.02)


def test_a_correction_is_waited_out_or_given_back() -> None:
    def second_start(actual: float) -> float:
        time = Time()
        limiter = Limiter(tpm=6_000, clock=time.clock, sleep=time.sleep)
        starts(limiter, time, 1, 100)
        limiter.correct(100, actual)
        return starts(limiter, time, 1, 100)[0]

    assert second_start(0) == 0
    assert second_start(100) == pytest.approx(100 / (5_900 / 60))
    assert second_start(1_100) == pytest.approx(1_100 / (5_900 / 60))


def test_a_pause_holds_everybody_and_the_longer_one_counts() -> None:
    time = Time()
    limiter = Limiter(clock=time.clock, sleep=time.sleep)
    limiter.pause(30)
    limiter.pause(5)
    assert starts(limiter, time, 3) == [30, 30, 30]
    assert starts(limiter, time, 1) == [30]
    assert time.slept == 1


def test_after_a_pause_calls_stay_apart() -> None:
    time = Time()
    limiter = Limiter(60, clock=time.clock, sleep=time.sleep)
    limiter.pause(10)
    moments = starts(limiter, time, 4)
    assert moments[0] == 10
    assert all(b - a == pytest.approx(60 / 59) for a, b in pairwise(moments))


def test_without_limits_nothing_waits() -> None:
    time = Time()
    limiter = Limiter(clock=time.clock, sleep=time.sleep)
    assert starts(limiter, time, 1_000, 1e9) == [0] * 1_000
    assert time.slept == 0
    assert not limiter.counts_tokens


def test_a_cancelled_call_takes_nothing_and_lets_the_next_one_pass() -> None:
    async def main() -> float:
        limiter = Limiter(rpm=6_000)
        limiter.pause(0.05)
        first = asyncio.create_task(limiter.acquire())
        second = asyncio.create_task(limiter.acquire())
        await asyncio.sleep(0.01)
        first.cancel()
        start = asyncio.get_running_loop().time()
        await second
        assert first.cancelled()
        return asyncio.get_running_loop().time() - start

    assert asyncio.run(main()) < 1


@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf")])
def test_a_limit_that_lets_nothing_out_is_refused(value: float) -> None:
    with pytest.raises(UsageError, match="--rpm"):
        Limiter(rpm=value)
    with pytest.raises(UsageError, match="--tpm"):
        Limiter(tpm=value)


def test_several_processes_share_a_limit() -> None:
    Limiter.share(4)
    try:
        limiter = Limiter(240)
    finally:
        Limiter.share(1)
    assert limiter._requests is not None
    assert limiter._requests.wait(1, time.monotonic()) == 0.0
    limiter._requests.take(1)
    assert limiter._requests.wait(1, time.monotonic()) == pytest.approx(1.0, rel=0.05)
