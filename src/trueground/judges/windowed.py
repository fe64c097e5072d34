"""The judge over a small model: every claim beside every window of its texts, each pair once.

What a model is, and how it reads a claim and a window, is a `Reader`; here is what all have in
common: windows, pairs without repeats, the maximum, the threshold and what people are told.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, Protocol

from trueground.encoders.base import Floats, Pair, Windowed
from trueground.judges.calibration import CalibrationFile
from trueground.judges.windows import RULE, Span, cut, heads
from trueground.types import JudgeRequest, Status, Verdict

REFERENCE_CODE = "reference-code"
LEAST_ROOM = 16  # tokens; evidence in smaller pieces says nothing


class Reader(Protocol):
    """How a model reads a claim and a window.

    `score_name` is what the score is called for people, `options` what else of it changes a score.
    `probable` says that the score is the probability of support; `joins` that the published code
    reads all texts as one.
    """

    score_name: str
    options: str
    probable: bool
    joins: bool

    @property
    def encoder(self) -> Windowed: ...

    def rooms(self, claims: Sequence[str]) -> list[int]:
        """For each claim the tokens that its windows may have; 0 or less where it does not fit."""
        ...

    def fits(self, pairs: Sequence[Pair]) -> list[bool]:
        """Whether the model can read each (claim, window) without losing a part of the claim."""
        ...

    def scores(self, pairs: Sequence[Pair]) -> Floats:
        """One score for each (claim, window), shape (n,); all pairs are different, and fit."""
        ...


class Place(NamedTuple):
    """A window: its text, and where it stands in which text of the request, if in one."""

    window: str
    text: int | None
    span: Span | None


class WindowedJudge:
    """A claim is supported where the best window of any text scores above the threshold.

    `basis` is the signature without threshold and calibration: what scores depend on.
    """

    in_one_process = True

    def __init__(
        self,
        name: str,
        reader: Reader,
        threshold: float,
        calibration: CalibrationFile | None = None,
    ) -> None:
        self.name = name
        self.threshold = threshold
        self.basis = "|".join(
            filter(None, (f"{name}-1", RULE, reader.encoder.signature, reader.options))
        )
        self.signature = f"{self.basis}|threshold:{threshold}"
        if calibration is not None:
            self.signature += f"|calibration:{calibration.digest}"
        self._reader = reader
        self._calibration = calibration

    def judge(self, requests: Sequence[JudgeRequest]) -> list[Verdict]:
        """Return one verdict for each request; equal windows beside equal claims are read once."""
        claims = list(dict.fromkeys(r.claim for r in requests if r.claim.strip()))
        rooms = dict(zip(claims, self._reader.rooms(claims), strict=True)) if claims else {}
        places = self._places(requests, rooms)
        pairs = dict.fromkeys(
            (request.claim, place.window)
            for request, own in zip(requests, places, strict=True)
            for place in own
        )
        scores = self._scores(list(pairs)) if pairs else {}
        verdicts = []
        for request, own in zip(requests, places, strict=True):
            found = [scores.get((request.claim, place.window)) for place in own]
            read = [score for score in found if score is not None]
            if own and len(read) == len(own):
                verdicts.append(self._verdict(own, read))
            else:
                verdicts.append(self._without(request, rooms))
        return verdicts

    @property
    def problem(self) -> str | None:
        """Why results were no longer kept on disk; None where they were."""
        return getattr(self._reader.encoder, "problem", None)

    def close(self) -> None:
        """Give the model's memory back; a later request loads it again."""
        self._reader.encoder.close()

    def _scores(self, pairs: list[Pair]) -> dict[Pair, float]:
        """The score of each pair that fits the window."""
        fits = zip(pairs, self._reader.fits(pairs), strict=True)
        asked = [pair for pair, fit in fits if fit]
        return dict(zip(asked, self._reader.scores(asked).tolist(), strict=True)) if asked else {}

    def _places(self, requests: Sequence[JudgeRequest], rooms: dict[str, int]) -> list[list[Place]]:
        """The windows of each request; none where it cannot be read."""
        asked = [self._texts(request, rooms) for request in requests]
        whole: list[tuple[str, int]] = []
        cut_off: list[tuple[str, int]] = []
        for request, own in zip(requests, asked, strict=True):
            if request.variant != REFERENCE_CODE:
                whole += [(text, room) for _, text, room in own]
            elif not self._reader.joins:
                cut_off += [(text, room) for _, text, room in own]
        lengths = self._reader.encoder.lengths
        windows = cut(whole, lengths) if whole else {}
        first = heads(cut_off, lengths) if cut_off else {}
        places = []
        for request, own in zip(requests, asked, strict=True):
            if request.variant != REFERENCE_CODE:
                places.append([_place(n, text, s) for n, text, r in own for s in windows[text, r]])
            elif self._reader.joins:
                places.append(_joined(own))
            else:
                places.append([_place(n, text, first[text, r]) for n, text, r in own])
        return places

    def _texts(self, request: JudgeRequest, rooms: dict[str, int]) -> list[tuple[int, str, int]]:
        """(number, text, room) of each text that is not blank; none where the claim has no room."""
        room = rooms.get(request.claim, 0)
        texts = enumerate(request.texts) if room >= LEAST_ROOM else ()
        return [(number, text, room) for number, text in texts if text.strip()]

    def _verdict(self, places: list[Place], scores: list[float]) -> Verdict:
        """The verdict of the best window, the first of equals."""
        if not all(map(math.isfinite, scores)):
            broken = ("the model gave no finite score: its weights or its arithmetic are broken",)
            return Verdict(status=Status.ERROR, reasons=broken)
        score = max(scores)
        best = places[scores.index(score)]
        supported = score > self.threshold
        start, end = best.span or (None, None)
        side = "above" if supported else "not above"
        what = "this text" if best.text is not None else "the texts together"
        reason = f"{self._reader.score_name} {score:.2f} with {what}, {side} {self.threshold:g}"
        return Verdict(
            supported,
            self._probability(score),
            text=best.text,
            start=start,
            end=end,
            reasons=(reason,),
            score=score,
        )

    def _without(self, request: JudgeRequest, rooms: dict[str, int]) -> Verdict:
        """The verdict on a request with nothing to read, or with something that does not fit."""
        probability = None if self._probability(0.0) is None else 0.0
        if not request.claim.strip():
            return Verdict(False, probability, reasons=("the claim has no words",))
        if not any(text.strip() for text in request.texts):
            return Verdict(False, probability, reasons=("no context",))
        window = self._reader.encoder.window
        reason = f"the claim is longer than the model's window of {window} tokens"
        if rooms[request.claim] >= LEAST_ROOM:
            reason = (
                f"a passage and the claim together exceed the model's window of {window} tokens"
            )
        elif rooms[request.claim] > 0:
            reason = (
                f"the claim takes so much of the model's window of {window} tokens that fewer "
                f"than {LEAST_ROOM} are left for evidence"
            )
        return Verdict(status=Status.TOO_LONG, reasons=(reason,))

    def _probability(self, score: float) -> float | None:
        if self._calibration is not None:
            return self._calibration.probability(score)
        return score if self._reader.probable else None


def _place(number: int, text: str, span: Span) -> Place:
    return Place(text[slice(*span)], number, span)


def _joined(own: list[tuple[int, str, int]]) -> list[Place]:
    """All texts as one, which the encoder cuts off at its window."""
    if not own:
        return []
    number = own[0][0] if len(own) == 1 else None
    return [Place("\n".join(text for _, text, _ in own), number, None)]
