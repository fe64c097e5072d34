"""What the judges over small models have in common: their options, and how one is made."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from trueground.encoders.base import Windowed
from trueground.judges.calibration import threshold_of
from trueground.judges.windowed import Reader, WindowedJudge
from trueground.plugins import PartSpec

_OPTIONS = (
    "backend",
    "batch_rows",
    "calibration",
    "device",
    "dtype",
    "file",
    "revision",
    "threshold",
    "trust_remote_code",
    "window",
)
_STEP = 8  # tokens: rooms beside claims of nearly the same length are the same


def given_or(name: str, given: PartSpec | None, more: Iterable[str] = ()) -> PartSpec:
    """What was given, seen through; the bare judge of that name where nothing was."""
    given = given or PartSpec("judge", name)
    given.check((*_OPTIONS, *more))
    return given


def made(given: PartSpec, reader: Reader, threshold: float) -> WindowedJudge:
    """The judge over this reader, with the threshold and calibration that were given."""
    judge = WindowedJudge(given.name, reader, threshold)
    threshold, calibration = threshold_of(given, judge.basis, threshold, reader.probable)
    return WindowedJudge(given.name, reader, threshold, calibration)


def rooms_beside(encoder: Windowed, texts: Sequence[str]) -> list[int]:
    """Tokens that each of these texts leaves in the window, rounded down to steps.

    A few tokens are kept back, because two texts side by side can take more than each alone.
    """
    return rooms_of(encoder.window - encoder.specials, encoder.lengths(texts))


def rooms_of(free: int, lengths: Sequence[int]) -> list[int]:
    """What each of these lengths leaves of the free tokens; see `rooms_beside`."""
    return [free - (length // _STEP + 1) * _STEP for length in lengths]
