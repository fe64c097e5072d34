"""Metrics: declarations and arithmetic. `trueground.metrics.f1(responses=…, references=…)`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trueground.metrics.functions import MetricFunction


def __getattr__(name: str) -> MetricFunction:
    if name.startswith("__"):
        raise AttributeError(name)
    from trueground.errors import UsageError
    from trueground.metrics.functions import MetricFunction

    try:
        function = MetricFunction(name)
    except UsageError as error:
        raise AttributeError(str(error)) from None
    globals()[name] = function
    return function


def __dir__() -> list[str]:
    from trueground.metrics.registry import METRICS

    return sorted(METRICS)
