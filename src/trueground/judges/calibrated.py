"""A judge whose verdicts are decided anew: by another threshold, or by a calibration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import msgspec

from trueground.errors import InputError, UsageError
from trueground.judges.base import Judge
from trueground.judges.calibration import CalibrationFile, read_calibration, threshold_of
from trueground.plugins import PartSpec, parse_part
from trueground.types import JudgeRequest, Status, Verdict


def basis_of(judge: Judge) -> str:
    """The part of a judge's signature that its scores depend on; threshold and calibration do not
    belong to it."""
    return str(getattr(judge, "basis", judge.signature))


def rethresholded(inner: Judge, given: PartSpec) -> Decided:
    """The judge with `threshold=` of its probability, or `calibration=`, from what was given.

    UsageError for a threshold that cannot be meant, InputError for a file that cannot be used.
    """
    return Decided(inner, *threshold_of(given, basis_of(inner), inner.threshold, True))


def calibrated(inner: Judge, path: str, *, keep_threshold: bool = False) -> Decided:
    """The judge with the calibration in a file, and its threshold unless the judge's own is kept.

    InputError: it cannot be read, is of another judge, or of scores where the judge has verdicts
    only.
    """
    calibration = read_calibration(path, inner.name, basis_of(inner))
    if calibration.of == "score" and not getattr(inner, "scores", True):
        raise InputError(
            f"calibration file {path}: it is of scores, and the judge {inner.name!r} gives "
            f"verdicts without; make one with: trueground judge calibrate FILE --judge {inner.name}"
        )
    threshold = inner.threshold if keep_threshold else calibration.threshold
    return Decided(inner, threshold, calibration)


class Decided:
    """A judge with another threshold, or calibrated probabilities; the rest is the inner judge's.

    The score is the inner judge's own score, or its probability where it gives no other. A
    calibration of verdicts leaves verdicts as they are, and gives them probabilities.
    """

    def __init__(
        self, inner: Judge, threshold: float, calibration: CalibrationFile | None = None
    ) -> None:
        self.name = inner.name
        self.basis = basis_of(inner)
        self.threshold = threshold
        self.signature = f"{self.basis}|threshold:{threshold}"
        if calibration is not None:
            self.signature += f"|calibration:{calibration.digest}"
        self._by_verdict = calibration is not None and calibration.of == "verdict"
        self.scores = not self._by_verdict and bool(getattr(inner, "scores", True))
        self._calibration = calibration
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        """What else the inner judge has: `problem`, `prompts`, `spent`, `close` …"""
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._inner, name)

    def judge(self, requests: Sequence[JudgeRequest]) -> list[Verdict]:
        """Return the inner judge's verdicts, decided anew."""
        verdicts = self._inner.judge(requests)
        return [self._decided(r, v) for r, v in zip(requests, verdicts, strict=True)]

    def _decided(self, request: JudgeRequest, verdict: Verdict) -> Verdict:
        if verdict.status is not Status.SCORED:
            return verdict
        read = bool(request.claim.strip()) and any(text.strip() for text in request.texts)
        if self._by_verdict and self._calibration is not None:
            probability = self._calibration.probability(float(bool(verdict.supported)))
            return msgspec.structs.replace(verdict, probability=probability if read else 0.0)
        score = verdict.probability if verdict.score is None else verdict.score
        if score is None or not read:
            return verdict  # there is nothing to decide by
        return self._by_score(verdict, score)

    def _by_score(self, verdict: Verdict, score: float) -> Verdict:
        supported = score > self.threshold
        probability = verdict.probability
        if self._calibration is not None:
            probability = self._calibration.probability(score)
        reasons = verdict.reasons
        if supported != verdict.supported:
            side = "above" if supported else "not above"
            reasons = (*reasons, f"score {score:.2f}, {side} {self.threshold:g}")
        return msgspec.structs.replace(
            verdict, supported=supported, probability=probability, score=score, reasons=reasons
        )


def with_option(text: str, path: str) -> str:
    """The judge `NAME:MODEL(option=value)` with the option `calibration=path` beside the others.

    UsageError: it has one, or cannot be read.
    """
    given = parse_part("judge", text)
    if "calibration" in given.options:
        raise UsageError(
            f"the judge {given.name} has calibration={given.options['calibration']!r}; "
            "leave that or --judge-calibration out"
        )
    return replace(given, options={**given.options, "calibration": path}).written
