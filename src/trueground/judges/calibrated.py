"""Thresholds and probabilities of judges from human labels, as `judge calibrate` writes them.

Some judges read them directly. The others are wrapped by a CalibratedJudge, which decides their
verdicts again.
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
    """The part of a calibration file that a judge reads, in one of FORMATS.

    With the method "platt", the probability is 1 / (1 + exp(-(slope * score + intercept))). With
    "isotonic", it is interpolated linearly between `knots` (score, probability), and constant
    beyond them.

    Attributes:
        judge: Name of the judge.
        signature: The `basis` of the judge that was calibrated.
        threshold: Scores above it mean "supported".
        of: "score", or "verdict" for a judge without scores. Then True counts as 1 and False as
            0, and verdicts stay as they are.
        digest: Hash of the file.
        fitted: How well the judge does on labels.
    """

    judge: str
    # All format names begin with it. Version 1 has only the method "platt".
    FAMILY: ClassVar[str] = "trueground-calibration-"
    FORMAT: ClassVar[str] = f"{FAMILY}2"
    FORMATS: ClassVar[tuple[str, str]] = (f"{FAMILY}1", FORMAT)
    PAGE_MARK: ClassVar[str] = "trueground-calibration-1"  # identifies its report page
    METHODS: ClassVar[tuple[str, str]] = ("platt", "isotonic")
    USELESS: ClassVar[str] = (
        "On its labeled records, supported claims don't score higher than unsupported ones. "
        "Either this judge is useless for them, or the labels are inverted"
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
        """Return the page and the file to write for a path.

        Raises:
            UsageError: The path has another file type.
            OutputError: It can't be written, or would replace anything but a calibration.
        """
        output = OutputPath(path)
        return output.find_files(cls.PAGE_MARK, overwrite=overwrite, numbers=cls.FAMILY)

    @classmethod
    def check_free(cls, path: Path, overwrite: bool = False) -> None:
        """Check that a calibration can be written to a path, see `find_outputs`."""
        cls.find_outputs(path, overwrite)

    def fitted_at(self, threshold: float) -> FitFigures | None:
        """Return the figures that are valid for a threshold: ranking doesn't depend on it."""
        return keep_valid_figures(self.fitted, threshold == self.threshold)

    def probability(self, score: float) -> float:
        """Return the probability that a claim with this score is supported."""
        return float(self._curve.probabilities(np.array([score]))[0])

    @cached_property
    def _curve(self) -> CalibrationCurve:
        if self.method == "isotonic":
            return CalibrationCurve(knots=np.array(self.knots or [(0.0, 0.0)], np.float64))
        return CalibrationCurve(self.slope, self.intercept)


def read_calibration(path: str, judge: str, basis: str) -> CalibrationFile:
    """Return the calibration in a file. Raises InputError if it isn't for this judge."""
    calibration = open_calibration(path, judge)
    location, hint = f"calibration file {path}", _hint(judge)
    if calibration.judge != judge:
        raise InputError(
            f"{location}: it is for the judge {calibration.judge!r}, not {judge!r}; {hint}"
        )
    if calibration.signature != basis:
        raise InputError(
            f"{location}: it was made with {calibration.signature!r}, but this judge is {basis!r}; "
            f"their scores can't be compared; {hint}"
        )
    return calibration


def open_calibration(path: str, judge: str = "NAME") -> CalibrationFile:
    """Return the calibration in a file, for any judge. Raises InputError if it is invalid.

    `judge` is the judge that error messages recommend to calibrate.
    """
    location, hint = f"calibration file {path}", _hint(judge)
    fields = read_fitted(path, location, hint)
    if fields.get("format") not in CalibrationFile.FORMATS:
        expected = " or ".join(map(repr, CalibrationFile.FORMATS))
        if str(fields.get("format")).startswith("trueground-stack-"):
            hint = f"a file of judge fit is a judge: use --judge {path}"
        actual = fields.get("format")
        raise InputError(f"{location}: format {actual!r}; expected {expected}; {hint}")
    try:
        values = fields | {"fitted": FitFigures.of(fields)}
        calibration = msgspec.convert(values, CalibrationFile)
    except msgspec.ValidationError as error:
        raise InputError(f"{location}: {error}; {hint}") from error
    _check_numbers(calibration, location, hint)
    return calibration


def read_fitted(path: str | Path, location: str, hint: str) -> dict[str, Any]:
    """Return the fields of a file that was fitted to labels, and its `digest`.

    Args:
        path: The file.
        location: Beginning of error messages, such as "calibration file FILE".
        hint: End of error messages: how to make such a file.

    Raises:
        InputError: The file can't be read.
    """
    try:
        text = Path(path).expanduser().read_bytes()
        fields = msgspec.json.decode(text, type=dict[str, Any])
    except OSError as error:
        raise InputError(f"{location}: {error.strerror or error}; {hint}") from error
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InputError(f"{location}: it isn't valid JSON ({error}); {hint}") from error
    return fields | {"digest": hashlib.sha256(text).hexdigest()[:16]}


def _hint(judge: str) -> str:
    return f"make one with: trueground judge calibrate FILE --judge {judge}"


def _check_numbers(calibration: CalibrationFile, location: str, hint: str) -> None:
    """Raise InputError if a number isn't finite, or the curve doesn't rise."""
    if calibration.method == "isotonic":
        knots = calibration.knots or []
        numbers = [calibration.threshold, *(number for knot in knots for number in knot)]
        valid = all(map(math.isfinite, numbers)) and all(0 <= p <= 1 for _, p in knots)
        falls = any(a[0] >= b[0] or a[1] > b[1] for a, b in pairwise(knots))
        if not knots or not valid or falls:
            raise InputError(
                f"{location}: the threshold or the knots are invalid; expected a finite threshold, "
                "and knots of finite scores that rise and probabilities from 0 to 1 that don't "
                f"fall; {hint}"
            )
        if knots[0][1] == knots[-1][1]:
            raise InputError(
                f"{location}: the curve is constant at {knots[0][1]:g}. {CalibrationFile.USELESS}"
            )
        return
    values = (calibration.threshold, calibration.slope, calibration.intercept)
    if any(number is None or not math.isfinite(number) for number in values):
        raise InputError(
            f"{location}: threshold, slope and intercept are {values}; expected finite "
            f"numbers; {hint}"
        )
    if calibration.slope is not None and calibration.slope <= 0:
        raise InputError(
            f"{location}: slope {calibration.slope:g}; expected more than 0. "
            f"{CalibrationFile.USELESS}"
        )


def keep_valid_figures(fitted: FitFigures | None, same_threshold: bool) -> FitFigures | None:
    """Return the figures of a fit that are valid for a threshold.

    `same_threshold` is False if the threshold isn't the fitted one. Then only figures that don't
    depend on it are kept.
    """
    if same_threshold or fitted is None:
        return fitted
    return msgspec.structs.replace(fitted, balanced_accuracy=None) if fitted.auroc else None


def sign_judge(basis: str, threshold: float, calibration: CalibrationFile | None) -> str:
    """Return the signature of a judge with this basis, threshold and calibration."""
    digest = "" if calibration is None else f"|calibration:{calibration.digest}"
    return f"{basis}|threshold:{threshold}{digest}"


def read_threshold(
    spec: ComponentSpec, basis: str, default: float, probable: bool
) -> tuple[float, CalibrationFile | None]:
    """Return threshold and calibration of a judge.

    The threshold is the option, else that of the calibration, else the default.

    Args:
        spec: The judge with its options.
        basis: Its basis, see `Judge`.
        default: Threshold without option and calibration.
        probable: Whether scores are probabilities.

    Raises:
        UsageError: The threshold isn't a number, or isn't a valid threshold of probabilities.
        InputError: The calibration file can't be used.
    """
    calibration = None
    if "calibration" in spec.options:
        calibration = read_calibration(spec.options["calibration"], spec.name, basis)
    threshold = spec.number("threshold", calibration.threshold if calibration else default)
    if threshold is None:  # Never with a default. This is for type checkers.
        raise UsageError(f"the judge {spec.name} has no threshold")
    if "threshold" in spec.options and probable and not 0 <= threshold < 1:
        raise spec.refused("threshold", "a probability, 0 or more and less than 1")
    return threshold, calibration


def with_threshold_option(inner: Judge, spec: ComponentSpec) -> CalibratedJudge:
    """Return a judge of probabilities with the options `threshold=` and `calibration=`.

    Raises:
        UsageError: The threshold is invalid.
        InputError: The calibration file can't be used.
    """
    return CalibratedJudge(inner, *read_threshold(spec, inner.basis, inner.threshold, True))


def calibrated(judge: SupportsJudge, path: str, *, keep_threshold: bool = False) -> CalibratedJudge:
    """Return a judge with the calibration in a file.

    Args:
        judge: The judge.
        path: The calibration file.
        keep_threshold: Whether the judge keeps its threshold instead of the one in the file.

    Raises:
        InputError: The file can't be read or is for another judge, or it is for scores and the
            judge returns only verdicts.
    """
    inner = Judge.adapt(judge)
    calibration = read_calibration(path, inner.name, inner.basis)
    if calibration.of == "score" and not inner.scores:
        raise InputError(
            f"calibration file {path}: it is for scores, but the judge {inner.name!r} returns only "
            f"verdicts; {_hint(inner.name)}"
        )
    threshold = inner.threshold if keep_threshold else calibration.threshold
    return CalibratedJudge(inner, threshold, calibration)


def add_calibration_option(text: str, path: str) -> str:
    """Return the judge `NAME:MODEL(option=value)` with the option `calibration=path` added.

    Raises UsageError if it has one already, or can't be parsed.
    """
    spec = ComponentSpec.parse("judge", text)
    if "calibration" in spec.options:
        raise UsageError(
            f"the judge {spec.name} has calibration={spec.options['calibration']!r}; "
            "leave that or --judge-calibration out"
        )
    return replace(spec, options={**spec.options, "calibration": path}).written


class CalibratedJudge(Judge):
    """A wrapper that gives a judge another threshold, or calibrated probabilities.

    The score is the score of the inner judge, else its probability. A calibration of verdicts
    keeps verdicts as they are and adds probabilities.
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
        self.signature = sign_judge(self.basis, threshold, calibration)
        by_verdict = calibration is not None and calibration.of == "verdict"
        self.scores = not by_verdict and inner.scores
        self.in_one_process = inner.in_one_process
        self.uses_encoder = inner.uses_encoder
        self.fitted = (
            calibration.fitted_at(threshold)
            if calibration is not None
            else keep_valid_figures(inner.fitted, threshold == inner.threshold)
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
        """Return the verdicts of the inner judge, decided again."""
        verdicts = self._inner.judge(requests)
        return [self._decide(r, v) for r, v in zip(requests, verdicts, strict=True)]

    def _decide(self, request: JudgeRequest, verdict: Verdict) -> Verdict:
        if verdict.status is not Status.SCORED:
            return verdict
        calibration = self._calibration
        has_content = bool(request.claim.strip()) and any(text.strip() for text in request.texts)
        if calibration is not None and calibration.of == "verdict":
            probability = calibration.probability(float(bool(verdict.supported)))
            return msgspec.structs.replace(verdict, probability=probability if has_content else 0.0)
        score = verdict.probability if verdict.score is None else verdict.score
        if score is None or not has_content:
            return verdict  # There is no number to decide by.
        supported = score > self.threshold
        reasons, kind = verdict.reasons, verdict.kind
        if supported != verdict.supported:
            side = "above" if supported else "not above"
            number = "probability" if verdict.score is None else "score"
            reason = f"{number} {score:.2f}, {side} {self.threshold:g}"
            reasons = (", though ".join((reason, *reasons[:1])),)
            # Verdicts with a score of the model have no kind of reason.
            below_threshold = verdict.score is None and not supported
            kind = ReasonKind.BELOW_THRESHOLD if below_threshold else None
        return msgspec.structs.replace(
            verdict,
            supported=supported,
            probability=calibration.probability(score) if calibration else verdict.probability,
            score=score,
            reasons=reasons,
            kind=kind,
        )
