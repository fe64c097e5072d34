"""A judge's threshold and probabilities from human labels, as `judge calibrate` writes them."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np

from trueground.errors import InputError, UsageError
from trueground.judges.base import Judge
from trueground.plugins import Given
from trueground.stats.logistic import probabilities
from trueground.types import JudgeRequest, Status, Verdict

FORMAT = "trueground-calibration-1"


class CalibrationFile(msgspec.Struct, frozen=True):
    """What a judge reads of the file that `judge calibrate` writes, of format FORMAT.

    probability = 1 / (1 + exp(-(slope · score + intercept))), and the threshold of the score.

    `signature` is the `basis` of the judge that gave the scores; `digest` names the file.
    """

    judge: str
    signature: str
    threshold: float
    slope: float
    intercept: float
    n: int = 0
    digest: str = ""

    def probability(self, score: float) -> float:
        """The probability that a claim of this score is supported."""
        return float(probabilities(np.array([score]), self.slope, self.intercept)[0])


def read_calibration(path: str, judge: str, basis: str) -> CalibrationFile:
    """The calibration in a file. InputError: it cannot be read, or is of another judge."""
    place = f"calibration file {path}"
    again = f"make one with: trueground judge calibrate FILE --judge {judge}"
    try:
        text = Path(path).expanduser().read_bytes()
        fields = msgspec.json.decode(text, type=dict[str, object])
    except OSError as error:
        raise InputError(f"{place}: {error.strerror or error}; {again}") from error
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InputError(f"{place}: it cannot be read as JSON ({error}); {again}") from error
    if fields.get("format") != FORMAT:
        raise InputError(f"{place}: format {fields.get('format')!r}; expected {FORMAT!r}; {again}")
    try:
        found = msgspec.convert(
            {**fields, "digest": hashlib.sha256(text).hexdigest()[:16]}, CalibrationFile
        )
    except msgspec.ValidationError as error:
        raise InputError(f"{place}: {error}; {again}") from error
    numbers = (found.threshold, found.slope, found.intercept)
    if not all(map(math.isfinite, numbers)):
        raise InputError(f"{place}: threshold, slope and intercept are {numbers}; {again}")
    if found.slope <= 0:
        raise InputError(
            f"{place}: slope {found.slope:g}; expected more than 0. On the records that it was "
            "made from, what is supported scores lower than what is not: this judge is of no use "
            "there, or the labels are turned round"
        )
    if found.judge != judge:
        raise InputError(f"{place}: it is of the judge {found.judge!r}, not {judge!r}; {again}")
    if found.signature != basis:
        raise InputError(
            f"{place}: it was made with {found.signature!r}, and this judge is {basis!r}; the "
            f"scores of one say nothing of the other; {again}"
        )
    return found


def threshold_of(
    given: Given, basis: str, default: float, probable: bool
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


class Rethresholded:
    """A judge with another threshold of its probability, or with calibrated probabilities.

    The score is the inner judge's own score, or its probability where it gives no other.
    """

    def __init__(self, inner: Judge, given: Given) -> None:
        self.name = inner.name
        self.basis: str = getattr(inner, "basis", inner.signature)
        self.threshold, self._calibration = threshold_of(given, self.basis, inner.threshold, True)
        self.signature = f"{self.basis}|threshold:{self.threshold}"
        if self._calibration is not None:
            self.signature += f"|calibration:{self._calibration.digest}"
        self._inner = inner

    @property
    def problem(self) -> str | None:
        """That of the inner judge."""
        return getattr(self._inner, "problem", None)

    def judge(self, requests: Sequence[JudgeRequest]) -> list[Verdict]:
        """Return the inner judge's verdicts, decided anew."""
        return [self._decided(verdict) for verdict in self._inner.judge(requests)]

    def _decided(self, verdict: Verdict) -> Verdict:
        score = verdict.probability if verdict.score is None else verdict.score
        if verdict.status is not Status.SCORED or score is None or verdict.text is None:
            return verdict  # nothing was read
        supported = score > self.threshold
        probability = verdict.probability
        if self._calibration is not None:
            probability = self._calibration.probability(score)
        reasons = verdict.reasons
        if supported != verdict.supported:
            side = "above" if supported else "not above"
            reasons = (*reasons, f"score {score:.2f}, {side} {self.threshold:g}")
        return msgspec.structs.replace(
            verdict,
            supported=supported,
            probability=probability,
            score=score,
            reasons=reasons,
        )
