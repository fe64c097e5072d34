"""Holm's adjustment over all tests of a comparison, and where it can find nothing."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

from trueground.stats.paired import SIGN_FLIP, holm
from trueground.studies.comparison import PairComparison


def adjusted(pairs: Sequence[PairComparison], alpha: float) -> tuple[PairComparison, ...]:
    """The same with Holm's p values over all of them, and notes where none can reach `alpha`."""
    p_values = [m.result.p for pair in pairs for m in pair.metrics.values()]
    found = iter(holm(p_values))
    tests = sum(p is not None for p in p_values)
    return tuple(
        dataclasses.replace(
            pair,
            notes=(*pair.notes, *_out_of_reach(pair, tests, alpha)),
            metrics={
                name: dataclasses.replace(metric, p_holm=next(found))
                for name, metric in pair.metrics.items()
            },
        )
        for pair in pairs
    )


def _out_of_reach(pair: PairComparison, tests: int, alpha: float) -> Iterator[str]:
    """p from random patterns is at least 1 / (patterns + 1); Holm's first is `tests` times that."""
    sampled = [m.result.patterns for m in pair.metrics.values() if m.result.test == SIGN_FLIP]
    if patterns := min((n for n in sampled if n is not None), default=None):
        least = tests / (patterns + 1)
        if least > alpha:
            yield (
                f"with {patterns:,} random sign patterns and {tests:,} tests the smallest Holm p "
                f"attainable here is {min(1.0, least):.3g}; raise --resamples"
            )
