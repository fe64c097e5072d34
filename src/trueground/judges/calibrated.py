"""A judge's threshold and probabilities from human labels, as `judge calibrate` writes them.

A judge takes them as its own, or stands behind a CalibratedJudge that decides its verdicts anew.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar, Literal

import msgspec
import numpy as np

from trueground.components import ComponentSpec
from trueground.errors import InputError, UsageError
from trueground.files import OutputPath
from trueground.judges.base import Judge, SupportsJudge
from trueground.judges.people import FitFigures
from trueground.stats import CalibrationCurve
from trueground.types import JudgeRequest, PromptFile, ReasonKind, Status, Usage, Verdict


class CalibrationFile(msgspec.Struct, frozen=True, dict=True):
    """What a judge reads of the file that `judge calibrate` writes, of one of FORMATS.

    With the method "platt" probability = 1 / (1 + exp(-(slope · score + intercept))), with
    "isotonic" it is read from straight lines between `knots` (score, probability), and level beyond
    them. A score above `threshold` means supported. `of` is "score", or "verdict" for a judge that
    gives no scores: then True counts as 1 and False as 0, and verdicts stay as they are.

    `signature` is the `basis` of the judge that gave the scores; `digest` names the file. `fitted`
    says how well it does on labels.
    """

    judge: str
    # What every version begins with; version 1 is read too, and has Platt's curve only.
    FAMILY: ClassVar[str] = "trueground-calibration-"
    FORMAT: ClassVar[str] = f"{FAMILY}2"
    FORMATS: ClassVar[tuple[str, str]] = (f"{FAMILY}1", FORMAT)
    PAGE_MARK: ClassVar[str] = "trueground-calibration-1"  # of its page; another file has none
    METHODS: ClassVar[tuple[str, str]] = ("platt", "isotonic")
    USELESS: ClassVar[str] = (
        "On the records that it was made from, what is supported scores no higher than what is "
        "not: this judge is of no use there, or the labels are turned round"
    )
    signature: str
    threshold: float
    slope: float | None = None
    intercept: float | None = None
    n: int = 0
    digest: str = ""
    method: Literal["platt", "isotonic"] = "platt"
    knots: list[tuple[float, float]] | None = None
    of: Literal["score", "verdict"] = "score"
    fitted: FitFigures | None = None

    @classmethod
    def find_outputs(cls, path: Path, overwrite: bool = False) -> tuple[Path | None, Path | None]:
        """The page and the file to write for a path; only those of a calibration are replaced.

        UsageError: a file of another kind. OutputError where it may not be written.
        """
        output = OutputPath(path)
        return output.find_files(cls.PAGE_MARK, overwrite=overwrite, numbers=cls.FAMILY)

    @classmethod
    def check_free(cls, path: Path, overwrite: bool = False) -> None:
        """Check that a calibration may be written there, see `find_outputs`."""
        cls.find_outputs(path, overwrite)

    def fitted_at(self, threshold: float) -> FitFigures | None:
        """The same for another threshold: only ranking does not depend on it."""
        return with_threshold(self.fitted, threshold == self.threshold)

    def probability(self, score: float) -> float:
        """The probability that a claim of this score is supported."""
        return float(self._curve.probabilities(np.array([score]))[0])

    @cached_property
    def _curve(self) -> CalibrationCurve:
        if self.method == "isotonic":
            return CalibrationCurve(knots=np.array(self.knots or [(0.0, 0.0)], np.float64))
        return CalibrationCurve(self.slope, self.intercept)


def read_calibration(path: str, judge: str, basis: str) -> CalibrationFile:
    """The calibration in a file. InputError: it cannot be read, or is of another judge."""
    calibration = open_calibration(path, judge)
    place, again = f"calibration file {path}", _again(judge)
    if calibration.judge != judge:
        raise InputError(
            f"{place}: it is of the judge {calibration.judge!r}, not {judge!r}; {again}"
        )
    if calibration.signature != basis:
        raise InputError(
            f"{place}: it was made with {calibration.signature!r}, and this judge is {basis!r}; "
            f"the scores of one say nothing of the other; {again}"
        )
    return calibration


def open_calibration(path: str, judge: str = "NAME") -> CalibrationFile:
    """The calibration in a file, of whichever judge. InputError where it cannot be used.

    `judge` is the one that errors tell to calibrate.
    """
    place, again = f"calibration file {path}", _again(judge)
    fields = read_fitted(path, place, again)
    if fields.get("format") not in CalibrationFile.FORMATS:
        expected = " or ".join(map(repr, CalibrationFile.FORMATS))
        if str(fields.get("format")).startswith("trueground-stack-"):
            again = f"what judge fit wrote is a judge: --judge {path}"
        raise InputError(f"{place}: format {fields.get('format')!r}; expected {expected}; {again}")
    try:
        told = fields | {"fitted": FitFigures.of(fields)}
        calibration = msgspec.convert(told, CalibrationFile)
    except msgspec.ValidationError as error:
        raise InputError(f"{place}: {error}; {again}") from error
    _check_numbers(calibration, place, again)
    return calibration


def read_fitted(path: str | Path, place: str, again: str) -> dict[str, Any]:
    """The fields of a file that was fitted to labels, and its `digest`.

    InputError: it cannot be read. It begins with `place` and ends with `again`.
    """
    try:
        text = Path(path).expanduser().read_bytes()
        fields = msgspec.json.decode(text, type=dict[str, Any])
    except OSError as error:
        raise InputError(f"{place}: {error.strerror or error}; {again}") from error
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InputError(f"{place}: it cannot be read as JSON ({error}); {again}") from error
    return fields | {"digest": hashlib.sha256(text).hexdigest()[:16]}


def _again(judge: str) -> str:
    return f"make one with: trueground judge calibrate FILE --judge {judge}"


def _check_numbers(calibration: CalibrationFile, place: str, again: str) -> None:
    """InputError for numbers that are none, and for a curve that does not rise."""
    if calibration.method == "isotonic":
        knots = calibration.knots or []
        numbers = [calibration.threshold, *(number for knot in knots for number in knot)]
        known = all(map(math.isfinite, numbers)) and all(0 <= p <= 1 for _, p in knots)
        if not knots or not known or any(a[0] >= b[0] or a[1] > b[1] for a, b in pairwise(knots)):
            raise InputError(
                f"{place}: the knots are not scores and probabilities that rise; {again}"
            )
        if knots[0][1] == knots[-1][1]:
            raise InputError(
                f"{place}: the curve is level at {knots[0][1]:g}; {CalibrationFile.USELESS}"
            )
        return
    found = (calibration.threshold, calibration.slope, calibration.intercept)
    if any(number is None or not math.isfinite(number) for number in found):
        raise InputError(f"{place}: threshold, slope and intercept are {found}; {again}")
    if calibration.slope is not None and calibration.slope <= 0:
        raise InputError(
            f"{place}: slope {calibration.slope:g}; expected more than 0. {CalibrationFile.USELESS}"
        )


def with_threshold(fitted: FitFigures | None, own: bool) -> FitFigures | None:
    """The figures of a fit; where the threshold is not its own, those that do not depend on it."""
    if own or fitted is None:
        return fitted
    return msgspec.structs.replace(fitted, balanced_accuracy=None) if fitted.auroc else None


def sign(basis: str, threshold: float, calibration: CalibrationFile | None) -> str:
    """The signature of a judge with this basis, threshold and calibration."""
    digest = "" if calibration is None else f"|calibration:{calibration.digest}"
    return f"{basis}|threshold:{threshold}{digest}"


def threshold_of(
    given: ComponentSpec, basis: str, default: float, probable: bool
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


def rethresholded(inner: Judge, given: ComponentSpec) -> CalibratedJudge:
    """The judge with `threshold=` of its probability, or `calibration=`, from what was given.

    UsageError for a threshold that cannot be meant, InputError for a file that cannot be used.
    """
    return CalibratedJudge(inner, *threshold_of(given, inner.basis, inner.threshold, True))


def calibrated(judge: SupportsJudge, path: str, *, keep_threshold: bool = False) -> CalibratedJudge:
    """The judge with the calibration in a file, and its threshold unless the judge's own is kept.

    InputError: it cannot be read, is of another judge, or of scores where the judge has verdicts
    only.
    """
    inner = Judge.adapt(judge)
    calibration = read_calibration(path, inner.name, inner.basis)
    if calibration.of == "score" and not inner.scores:
        raise InputError(
            f"calibration file {path}: it is of scores, and the judge {inner.name!r} gives "
            f"verdicts without; {_again(inner.name)}"
        )
    threshold = inner.threshold if keep_threshold else calibration.threshold
    return CalibratedJudge(inner, threshold, calibration)


def with_option(text: str, path: str) -> str:
    """The judge `NAME:MODEL(option=value)` with the option `calibration=path` beside the others.

    UsageError: it has one, or cannot be read.
    """
    given = ComponentSpec.parse("judge", text)
    if "calibration" in given.options:
        raise UsageError(
            f"the judge {given.name} has calibration={given.options['calibration']!r}; "
            "leave that or --judge-calibration out"
        )
    return replace(given, options={**given.options, "calibration": path}).written


class CalibratedJudge(Judge):
    """A judge with another threshold, or calibrated probabilities; the rest is the inner judge's.

    The score is the inner judge's own score, or its probability where it gives no other. A
    calibration of verdicts leaves verdicts as they are, and gives them probabilities.
    """

    name: str
    signature: str
    threshold: float
    basis = ""  # set when a judge is made
    fitted: FitFigures | None

    def __init__(
        self, inner: Judge, threshold: float, calibration: CalibrationFile | None = None
    ) -> None:
        self.name = inner.name
        self.basis = inner.basis
        self.threshold = threshold
        self.signature = sign(self.basis, threshold, calibration)
        by_verdict = calibration is not None and calibration.of == "verdict"
        self.scores = not by_verdict and inner.scores
        self.in_one_process = inner.in_one_process
        self.uses_encoder = inner.uses_encoder
        self.fitted = (
            calibration.fitted_at(threshold)
            if calibration is not None
            else with_threshold(inner.fitted, threshold == inner.threshold)
        )
        self._calibration = calibration
        self._inner = inner

    @property
    def prompts(self) -> tuple[PromptFile, ...]:
        """The inner judge's."""
        return self._inner.prompts

    @property
    def spent(self) -> Usage | None:
        """The inner judge's."""
        return self._inner.spent

    @property
    def problem(self) -> str | None:
        """The inner judge's."""
        return self._inner.problem

    @property
    def trouble(self) -> str | None:
        """The inner judge's."""
        return self._inner.trouble

    def close(self) -> None:
        """Close the inner judge."""
        self._inner.close()

    def again(self) -> AbstractContextManager[None]:
        """See `Component.again`."""
        return self._inner.again()

    def judge(self, requests: Sequence[JudgeRequest]) -> list[Verdict]:
        """Return the inner judge's verdicts, decided anew."""
        verdicts = self._inner.judge(requests)
        return [self._decide(r, v) for r, v in zip(requests, verdicts, strict=True)]

    def _decide(self, request: JudgeRequest, verdict: Verdict) -> Verdict:
        if verdict.status is not Status.SCORED:
            return verdict
        calibration = self._calibration
        read = bool(request.claim.strip()) and any(text.strip() for text in request.texts)
        if calibration is not None and calibration.of == "verdict":
            known = calibration.probability(float(bool(verdict.supported)))
            return msgspec.structs.replace(verdict, probability=known if read else 0.0)
        score = verdict.probability if verdict.score is None else verdict.score
        if score is None or not read:
            return verdict  # there is nothing to decide by
        supported = score > self.threshold
        probability = calibration.probability(score) if calibration else verdict.probability
        reasons, kind = verdict.reasons, verdict.kind
        if supported != verdict.supported:
            side = "above" if supported else "not above"
            number = "probability" if verdict.score is None else "score"
            reason = f"{number} {score:.2f}, {side} {self.threshold:g}"
            reasons = (", though ".join((reason, *reasons[:1])),)
            # A model's own score is all that it tells.
            known = verdict.score is None and not supported
            kind = ReasonKind.BELOW_THRESHOLD if known else None
        return msgspec.structs.replace(
            verdict,
            supported=supported,
            probability=probability,
            score=score,
            reasons=reasons,
            kind=kind,
        )
