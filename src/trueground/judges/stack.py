"""A judge that weighs other judges, by weights fitted to people's labels.

`judge fit` writes such a file (see `studies.calibration.stacking`), and one for the lexical judge
beside all-MiniLM-L6-v2 comes with the package. The log-odds that a claim is supported are an
intercept and the sum of weight times feature; every feature is turned so that more of it speaks for
the claim, and no weight is negative.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from trueground.components import Component, ComponentSpec
from trueground.encoders import EncoderOptions
from trueground.errors import InputError, UsageError
from trueground.files import OutputPath
from trueground.judges.base import MODELS, Judge
from trueground.judges.calibrated import CalibrationFile, read_fitted, with_threshold_option
from trueground.judges.evidence import EVIDENCE_RULE, EvidenceFinder
from trueground.judges.lexical import LexicalJudge
from trueground.judges.lexical.weights import AGAINST, NAMES
from trueground.judges.people import FitFigures
from trueground.stats import combine, log, logistic
from trueground.types import JudgeRequest, PromptFile, ReasonKind, Status, Usage, Verdict

MakeJudge = Callable[..., Judge]
DEFAULT = Path(__file__).parent / "data" / "stack.json"
# How well it did on sets left out (docs/judges.md), and of which file that was measured.
LEFT_OUT = DEFAULT.with_name("stack_left_out.json")
_AGAIN = "make one with: trueground judge fit FILE --judges NAME,NAME --out STACK.json"
# What any judge may tell of a claim; a stack takes the first that the judge always tells.
SCORES = ("log_odds", "score", "verdict")
_CLIP = 0.01  # a probability nearer to 0 or 1 is taken for this
_SIZE = {"hidden_size": 384, "num_hidden_layers": 6}  # of all-MiniLM-L6-v2
_KEPT = 64  # sets of texts whose sentences stay read


class StackedJudge(msgspec.Struct, frozen=True):
    """One judge of a stack: as it is written, the basis of its signature, its features' weights.

    `basis` is "" where another model may stand there.
    """

    judge: str
    basis: str
    weights: dict[str, float]


class StackFile(msgspec.Struct, frozen=True):
    """What the judge reads of the file; a claim is supported above `threshold` (a probability).

    `fitted` says how well it does on labels.
    """

    FORMAT: ClassVar[str] = "trueground-stack-1"
    judges: list[StackedJudge]
    intercept: float
    threshold: float
    digest: str = ""
    fitted: FitFigures | None = None

    @classmethod
    def check_free(cls, path: Path, overwrite: bool = False) -> None:
        """OutputError where such a file may not be written; only a stack is ever replaced."""
        output = OutputPath(path)
        output.check_file("my-judge.json", overwrite=overwrite)
        output.check_mark(cls.FORMAT, "stack of judges of ours")


class _LeftOut(msgspec.Struct, frozen=True):
    """What LEFT_OUT holds."""

    digest: str
    figures: FitFigures


class StackMember:
    """A judge as a stack asks it. `judge` is None if the member gives no verdicts, `names` are the
    features that it may tell.

    `basis` names everything that its features depend on; `label` is what people read.
    """

    names: tuple[str, ...] = SCORES
    in_one_process = False
    uses_encoder = False

    def __init__(self, judge: Judge, label: str) -> None:
        self.label = label
        self.judge: Judge | None = judge
        self.basis = judge.basis
        self.in_one_process = judge.in_one_process
        self.uses_encoder = judge.uses_encoder

    @staticmethod
    def open(written: str, label: str, make: MakeJudge, *, cache: bool = True) -> StackMember:
        """Open the judge `NAME:MODEL(option=value)` for a stack.

        `make` is `get_judge`, whose errors these are.
        """
        from trueground.judges.encoder import OPTIONS

        spec = ComponentSpec.parse("judge", written, cache=cache)
        if spec.name == "stack":
            raise UsageError(f"{written} is a stack itself; name the judges that it is made of")
        if spec.name == "bi-encoder":
            spec.check(OPTIONS)
            model = spec.model or MODELS[spec.name]
            return EncoderMember(model, EncoderOptions.of(spec), label)
        judge = make(written, cache=cache)
        if isinstance(judge, LexicalJudge):
            return LexicalMember(judge, label)
        return StackMember(judge, label)

    @staticmethod
    def make_labels(written: Sequence[str]) -> list[str]:
        """Return a name for each judge; where two have the same, they are numbered."""
        names = [ComponentSpec.parse("judge", text).name for text in written]
        return [
            f"{name}#{names[: i + 1].count(name)}" if names.count(name) > 1 else name
            for i, name in enumerate(names)
        ]

    def choose(self, columns: list[int]) -> list[int]:
        """Return which of the features that the judge always gives are used."""
        return columns[:1] if self.names == SCORES else columns

    @property
    def problem(self) -> str | None:
        """Why results are no longer kept on disk."""
        return None if self.judge is None else self.judge.problem

    def close(self) -> None:
        """Give memory and connections back."""
        if self.judge is not None:
            self.judge.close()

    def read(self, requests: Sequence[JudgeRequest]) -> tuple[list[Verdict], NDArray[np.float64]]:
        """Its verdicts, and its features, shape (requests, names); NaN is what it does not tell."""
        assert self.judge is not None  # only EncoderMember has none
        verdicts = self.judge.answer_once(requests)
        return verdicts, np.array([_scores(v) for v in verdicts]).reshape(-1, len(SCORES))

    def describe(self, verdict: Verdict, _features: NDArray[np.float64]) -> str:
        """What it says of a claim, in a few words for people."""
        number = verdict.probability if verdict.score is None else verdict.score
        support = "supported" if verdict.supported else "not supported"
        return f"{self.label} {support if number is None else f'{number:.2f}'}"


class LexicalMember(StackMember):
    """The lexical judge: its probability, and what its own model looks at, turned to its favor."""

    def __init__(self, judge: LexicalJudge, label: str) -> None:
        super().__init__(judge, label)
        self._lexical = judge
        self.names = ("log_odds", *NAMES)
        self._signs = np.array([-1.0 if name in AGAINST else 1.0 for name in NAMES])

    def read(self, requests: Sequence[JudgeRequest]) -> tuple[list[Verdict], NDArray[np.float64]]:
        """See `StackMember.read`."""
        verdicts, scores = super().read(requests)
        return verdicts, np.hstack([scores[:, :1], self._lexical.features(requests) * self._signs])


class EncoderMember(StackMember):
    """A bi-encoder: how near a claim's words are to those of the sentences most like it.

    It gives no verdict of its own, and reads no windows of long texts, as `bi-encoder:MODEL` does.
    """

    in_one_process = True
    uses_encoder = True

    def __init__(self, model: str, options: EncoderOptions, label: str) -> None:
        from trueground.encoders import BiEncoder

        self.label, self.names, self.judge = label, BiEncoder.COMPARED, None
        self.encoder = BiEncoder(model, options)
        self.basis = f"late-1|{EVIDENCE_RULE}|{self.encoder.signature}"
        self._finders: dict[tuple[str, ...], EvidenceFinder] = {}

    @property
    def problem(self) -> str | None:
        """See `StackMember.problem`."""
        return self.encoder.problem

    def close(self) -> None:
        """See `StackMember.close`."""
        self.encoder.close()

    def read(self, requests: Sequence[JudgeRequest]) -> tuple[list[Verdict], NDArray[np.float64]]:
        """See `StackMember.read`; the verdicts say nothing."""
        pairs = [(request.claim, self._find(request)) for request in requests]
        numbers = self.encoder.compare(pairs).astype(np.float64)
        return [Verdict(False)] * len(requests), numbers.reshape(-1, len(self.names))

    def _find(self, request: JudgeRequest) -> str:
        finder = self._finders.get(request.texts)
        if finder is None:
            if len(self._finders) >= _KEPT:
                self._finders.clear()
            finder = self._finders[request.texts] = EvidenceFinder(request.texts)
        return finder.find(request.claim)

    def describe(self, _verdict: Verdict, features: NDArray[np.float64]) -> str:
        """See `StackMember.describe`."""
        values = dict(zip(self.names, features.tolist(), strict=True))
        near, least = values["cosine"], values["late20"]
        return f"{self.label} {near:.2f}, {least:.2f} of the least similar words"


def make_stack(spec: ComponentSpec, make: MakeJudge) -> Judge:
    """The judge `stack:FILE.json`, or `stack:MODEL` with the numbers that come with the package.

    `make` is `get_judge`. FILE.json may be a file of `judge calibrate` too: then it is the judge
    that it is of. InputError for a file that cannot be used; UsageError.
    """
    model = spec.model or MODELS["stack"]
    options = {k: v for k, v in spec.options.items() if k in ("threshold", "calibration")}
    if not model.endswith(".json"):
        judge = _default_stack(spec, model)
        return with_threshold_option(judge, spec) if options else judge
    spec.check(("threshold", "calibration"))
    location = f"judge file {model}"
    fields = read_fitted(model, location, _AGAIN)
    if fields.get("format") in CalibrationFile.FORMATS:
        return _calibrated(spec, model, make, str(fields.get("written") or fields.get("judge")))
    file = _check_stack(fields, location)
    labels = StackMember.make_labels([stacked.judge for stacked in file.judges])
    members = []
    for stacked, label in zip(file.judges, labels, strict=True):
        members.append(member := StackMember.open(stacked.judge, label, make, cache=spec.cache))
        _check_basis(stacked, member, location)
    judge = StackJudge(file, members)
    return with_threshold_option(judge, spec) if options else judge


def _calibrated(spec: ComponentSpec, path: str, make: MakeJudge, written: str) -> Judge:
    """The judge that a calibration is of, with it."""
    if "calibration" in spec.options:
        raise UsageError(f"{path} is a calibration itself; leave calibration=… out")
    inner = ComponentSpec.parse("judge", written)
    options = {**inner.options, "calibration": path, **spec.options}
    return make(replace(inner, options=options).written, cache=spec.cache)


def _default_stack(spec: ComponentSpec, model: str) -> StackJudge:
    from trueground.judges.encoder import OPTIONS

    spec.check((*OPTIONS, "threshold", "calibration"))
    file = _check_stack(read_fitted(DEFAULT, "the stack of the package", ""), "the package")
    lexical = LexicalMember(LexicalJudge(), "lexical")
    encoder = EncoderMember(model, EncoderOptions.of(spec), "bi-encoder")
    _check_basis(file.judges[0], lexical, "the stack of the package")
    sizes = [encoder.encoder.checkpoint.config.get(key) for key in _SIZE]
    if sizes != list(_SIZE.values()):
        raise InputError(
            f"stack:{model}: its numbers are for {MODELS['stack']}, with {_SIZE}, and this model "
            f"has {sizes}. Fit some for it: trueground judge fit FILE --judges "
            f"lexical,bi-encoder:{model} --out STACK.json"
        )
    left_out = msgspec.json.decode(LEFT_OUT.read_bytes(), type=_LeftOut)
    if left_out.digest == file.digest:
        file = msgspec.structs.replace(file, fitted=left_out.figures)
    return StackJudge(file, [lexical, encoder])


def _check_stack(fields: dict[str, Any], location: str) -> StackFile:
    if fields.get("format") != StackFile.FORMAT:
        raise InputError(
            f"{location}: format {fields.get('format')!r}; expected {StackFile.FORMAT!r}; {_AGAIN}"
        )
    try:
        file = msgspec.convert(fields | {"fitted": FitFigures.of(fields)}, StackFile)
    except msgspec.ValidationError as error:
        raise InputError(f"{location}: {error}; {_AGAIN}") from error
    weights = [weight for stacked in file.judges for weight in stacked.weights.values()]
    finite = all(map(math.isfinite, (file.intercept, file.threshold, *weights)))
    if not finite or not weights or min(weights) < 0 or max(weights) == 0:
        raise InputError(
            f"{location}: intercept, threshold and weights must be finite numbers, no weight below "
            f"0 and one above; {_AGAIN}"
        )
    return file


def _check_basis(stacked: StackedJudge, member: StackMember, location: str) -> None:
    """Raise InputError if the weights were fitted for another judge."""
    if stacked.basis and stacked.basis != member.basis:
        raise InputError(
            f"{location}: it was fitted with {stacked.basis!r}, and this judge is "
            f"{member.basis!r}; the weights of one say nothing of the other; {_AGAIN}"
        )
    if unknown := stacked.weights.keys() - set(member.names):
        raise InputError(
            f"{location}: {stacked.judge} has no feature {', '.join(sorted(unknown))}; expected "
            f"some of {', '.join(member.names)}; {_AGAIN}"
        )


class StackJudge(Judge):
    """Weighs what its members say of a claim; see the module."""

    name = "stack"
    signature: str
    threshold: float
    basis = ""  # set when a judge is made
    fitted: FitFigures | None

    def __init__(self, file: StackFile, members: Sequence[StackMember]) -> None:
        self.threshold = file.threshold
        self.fitted = file.fitted
        self.basis = "|".join(("stack-1", file.digest, *(member.basis for member in members)))
        self.signature = self.basis
        self.in_one_process = any(member.in_one_process for member in members)
        self.uses_encoder = any(member.uses_encoder for member in members)
        self._members = list(members)
        self._judges = [member.judge for member in members if member.judge is not None]
        self._weights = [
            np.array([stacked.weights.get(name, 0.0) for name in member.names])
            for stacked, member in zip(file.judges, members, strict=True)
        ]
        self._intercept = file.intercept

    @property
    def prompts(self) -> tuple[PromptFile, ...]:
        """The prompts of the members that ask a language model."""
        return tuple(prompt for judge in self._judges for prompt in judge.prompts)

    @property
    def spent(self) -> Usage | None:
        """What asking has cost all members."""
        return Component.sum_spent(self._judges)

    @property
    def problem(self) -> str | None:
        """Why results of a member were no longer kept on disk; None where they were."""
        return next((member.problem for member in self._members if member.problem), None)

    @property
    def trouble(self) -> str | None:
        """Why the first call that failed gave no reply."""
        return next((judge.trouble for judge in self._judges if judge.trouble), None)

    def close(self) -> None:
        """Give the members' memory and connections back."""
        for member in self._members:
            member.close()

    def judge(self, requests: Sequence[JudgeRequest]) -> list[Verdict]:
        """Return one verdict for each request, in their order."""
        results = [member.read(requests) for member in self._members]
        odds = np.full(len(requests), self._intercept)
        for (_, features), weights in zip(results, self._weights, strict=True):
            used = weights > 0
            odds = odds + combine(features[:, used], weights[used])
        return [
            self._verdict(
                request,
                [verdicts[n] for verdicts, _ in results],
                [features[n] for _, features in results],
                logistic(log_odds),
            )
            for n, (request, log_odds) in enumerate(zip(requests, odds.tolist(), strict=True))
        ]

    def _verdict(
        self,
        request: JudgeRequest,
        verdicts: Sequence[Verdict],
        features: Sequence[NDArray[np.float64]],
        probability: float,
    ) -> Verdict:
        pairs = list(zip(self._members, verdicts, strict=True))
        for member, verdict in pairs:
            if verdict.status is not Status.SCORED:
                reasons_failed = tuple(f"{member.label}: {reason}" for reason in verdict.reasons)
                return Verdict(status=verdict.status, reasons=reasons_failed, reply=verdict.reply)
        with_verdicts = [v for member, v in pairs if not isinstance(member, EncoderMember)]
        first = with_verdicts[0] if with_verdicts else Verdict(False)
        if not request.claim.strip():
            return Verdict(False, 0.0, reasons=("the claim has no words",), kind=first.kind)
        if not any(text.strip() for text in request.texts):
            return Verdict(False, 0.0, reasons=(f"no {request.source}",), kind=first.kind)
        if math.isnan(probability):
            failure = "a judge of the stack gives no score here"
            return Verdict(status=Status.ERROR, reasons=(failure,))
        supported = probability > self.threshold
        side = "above" if supported else "not above"
        line = f"probability {probability:.2f}, {side} {self.threshold:.4g}"
        described = (m.describe(v, x) for (m, v), x in zip(pairs, features, strict=True))
        weighed = "weighed: " + "; ".join(described)
        kind = None if supported else ReasonKind.BELOW_THRESHOLD
        reasons: tuple[str, ...] = (line, weighed)
        if with_verdicts and first.supported == supported:
            kind, reasons = first.kind, (*first.reasons[:1], line, weighed)
        elif with_verdicts:
            reasons = (", though ".join((line, *first.reasons[:1])), weighed)
        evidence = next((v for v in with_verdicts if v.text is not None), Verdict(False))
        return Verdict(
            supported,
            probability,
            text=evidence.text,
            start=evidence.start,
            end=evidence.end,
            reasons=reasons,
            kind=kind,
        )


def log_odds(probability: float) -> float:
    """The logarithm of p / (1 − p), both at least 0.01."""
    return log(max(_CLIP, probability) / max(_CLIP, 1 - probability))


def _scores(verdict: Verdict) -> tuple[float, float, float]:
    """SCORES of one verdict; NaN for what it does not tell."""
    p, nan = verdict.probability, math.nan
    odds = nan if p is None else log_odds(p)
    supported = nan if verdict.supported is None else float(verdict.supported)
    return odds, nan if verdict.score is None else verdict.score, supported
