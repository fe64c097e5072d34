"""A judge's threshold and probabilities from human labels, as `judge calibrate` writes them."""

from __future__ import annotations

import hashlib
import math
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np

from trueground.errors import InputError, UsageError
from trueground.plugins import PartSpec
from trueground.stats import isotonic, logistic
from trueground.stats.thresholds import Floats

FORMAT = "trueground-calibration-2"
# What every version of the format begins with; version 1 is read too, and has Platt's curve only.
FAMILY = "trueground-calibration-"
FORMATS = (f"{FAMILY}1", FORMAT)
METHODS = ("platt", "isotonic")


class CalibrationFile(msgspec.Struct, frozen=True, dict=True):
    """What a judge reads of the file that `judge calibrate` writes, of one of FORMATS.

    With the method "platt" probability = 1 / (1 + exp(-(slope · score + intercept))), with
    "isotonic" it is read from straight lines between `knots` (score, probability), and level beyond
    them. A score above `threshold` means supported. `of` is "score", or "verdict" for a judge that
    gives no scores: then True counts as 1 and False as 0, and verdicts stay as they are.

    `signature` is the `basis` of the judge that gave the scores; `digest` names the file.
    """

    judge: str
    signature: str
    threshold: float
    slope: float | None = None
    intercept: float | None = None
    n: int = 0
    digest: str = ""
    method: Literal["platt", "isotonic"] = "platt"
    knots: list[tuple[float, float]] | None = None
    of: Literal["score", "verdict"] = "score"

    def probability(self, score: float) -> float:
        """The probability that a claim of this score is supported."""
        if self.method == "isotonic":
            return float(isotonic.probabilities(np.array([score]), self._corners)[0])
        slope, intercept = self.slope or 0.0, self.intercept or 0.0
        return float(logistic.probabilities(np.array([score]), slope, intercept)[0])

    @cached_property
    def _corners(self) -> Floats:
        return np.array(self.knots or [(0.0, 0.0)], np.float64)


def read_calibration(path: str, judge: str, basis: str) -> CalibrationFile:
    """The calibration in a file. InputError: it cannot be read, or is of another judge."""
    found = open_calibration(path, judge)
    place, again = f"calibration file {path}", _again(judge)
    if found.judge != judge:
        raise InputError(f"{place}: it is of the judge {found.judge!r}, not {judge!r}; {again}")
    if found.signature != basis:
        raise InputError(
            f"{place}: it was made with {found.signature!r}, and this judge is {basis!r}; the "
            f"scores of one say nothing of the other; {again}"
        )
    return found


def open_calibration(path: str, judge: str = "NAME") -> CalibrationFile:
    """The calibration in a file, of whichever judge. InputError where it cannot be used.

    `judge` is the one that errors tell to calibrate.
    """
    place, again = f"calibration file {path}", _again(judge)
    try:
        text = Path(path).expanduser().read_bytes()
        fields = msgspec.json.decode(text, type=dict[str, object])
    except OSError as error:
        raise InputError(f"{place}: {error.strerror or error}; {again}") from error
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InputError(f"{place}: it cannot be read as JSON ({error}); {again}") from error
    if fields.get("format") not in FORMATS:
        expected = " or ".join(map(repr, FORMATS))
        raise InputError(f"{place}: format {fields.get('format')!r}; expected {expected}; {again}")
    try:
        found = msgspec.convert(
            {**fields, "digest": hashlib.sha256(text).hexdigest()[:16]}, CalibrationFile
        )
    except msgspec.ValidationError as error:
        raise InputError(f"{place}: {error}; {again}") from error
    _check_numbers(found, place, again)
    return found


def _again(judge: str) -> str:
    return f"make one with: trueground judge calibrate FILE --judge {judge}"


def _check_numbers(found: CalibrationFile, place: str, again: str) -> None:
    """InputError for numbers that are none, and for a curve that does not rise."""
    if found.method == "isotonic":
        knots = found.knots or []
        numbers = [found.threshold, *(number for knot in knots for number in knot)]
        known = all(map(math.isfinite, numbers)) and all(0 <= p <= 1 for _, p in knots)
        if not knots or not known or any(a[0] >= b[0] or a[1] > b[1] for a, b in pairwise(knots)):
            raise InputError(
                f"{place}: the knots are not scores and probabilities that rise; {again}"
            )
        if knots[0][1] == knots[-1][1]:
            raise InputError(f"{place}: the curve is level at {knots[0][1]:g}; {_USELESS}")
        return
    given = (found.threshold, found.slope, found.intercept)
    if any(number is None or not math.isfinite(number) for number in given):
        raise InputError(f"{place}: threshold, slope and intercept are {given}; {again}")
    if found.slope is not None and found.slope <= 0:
        raise InputError(f"{place}: slope {found.slope:g}; expected more than 0. {_USELESS}")


_USELESS = (
    "On the records that it was made from, what is supported scores no higher than what is not: "
    "this judge is of no use there, or the labels are turned round"
)


def threshold_of(
    given: PartSpec, basis: str, default: float, probable: bool
) -> tuple[float, CalibrationFile | None]:
    """(threshold, calibration) of a judge: threshold=, else the calibration's, else the default.

    `probable` where scores are probabilities. UsageError for a threshold that is no number, or that
    all or none of the probabilities are above; InputError for a file that cannot be used.
    """
    calibration = None
    if "calibration" in given.options:
        calibration = read_calibration(given.options["calibration"], given.name, basis)
    threshold = given.number("threshold", calibration.threshold if calibration else default)
    if threshold is None:  # it has a default
        raise UsageError(f"the judge {given.name} has no threshold")
    if "threshold" in given.options and probable and not 0 <= threshold < 1:
        raise given.refused("threshold", "a probability: 0 or more, and less than 1")
    return threshold, calibration
