"""Metrics: declarations and arithmetic. `trueground.metrics.f1(responses=…, references=…)`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trueground.metrics.batch import Floats


def __getattr__(name: str) -> Callable[..., Floats]:
    if name.startswith("__"):
        raise AttributeError(name)
    from trueground.errors import UsageError
    from trueground.metrics.functions import metric_function

    try:
        function = metric_function(name)
    except UsageError as error:
        raise AttributeError(str(error)) from None
    globals()[name] = function
    return function


def __dir__() -> list[str]:
    from trueground.metrics.registry import all_metrics

    return sorted(all_metrics())
