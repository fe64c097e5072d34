"""Judges over small models: every claim beside every window of its texts, each pair once.

Judges differ in what their model reads and in what its number means; windows, pairs without
repeats, the maximum, the threshold and what people are told are the same for all.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueground.components import ComponentSpec
from trueground.encoders import BiEncoder, CrossEncoder, Encoder, EncoderOptions, FirstTokenModel
from trueground.errors import UsageError
from trueground.judges.base import MODELS, Judge, warn_of_license
from trueground.judges.calibrated import sign, threshold_of
from trueground.judges.people import FitFigures
from trueground.judges.windows import RULE, Span, cut, heads
from trueground.net import RequestedModel
from trueground.types import JudgeRequest, Status, Verdict

Floats = NDArray[np.float32]
Pair = tuple[str, str]
REFERENCE_CODE = "reference-code"
LEAST_ROOM = 16  # tokens; evidence in smaller pieces says nothing
# Options of every part over a small model, judge or comparer.
OPTIONS = tuple(
    field.name
    for field in fields(EncoderOptions)
    if field.name not in ("cache", "pooling", "similarity")
)
BI_ENCODER_THRESHOLD = 0.4  # Truly-Ground, appendix A: the highest agreement with people
CROSS_ENCODER_THRESHOLD = 6.0  # the same: of the raw logit, with the pair (fact, text)
THRESHOLD = 0.5  # of a probability
# Documents in pieces of 500 words are what it was published with; claim and prompt come to that.
MINICHECK_WINDOW = 768
# The parts of a prompt around TEXT and CLAIM, as the models were trained: Honovich et al. 2022
# (TRUE), Tang et al. 2024 (MiniCheck, with the token that ends a text between the two parts).
TRUE = ("premise: TEXT hypothesis: CLAIM",)
MINICHECK = ("predict: TEXT", "CLAIM")
_PLACE = re.compile("TEXT|CLAIM")
_SPACE = "\u2581"
_STEP = 8  # tokens: rooms beside claims of nearly the same length are the same
_ROWS = 4096


class Place(NamedTuple):
    """A window: its text, and where it stands in which text of the request, if in one."""

    window: str
    text: int | None
    span: Span | None


class OnEncoder:
    """A judge or comparer that holds a small model."""

    uses_encoder = True
    encoder: Encoder

    @property
    def problem(self) -> str | None:
        """Why results were no longer kept on disk; None where they were."""
        return self.encoder.problem

    def close(self) -> None:
        """Give the model's memory back; a later request loads it again."""
        self.encoder.close()


class WindowedJudge(OnEncoder, Judge):
    """A claim is supported where the best window of any text scores above the threshold.

    `basis` is the signature without threshold and calibration: what scores depend on. `score_name`
    is what the score is called for people; `probable` says that it is the probability of support,
    `joins` that the published code reads all texts as one.
    """

    in_one_process = True
    score_name = "probability of support"
    probable = True
    joins = False
    name: str
    signature: str
    threshold: float
    basis = ""  # set when a judge is made
    fitted: FitFigures | None

    def __init__(
        self,
        given: ComponentSpec,
        encoder: Encoder,
        threshold: float = THRESHOLD,
        options: str = "",
    ) -> None:
        """`threshold` counts where none was given, and `options` change the score."""
        warn_of_license(given.model or MODELS.get(given.name, given.name))
        self.name = given.name
        self.basis = "|".join(filter(None, (f"{self.name}-1", RULE, encoder.signature, options)))
        self.threshold, self._calibration = threshold_of(
            given, self.basis, threshold, self.probable
        )
        self.signature = sign(self.basis, self.threshold, self._calibration)
        self.fitted = None
        if self._calibration is not None:
            self.fitted = self._calibration.fitted_at(self.threshold)
        self.encoder = encoder

    def rooms(self, claims: Sequence[str]) -> list[int]:
        """For each claim the tokens that its windows may have; 0 or less where it does not fit."""
        free = self.encoder.window - self.encoder.specials
        return rooms_beside(free, self.encoder.lengths(claims))

    def fitting(self, pairs: list[Pair]) -> list[Pair]:
        """The (claim, window) that the model can read without losing a part of the claim.

        All: two texts are counted apart and put side by side.
        """
        return pairs

    def score_pairs(self, pairs: Sequence[Pair]) -> Floats:
        """One score for each (claim, window), shape (n,); all pairs are different, and fit."""
        raise NotImplementedError

    def judge(self, requests: Sequence[JudgeRequest]) -> list[Verdict]:
        """Return one verdict for each request; equal windows beside equal claims are read once."""
        claims = list(dict.fromkeys(r.claim for r in requests if r.claim.strip()))
        rooms = dict(zip(claims, self.rooms(claims), strict=True)) if claims else {}
        places = self._places(requests, [rooms.get(request.claim, 0) for request in requests])
        pairs = [
            [(request.claim, place.window) for place in own]
            for request, own in zip(requests, places, strict=True)
        ]
        unique = list(dict.fromkeys(pair for own in pairs for pair in own))
        read = self.fitting(unique) if unique else []
        scores = dict(zip(read, self.score_pairs(read).tolist(), strict=True)) if read else {}
        return [
            self._verdict(request.claim, own, [scores[pair] for pair in asked])
            if asked and all(pair in scores for pair in asked)
            else self._verdict_unread(request, rooms)
            for request, own, asked in zip(requests, places, pairs, strict=True)
        ]

    def _places(self, requests: Sequence[JudgeRequest], rooms: Sequence[int]) -> list[list[Place]]:
        """The windows of each request; none where it cannot be read."""
        texts: list[list[tuple[int, str]]] = []
        whole: list[tuple[str, int]] = []
        cut_off: list[tuple[str, int]] = []
        for request, room in zip(requests, rooms, strict=True):
            read = enumerate(request.texts) if room >= LEAST_ROOM else ()
            texts.append([(number, text) for number, text in read if text.strip()])
            published = request.variant == REFERENCE_CODE
            (cut_off if published else whole).extend((text, room) for _, text in texts[-1])
        windows = cut(whole, self.encoder.lengths) if whole else {}
        first: dict[tuple[str, int], Span] = {}
        if cut_off and not self.joins:
            first = heads(cut_off, self.encoder.lengths)

        def places(own: list[tuple[int, str]], room: int, published: bool) -> list[Place]:
            if published and self.joins and own:
                # All texts as one, which the encoder cuts off at its window.
                number = own[0][0] if len(own) == 1 else None
                return [Place("\n".join(text for _, text in own), number, None)]
            return [
                Place(text[slice(*span)], number, span)
                for number, text in own
                for span in ([first[text, room]] if published else windows[text, room])
            ]

        return [
            places(own, room, request.variant == REFERENCE_CODE)
            for request, own, room in zip(requests, texts, rooms, strict=True)
        ]

    def doubts(self, claim: str, window: str) -> tuple[str, ...]:
        """More reasons why the claim is not supported by its best window."""
        return ()

    def _verdict(self, claim: str, places: Sequence[Place], scores: Sequence[float]) -> Verdict:
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
        reason = f"{self.score_name} {score:.2f} with {what}, {side} {self.threshold:g}"
        probability = score if self.probable else None
        if self._calibration is not None:
            probability = self._calibration.probability(score)
        return Verdict(
            supported,
            probability,
            text=best.text,
            start=start,
            end=end,
            reasons=(reason, *(() if supported else self.doubts(claim, best.window))),
            score=score,
        )

    def _verdict_unread(self, request: JudgeRequest, rooms: dict[str, int]) -> Verdict:
        """The verdict on a request with nothing to read, or with something that does not fit."""
        probability = 0.0 if self.probable or self._calibration is not None else None
        if not request.claim.strip():
            return Verdict(False, probability, reasons=("the claim has no words",))
        if not any(text.strip() for text in request.texts):
            return Verdict(False, probability, reasons=("no context",))
        window = self.encoder.window
        if rooms[request.claim] >= LEAST_ROOM:
            reason = (
                f"a passage and the claim together exceed the model's window of {window} tokens"
            )
        elif rooms[request.claim] > 0:
            reason = f"the claim takes so much of the model's window of {window} tokens that fewer "
            reason += f"than {LEAST_ROOM} are left for evidence"
        else:
            reason = f"the claim is longer than the model's window of {window} tokens"
        return Verdict(status=Status.TOO_LONG, reasons=(reason,))


class BiEncoderJudge(WindowedJudge):
    """Claims and windows each have a vector, computed once; the score is their cosine."""

    score_name = "similarity"
    probable = False
    joins = True
    encoder: BiEncoder

    def rooms(self, claims: Sequence[str]) -> list[int]:
        """A window stands by itself, and so does the claim."""
        room = self.encoder.window - self.encoder.specials
        return [room if length <= room else 0 for length in self.encoder.lengths(claims)]

    def score_pairs(self, pairs: Sequence[Pair]) -> Floats:
        """Cosines, shape (n,)."""
        rows: dict[str, int] = {}
        for text in (text for pair in pairs for text in pair):
            rows.setdefault(text, len(rows))
        vectors = self.encoder.encode(list(rows))
        places = np.array([(rows[claim], rows[window]) for claim, window in pairs])
        scores = np.empty(len(pairs), np.float32)
        for low in range(0, len(pairs), _ROWS):
            left, right = vectors[places[low : low + _ROWS].T].astype(np.float64)
            # Not a matrix product: its last digit depends on how many rows there are.
            scores[low : low + _ROWS] = (left * right).sum(axis=1)
        return scores


class CrossEncoderJudge(WindowedJudge):
    """The one raw logit of a ranking model for the pair (claim, window)."""

    score_name = "relevance"
    probable = False
    joins = True
    encoder: CrossEncoder

    def score_pairs(self, pairs: Sequence[Pair]) -> Floats:
        """Raw logits, shape (n,)."""
        return self.encoder.scores(pairs)[:, 0]


class PromptedJudge(WindowedJudge):
    """The probability that a sequence-to-sequence model answers a prompt with "1", not "0"."""

    encoder: FirstTokenModel

    def __init__(
        self, given: ComponentSpec, encoder: FirstTokenModel, prompt: tuple[str, ...]
    ) -> None:
        super().__init__(given, encoder)
        self._prompt = prompt
        self._words = ("0", "1")
        try:
            encoder.first_token((), self._words)
        except UsageError:
            # T5's vocabulary has "1" at the beginning of a word, but writes "0" as a space and a
            # digit: the published models are read at the space. UsageError where that is not so.
            self._words = (_SPACE, "1")
            encoder.first_token((), self._words)

    def rooms(self, claims: Sequence[str]) -> list[int]:
        """What prompt and claim leave of the window."""
        filled = [self._fill(claim, "") for claim in claims]
        return rooms_beside(self.encoder.window, self.encoder.prompt_lengths(filled))

    def fitting(self, pairs: list[Pair]) -> list[Pair]:
        """Those whose prompt fits: the claim stands at its end, where it would be cut off."""
        lengths = self.encoder.prompt_lengths([self._fill(*pair) for pair in pairs])
        window = self.encoder.window
        return [pair for pair, n in zip(pairs, lengths, strict=True) if n <= window]

    def score_pairs(self, pairs: Sequence[Pair]) -> Floats:
        """Probabilities, shape (n,)."""
        logits = self.encoder.first_token([self._fill(*pair) for pair in pairs], self._words)
        return softmax(logits)[:, 1].astype(np.float32)

    def _fill(self, claim: str, text: str) -> tuple[str, ...]:
        return tuple(fill(part, claim, text) for part in self._prompt)


def bi_encoder(given: ComponentSpec) -> WindowedJudge:
    """The judge `bi-encoder:MODEL(…)`."""
    check_options(given)
    encoder = BiEncoder(model_of(given), EncoderOptions.of(given))
    return BiEncoderJudge(given, encoder, BI_ENCODER_THRESHOLD)


def cross_encoder(given: ComponentSpec) -> WindowedJudge:
    """The judge `cross-encoder:MODEL(…)`. UsageError for a model with several outputs."""
    check_options(given)
    model = model_of(given)
    encoder = CrossEncoder(model, EncoderOptions.of(given))
    if len(encoder.labels) != 1:
        raise UsageError(
            f"cross-encoder:{model} has {len(encoder.labels)} outputs ({', '.join(encoder.labels)}"
            f"); expected one. For a classifier of entailment write nli:{model}"
        )
    return CrossEncoderJudge(given, encoder, CROSS_ENCODER_THRESHOLD)


def minicheck(given: ComponentSpec) -> WindowedJudge:
    """MiniCheck's Flan-T5: trained on claims beside whole documents."""
    check_options(given)
    options = EncoderOptions.of(given)
    options = replace(options, window=options.window or MINICHECK_WINDOW)
    return PromptedJudge(given, FirstTokenModel(model_of(given), options), MINICHECK)


def softmax(logits: Floats) -> NDArray[np.float64]:
    """Softmax over the columns of logits, shape (n, outputs)."""
    numbers = logits.astype(np.float64)
    with np.errstate(invalid="ignore"):  # what is not finite stays so, and is told
        powers = np.exp(numbers - numbers.max(axis=1, keepdims=True))
    shares: NDArray[np.float64] = powers / powers.sum(axis=1, keepdims=True)
    return shares


def fill(template: str, claim: str, text: str) -> str:
    values = {"TEXT": text, "CLAIM": claim}
    return _PLACE.sub(lambda place: values[place[0]], template)


def read_model_config(model: str, options: EncoderOptions) -> dict[str, Any]:
    """The model's config.json. InputError where there is no such model."""
    requested = RequestedModel(model, what="an encoder", extra="onnx", revision=options.revision)
    folder = requested.local_folder() or requested.fetch(requested.resolve(), ["config.json"])
    return requested.read_config(folder)


def check_options(given: ComponentSpec, *more: str) -> None:
    given.check((*OPTIONS, "calibration", "threshold", *more))


def model_of(given: ComponentSpec) -> str:
    return given.model or MODELS[given.name]


def rooms_beside(free: int, lengths: Sequence[int]) -> list[int]:
    """What each of these lengths leaves of the free tokens, rounded down to steps.

    A few tokens are kept back, because two texts side by side can take more than each alone.
    """
    return [free - (length // _STEP + 1) * _STEP for length in lengths]
