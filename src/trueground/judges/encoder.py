"""Judges with small models, which score each pair of a claim and a window of its texts.

Judges differ in the input of their model and in the meaning of its score. Cutting windows, scoring
each pair once, choosing the best window, thresholds and reasons are the same for all.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueground.components import ComponentSpec
from trueground.encoders import BiEncoder, CrossEncoder, Encoder, EncoderOptions, FirstTokenModel
from trueground.errors import UsageError
from trueground.judges.base import MODELS, Judge, warn_of_license
from trueground.judges.calibrated import read_threshold, sign_judge
from trueground.judges.people import FitFigures
from trueground.judges.windows import RULE, Span, TextAndLimit, cut_heads, cut_windows
from trueground.net import RequestedModel
from trueground.types import JudgeRequest, Status, Verdict

Floats = NDArray[np.float32]
Pair = tuple[str, str]
REFERENCE_CODE = "reference-code"
MIN_EVIDENCE_TOKENS = 16  # shorter pieces of evidence say too little
# Options of all judges and comparers with a small model.
OPTIONS = tuple(
    field.name
    for field in fields(EncoderOptions)
    if field.name not in ("cache", "pooling", "similarity")
)
# Truly-Ground, appendix A: the thresholds with the highest agreement with people.
BI_ENCODER_THRESHOLD = 0.4
CROSS_ENCODER_THRESHOLD = 6.0  # of the raw logit for the pair (fact, text)
THRESHOLD = 0.5  # of a probability
# MiniCheck was published with pieces of 500 words. Claim and prompt need tokens, too.
MINICHECK_WINDOW = 768
# The parts of a prompt around TEXT and CLAIM, as the models were trained: Honovich et al. 2022
# (TRUE), Tang et al. 2024 (MiniCheck, with the token that ends a text between the two parts).
TRUE = ("premise: TEXT hypothesis: CLAIM",)
MINICHECK = ("predict: TEXT", "CLAIM")
_TEMPLATE_FIELD = re.compile("TEXT|CLAIM")
_SPACE = "\u2581"
# Limits of windows are rounded to it, so that claims of nearly equal length share windows.
TOKEN_STEP = 8
MAX_ROWS = 4096  # of a block of cosines


class EvidenceWindow(NamedTuple):
    """A window of a text, or all texts of a request joined.

    Attributes:
        content: The text of the window.
        text: Index of its text in the request, None for several texts.
        span: Its characters in the text, None for the whole text or several texts.
    """

    content: str
    text: int | None
    span: Span | None


class EncoderComponent:
    """Mixin of judges and comparers that hold a small model."""

    uses_encoder = True
    encoder: Encoder

    @property
    def problem(self) -> str | None:
        """Why results are no longer saved on disk. None if they are saved."""
        return self.encoder.problem

    def close(self) -> None:
        """Release the memory of the model. The next request loads it again."""
        self.encoder.close()


class WindowedJudge(EncoderComponent, Judge):
    """Base class of judges that score the windows of texts with a small model.

    A claim is supported if its best window of any text scores above the threshold.

    Attributes:
        score_name: Name of the score in reasons.
        probable: Whether the score is the probability of support.
        joins_texts: Whether the published code of the model joins all texts.
        basis: The signature without threshold and calibration.
    """

    in_one_process = True
    score_name = "probability of support"
    probable = True
    joins_texts = False
    name: str
    signature: str
    threshold: float
    basis = ""  # set when a judge is made
    fitted: FitFigures | None

    def __init__(
        self,
        spec: ComponentSpec,
        encoder: Encoder,
        threshold: float = THRESHOLD,
        options: str = "",
    ) -> None:
        """Create the judge.

        Args:
            spec: The judge with its options.
            encoder: The model.
            threshold: Threshold if the spec has none.
            options: Options that change the score, for the signature.
        """
        warn_of_license(spec.model or MODELS.get(spec.name, spec.name))
        self.name = spec.name
        self.basis = "|".join(filter(None, (f"{self.name}-1", RULE, encoder.signature, options)))
        self.threshold, self._calibration = read_threshold(
            spec, self.basis, threshold, self.probable
        )
        self.signature = sign_judge(self.basis, self.threshold, self._calibration)
        self.fitted = None
        if self._calibration is not None:
            self.fitted = self._calibration.fitted_at(self.threshold)
        self.encoder = encoder

    def free_tokens(self, claims: Sequence[str]) -> list[int]:
        """Return how many tokens each claim leaves for a window, 0 or less if it doesn't fit."""
        free = self.encoder.window - self.encoder.specials
        return tokens_left(free, self.encoder.lengths(claims))

    def select_fitting(self, pairs: list[Pair]) -> list[Pair]:
        """Return the (claim, window) that fit into the model's input without being cut off.

        By default these are all pairs, because claim and window are counted separately.
        """
        return pairs

    def score_pairs(self, pairs: Sequence[Pair]) -> Floats:
        """Return one score for each (claim, window), shape (n,). All pairs differ and fit."""
        raise NotImplementedError

    def judge(self, requests: Sequence[JudgeRequest]) -> list[Verdict]:
        """Return one verdict for each request. Equal pairs of claim and window are read once."""
        claims = list(dict.fromkeys(r.claim for r in requests if r.claim.strip()))
        limits = dict(zip(claims, self.free_tokens(claims), strict=True)) if claims else {}
        windows = self._find_windows(requests, limits)
        scores = self._score_windows(requests, windows)
        verdicts: list[Verdict] = []
        for request, request_windows in zip(requests, windows, strict=True):
            pairs = [(request.claim, window.content) for window in request_windows]
            if pairs and all(pair in scores for pair in pairs):
                window_scores = [scores[pair] for pair in pairs]
                verdicts.append(self._verdict(request.claim, request_windows, window_scores))
            else:
                verdicts.append(self._verdict_unread(request, limits))
        return verdicts

    def _score_windows(
        self, requests: Sequence[JudgeRequest], windows: Sequence[Sequence[EvidenceWindow]]
    ) -> dict[Pair, float]:
        """Return the score of each different (claim, window) that fits into the model's input."""
        unique: dict[Pair, None] = {}
        for request, request_windows in zip(requests, windows, strict=True):
            for window in request_windows:
                unique[request.claim, window.content] = None
        fitting = self.select_fitting(list(unique)) if unique else []
        if not fitting:
            return {}
        return dict(zip(fitting, self.score_pairs(fitting).tolist(), strict=True))

    def _find_windows(
        self, requests: Sequence[JudgeRequest], limits: Mapping[str, int]
    ) -> list[list[EvidenceWindow]]:
        """Return the windows of each request, none if its claim leaves too few tokens."""
        to_cut: list[TextAndLimit] = []
        to_cut_off: list[TextAndLimit] = []
        for request in requests:
            limit = limits.get(request.claim, 0)
            if limit >= MIN_EVIDENCE_TOKENS:
                published = request.variant == REFERENCE_CODE
                queue = to_cut_off if published else to_cut
                queue.extend((text, limit) for text in request.texts if text.strip())
        spans = cut_windows(to_cut, self.encoder.lengths) if to_cut else {}
        head_spans: dict[TextAndLimit, list[Span]] = {}
        if to_cut_off and not self.joins_texts:
            heads = cut_heads(to_cut_off, self.encoder.lengths)
            head_spans = {key: [span] for key, span in heads.items()}
        windows: list[list[EvidenceWindow]] = []
        for request in requests:
            limit = limits.get(request.claim, 0)
            if limit < MIN_EVIDENCE_TOKENS:
                windows.append([])
            elif request.variant != REFERENCE_CODE:
                windows.append(_windows_of(request, limit, spans))
            elif self.joins_texts:
                windows.append(_join_texts(request))
            else:
                windows.append(_windows_of(request, limit, head_spans))
        return windows

    def explain_unsupported(self, claim: str, window: str) -> tuple[str, ...]:
        """Return more reasons why a claim isn't supported by its best window."""
        return ()

    def _verdict(
        self, claim: str, windows: Sequence[EvidenceWindow], scores: Sequence[float]
    ) -> Verdict:
        """Return the verdict of the best window, the first if several are equal."""
        if not all(map(math.isfinite, scores)):
            broken = ("the model gave no finite score: its weights or its arithmetic are broken",)
            return Verdict(status=Status.ERROR, reasons=broken)
        score = max(scores)
        best = windows[scores.index(score)]
        supported = score > self.threshold
        start, end = best.span or (None, None)
        side = "above" if supported else "not above"
        evidence = "this text" if best.text is not None else "the texts together"
        reasons = [f"{self.score_name} {score:.2f} with {evidence}, {side} {self.threshold:g}"]
        if not supported:
            reasons += self.explain_unsupported(claim, best.content)
        probability = score if self.probable else None
        if self._calibration is not None:
            probability = self._calibration.probability(score)
        return Verdict(
            supported,
            probability,
            text=best.text,
            start=start,
            end=end,
            reasons=tuple(reasons),
            score=score,
        )

    def _verdict_unread(self, request: JudgeRequest, limits: dict[str, int]) -> Verdict:
        """Return the verdict on a request that is blank, or too long for the model."""
        probability = 0.0 if self.probable or self._calibration is not None else None
        if not request.claim.strip():
            return Verdict(False, probability, reasons=("the claim has no words",))
        if not any(text.strip() for text in request.texts):
            return Verdict(False, probability, reasons=("no context",))
        window = self.encoder.window
        if limits[request.claim] >= MIN_EVIDENCE_TOKENS:
            reason = (
                f"a passage and the claim together exceed the model's window of {window} tokens"
            )
        elif limits[request.claim] > 0:
            reason = f"the claim takes so much of the model's window of {window} tokens that fewer "
            reason += f"than {MIN_EVIDENCE_TOKENS} are left for evidence"
        else:
            reason = f"the claim is longer than the model's window of {window} tokens"
        return Verdict(status=Status.TOO_LONG, reasons=(reason,))


def _windows_of(
    request: JudgeRequest, limit: int, spans: Mapping[TextAndLimit, Sequence[Span]]
) -> list[EvidenceWindow]:
    windows: list[EvidenceWindow] = []
    for number, text in enumerate(request.texts):
        if text.strip():
            for start, end in spans[text, limit]:
                windows.append(EvidenceWindow(text[start:end], number, (start, end)))
    return windows


def _join_texts(request: JudgeRequest) -> list[EvidenceWindow]:
    """Return all texts as one window, which the encoder cuts off at its limit."""
    numbers = [number for number, text in enumerate(request.texts) if text.strip()]
    if not numbers:
        return []
    content = "\n".join(request.texts[number] for number in numbers)
    return [EvidenceWindow(content, numbers[0] if len(numbers) == 1 else None, None)]


class BiEncoderJudge(WindowedJudge):
    """A judge whose score is the cosine of the vectors of claim and window."""

    score_name = "similarity"
    probable = False
    joins_texts = True
    encoder: BiEncoder

    def free_tokens(self, claims: Sequence[str]) -> list[int]:
        """Return the tokens of a window, 0 if a claim doesn't fit.

        Claim and window are encoded separately, so a claim takes no tokens from its windows.
        """
        limit = self.encoder.window - self.encoder.specials
        return [limit if length <= limit else 0 for length in self.encoder.lengths(claims)]

    def score_pairs(self, pairs: Sequence[Pair]) -> Floats:
        """Return the cosines, shape (n,)."""
        rows: dict[str, int] = {}
        for text in (text for pair in pairs for text in pair):
            rows.setdefault(text, len(rows))
        vectors = self.encoder.encode(list(rows))
        row_pairs = np.array([(rows[claim], rows[window]) for claim, window in pairs])
        scores = np.empty(len(pairs), np.float32)
        for low in range(0, len(pairs), MAX_ROWS):
            left, right = vectors[row_pairs[low : low + MAX_ROWS].T].astype(np.float64)
            # This isn't a matrix product, whose last digit depends on the number of rows.
            scores[low : low + MAX_ROWS] = (left * right).sum(axis=1)
        return scores


class CrossEncoderJudge(WindowedJudge):
    """A judge whose score is the raw logit of a ranking model for the pair (claim, window)."""

    score_name = "relevance"
    probable = False
    joins_texts = True
    encoder: CrossEncoder

    def score_pairs(self, pairs: Sequence[Pair]) -> Floats:
        """Return the raw logits, shape (n,)."""
        return self.encoder.scores(pairs)[:, 0]


class PromptedJudge(WindowedJudge):
    """A judge whose score is the probability that a seq2seq model answers "1", not "0"."""

    encoder: FirstTokenModel

    def __init__(
        self, spec: ComponentSpec, encoder: FirstTokenModel, prompt: tuple[str, ...]
    ) -> None:
        super().__init__(spec, encoder)
        self._prompt = prompt
        self._answer_tokens = ("0", "1")
        try:
            encoder.first_token((), self._answer_tokens)
        except UsageError:
            # T5's vocabulary has a token for "1" at the beginning of a word, but it writes "0" as
            # a space and a digit. The published models are read at the space. For a model without
            # these tokens, this raises UsageError, too.
            self._answer_tokens = (_SPACE, "1")
            encoder.first_token((), self._answer_tokens)

    def free_tokens(self, claims: Sequence[str]) -> list[int]:
        """Return how many tokens prompt and claim leave for a window."""
        filled = [self._fill(claim, "") for claim in claims]
        return tokens_left(self.encoder.window, self.encoder.prompt_lengths(filled))

    def select_fitting(self, pairs: list[Pair]) -> list[Pair]:
        """Return the pairs whose prompt fits, because the claim at its end must not be cut off."""
        lengths = self.encoder.prompt_lengths([self._fill(*pair) for pair in pairs])
        window = self.encoder.window
        return [pair for pair, n in zip(pairs, lengths, strict=True) if n <= window]

    def score_pairs(self, pairs: Sequence[Pair]) -> Floats:
        """Return the probabilities, shape (n,)."""
        prompts = [self._fill(*pair) for pair in pairs]
        logits = self.encoder.first_token(prompts, self._answer_tokens)
        return softmax(logits)[:, 1].astype(np.float32)

    def _fill(self, claim: str, text: str) -> tuple[str, ...]:
        return tuple(fill_template(part, claim, text) for part in self._prompt)


def bi_encoder(spec: ComponentSpec) -> WindowedJudge:
    """Create the judge `bi-encoder:MODEL(…)`."""
    check_options(spec)
    encoder = BiEncoder(model_name(spec), EncoderOptions.of(spec))
    return BiEncoderJudge(spec, encoder, BI_ENCODER_THRESHOLD)


def cross_encoder(spec: ComponentSpec) -> WindowedJudge:
    """Create the judge `cross-encoder:MODEL(…)`. UsageError for a model with several outputs."""
    check_options(spec)
    model = model_name(spec)
    encoder = CrossEncoder(model, EncoderOptions.of(spec))
    if len(encoder.labels) != 1:
        raise UsageError(
            f"cross-encoder:{model} has {len(encoder.labels)} outputs ({', '.join(encoder.labels)}"
            f"); expected one. For an entailment classifier, write nli:{model}"
        )
    return CrossEncoderJudge(spec, encoder, CROSS_ENCODER_THRESHOLD)


def minicheck(spec: ComponentSpec) -> WindowedJudge:
    """Create the judge `minicheck:MODEL(…)`: MiniCheck's Flan-T5."""
    check_options(spec)
    options = EncoderOptions.of(spec)
    options = replace(options, window=options.window or MINICHECK_WINDOW)
    return PromptedJudge(spec, FirstTokenModel(model_name(spec), options), MINICHECK)


def softmax(logits: Floats) -> NDArray[np.float64]:
    """Return the softmax over the columns of logits, shape (n, outputs)."""
    numbers = logits.astype(np.float64)
    with np.errstate(invalid="ignore"):  # Callers report numbers that aren't finite.
        powers = np.exp(numbers - numbers.max(axis=1, keepdims=True))
    shares: NDArray[np.float64] = powers / powers.sum(axis=1, keepdims=True)
    return shares


def fill_template(template: str, claim: str, text: str) -> str:
    """Return a template with its fields TEXT and CLAIM replaced."""
    values = {"TEXT": text, "CLAIM": claim}
    return _TEMPLATE_FIELD.sub(lambda match: values[match[0]], template)


def read_model_config(model: str, options: EncoderOptions) -> dict[str, Any]:
    """Return the config.json of a model. Raises InputError if there is no such model."""
    requested = RequestedModel(model, what="an encoder", extra="onnx", revision=options.revision)
    folder = requested.local_folder() or requested.fetch(requested.resolve(), ["config.json"])
    return requested.read_config(folder)


def check_options(spec: ComponentSpec, *more: str) -> None:
    """Raise UsageError for an option that isn't common to these judges or one of `more`."""
    spec.check((*OPTIONS, "calibration", "threshold", *more))


def model_name(spec: ComponentSpec) -> str:
    """Return the model of a spec, or the default of the judge."""
    return spec.model or MODELS[spec.name]


def tokens_left(free: int, lengths: Sequence[int]) -> list[int]:
    """Return what each length leaves of the free tokens, rounded down to TOKEN_STEP.

    A few tokens are kept in reserve, because a pair of texts can take more tokens than both alone.
    """
    return [free - (length // TOKEN_STEP + 1) * TOKEN_STEP for length in lengths]
