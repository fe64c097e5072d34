"""The format of a run directory: what each of its files contains.

`manifest.json` and `summary.json` carry `format_version`. The files that have one line per answer
don't: `items.jsonl` (`Item`), `records.jsonl.zst` (`Answered` of `trueground.types`) and
`responses.jsonl` (`Response` of `runs.responses`). `RunFiles` reads and writes them.
`python -m bench.schemas` writes the JSON Schemas in `runs/schemas/` after a change here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, ItemsView, Iterator, KeysView, Mapping, Sequence, ValuesView
from pathlib import Path
from statistics import stdev
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple, Protocol, Self, TypeVar

import msgspec

from trueground.components import ResultKey
from trueground.errors import UsageError
from trueground.judges import FitFigures
from trueground.metrics import AnswerVerdict
from trueground.records import UNREADABLE
from trueground.runs.decoding import FORMAT_VERSION, decode_file
from trueground.runs.identity import FINISHED, describe_unfinished, resume_advice
from trueground.stats import mean
from trueground.types import PromptFile, Usage

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from trueground.models import Price
    from trueground.records import FileInfo


Ci = tuple[float, float] | None
T = TypeVar("T")


def _null() -> Any:
    return None


def _empty_object() -> dict[str, Any]:
    return {}


def _empty_list() -> list[Any]:
    return []


# Defaults of fields that are always written, also if they are empty. A field with a plain default
# is left out of the file if it has that value.
_NULL: Any = msgspec.field(default_factory=_null)
_OBJECT: Any = msgspec.field(default_factory=_empty_object)
_LIST: Any = msgspec.field(default_factory=_empty_list)
_VERSION: Any = msgspec.field(default_factory=lambda: FORMAT_VERSION)
_SCORE: Any = msgspec.field(default_factory=lambda: "score")
_FINISHED: Any = msgspec.field(default_factory=lambda: FINISHED)
Version = Annotated[
    int, msgspec.Meta(description="Version of the format of the run directory. Absent before 2.")
]


# items.jsonl


class ItemScores(msgspec.Struct):
    """The first fields of a line of items.jsonl, for readers that need no evidence."""

    id: str
    scores: dict[str, float | None]
    verdict: str | None = None

    def __post_init__(self) -> None:
        if self.verdict in AnswerVerdict.FORMER_NAMES:
            self.verdict = AnswerVerdict.FORMER_NAMES[self.verdict]


class Item(ItemScores):
    """A line of items.jsonl: one answer with its scores.

    Attributes:
        id: The id of the record.
        scores: The value of each metric; None if it has none.
        verdict: One of the verdicts of answers; None if no metric checked claims.
        status: For each metric a status, which says why a value is there or is missing.
        evidence: For each metric what its value comes from, such as checked claims.
    """

    status: dict[str, str] = {}
    evidence: dict[str, Any] = {}

    def unsupported_claims(self, verdict: str | None) -> UnsupportedClaims:
        """Return the claims that are not supported, as the first judge checked them.

        Args:
            verdict: The verdict of the answer; one that abstains has no such claims.
        """
        checks: list[list[dict[str, Any]]] = []
        for key, entry in () if verdict == "abstained" else self.evidence.items():
            if not ResultKey.parse(key).judge and isinstance(entry, dict) and "claims" in entry:
                # Those checked against all contexts come first.
                checks.insert(0 if "scope=" not in key else len(checks), entry["claims"])
        claims = [claim for claim in (checks or [[]])[0] if claim.get("supported") is False]
        reasons = ["; ".join(claim.get("reasons") or ()) for claim in claims]
        return UnsupportedClaims([str(claim.get("text")) for claim in claims], reasons)

    def claims_of(self, metric: str | None) -> list[CheckedClaim]:
        """Return the claims that a metric checked; if it has none, those of any metric."""
        return _find_claims(self.evidence, metric, lambda raw: msgspec.convert(raw, ClaimEvidence))


class UnsupportedClaims(NamedTuple):
    """The texts of claims that are not supported, and why, each in turn."""

    texts: list[str]
    reasons: list[str]


class EvidenceCounts(msgspec.Struct):
    """The hits and units of a metric that has a micro value."""

    counts: Any = None

    @property
    def hits_and_units(self) -> tuple[float, float] | None:
        """Both numbers, or None if the evidence has no such counts."""
        if not isinstance(self.counts, list) or len(self.counts) != 2:
            return None
        hits, units = self.counts
        if isinstance(hits, int | float) and isinstance(units, int | float):
            return float(hits), float(units)
        return None


class ItemNumbers(ItemScores):
    """The numbers of a line of items.jsonl. Evidence is decoded only as far as counts need it."""

    status: dict[str, str] = {}
    evidence: dict[str, EvidenceCounts] = {}

    def counts(self, metric: str) -> tuple[float, float] | None:
        """Return the hits and units of a metric; None if the item has none."""
        evidence = self.evidence.get(metric)
        return None if evidence is None else evidence.hits_and_units


class ItemParts(ItemScores):
    """A line of items.jsonl whose statuses and evidence stay undecoded.

    The index of `trueground view` reads these: most lines have the same statuses, and of the
    evidence one entry is needed.
    """

    status: msgspec.Raw = msgspec.Raw(b"{}")
    evidence: dict[str, msgspec.Raw] = {}

    def claims_of(self, metric: str | None) -> list[CheckedClaim]:
        """Return the claims that a metric checked; if it has none, those of any metric."""
        return _find_claims(self.evidence, metric, _decode_claims)


class CheckedClaim(msgspec.Struct):
    """A claim in the evidence of a metric, as far as lists of answers need it."""

    text: Any = None
    start: int | None = None
    end: int | None = None
    supported: bool | None = None
    kind: str | None = None
    reasons: Any = None


class ClaimEvidence(msgspec.Struct):
    """The evidence of a metric that checks claims."""

    claims: list[CheckedClaim]


_decode_claims = msgspec.json.Decoder(ClaimEvidence).decode


def _find_claims(
    evidence: Mapping[str, T], metric: str | None, read: Callable[[T], ClaimEvidence]
) -> list[CheckedClaim]:
    """Return the claims in the evidence of the metric, or else in that of any metric.

    `read` raises what is in UNREADABLE for evidence of another kind.
    """
    first = evidence.get(metric) if metric else None
    for entry in evidence.values() if first is None else (first, *evidence.values()):
        try:
            return read(entry).claims
        except UNREADABLE:
            continue
    return []


# records.jsonl.zst


class RecordTexts(msgspec.Struct):
    """The question and the response of a record, for lists of answers."""

    question: str | None = None
    response: str | None = None


# summary.json


class MetricSummary(msgspec.Struct, frozen=True):
    """One metric over a run.

    Attributes:
        mean: The mean over the scored items; None if there is none.
        ci: Its confidence interval; None if fewer than two items are scored.
        ci_level: The level of the interval, such as 0.95.
        n: Number of items.
        scored: Number of items with a value.
        unscored: Number of items without a value, by status.
    """

    mean: float | None
    ci: Ci = None
    ci_level: float = 0.95
    n: int = 0
    scored: int = 0
    unscored: Mapping[str, int] = {}

    @property
    def coverage(self) -> float:
        """Share scored among the items to which the metric applies; 1 if it applies to none."""
        applies = self.n - self.unscored.get("not_applicable", 0)
        return self.scored / applies if applies else 1.0


class VerdictShare(msgspec.Struct, frozen=True):
    """Number of answers with a verdict, their share of all answers, and its interval."""

    n: int
    share: float | None = None
    ci: Ci = None


Breakdown = dict[str, dict[str, dict[str, MetricSummary]]]


class Verdicts(
    msgspec.Struct,
    kw_only=True,
    omit_defaults=True,
):
    """How many answers have each verdict. `verdicts[NAME]` is the share of one.

    Attributes:
        metric: The metric that decides.
        signature: What fixes its value.
        judge: The label of the judge that checked the claims.
        n: Number of answers.
        questions: Number of answers whose record has a question.
        ci_level: The level of the intervals.
        by: The shares for each breakdown field and each of its values.
        why_unscored: Number of answers without a verdict, by status.
        fitted: How well the judge does on the labels to which it was fitted.
        labeled: By verdict the number of labeled answers, and how many people call unsupported.
    """

    metric: str | None = _NULL
    signature: str | None = _NULL
    judge: str | None = _NULL
    n: int
    questions: int | None = _NULL
    ci_level: float | None = _NULL
    grounded: VerdictShare
    partly_grounded: VerdictShare | None = None
    not_grounded: VerdictShare | None = None
    abstained: VerdictShare | None = None
    unscored: VerdictShare
    by: dict[str, dict[str, dict[str, VerdictShare]]] = _OBJECT
    why_unscored: dict[str, int] | None = None
    fitted: FitFigures | None = None
    labeled: dict[str, list[int]] | None = None

    def __getitem__(self, name: str) -> VerdictShare:
        shares = (
            self.grounded,
            self.partly_grounded,
            self.not_grounded,
            self.abstained,
            self.unscored,
        )
        share = dict(zip(AnswerVerdict.NAMES, shares, strict=True)).get(name)
        if share is None:
            raise KeyError(str(UsageError.unknown_name("verdict", name, AnswerVerdict.NAMES)))
        return share

    def keys(self) -> tuple[str, ...]:
        """Return the names of the verdicts, the best first."""
        return AnswerVerdict.NAMES

    def values(self) -> list[VerdictShare]:
        """Return the shares in the order of the names."""
        return [self[name] for name in AnswerVerdict.NAMES]

    def items(self) -> list[tuple[str, VerdictShare]]:
        """Return the shares with their names."""
        return [(name, self[name]) for name in AnswerVerdict.NAMES]

    def __iter__(self) -> Iterator[str]:
        return iter(AnswerVerdict.NAMES)

    def __len__(self) -> int:
        return len(AnswerVerdict.NAMES)


def _rename_verdicts(summary: dict[str, Any]) -> None:
    """Give the verdicts in a summary of format version 2 or before their names of today."""
    rules = summary.get("abstention_rules")
    if isinstance(rules, dict) and "labelled" in rules:
        rules["labeled"] = rules.pop("labelled")
    verdicts = summary.get("verdicts")
    if not isinstance(verdicts, dict):
        return
    counts = verdicts.pop("labelled", None)
    if counts is not None:
        verdicts["labeled"] = counts
    shares = [verdicts, verdicts.get("labeled")]
    for values in (verdicts.get("by") or {}).values():
        shares += values.values()
    for share in shares:
        for former, name in AnswerVerdict.FORMER_NAMES.items():
            if share and former in share:
                share[name] = share.pop(former)


class Average(msgspec.Struct, frozen=True):
    """The unweighted average of a metric's means over the values of a breakdown field.

    Attributes:
        mean: The average; None if nothing was scored.
        sd: The standard deviation of the means, of a sample; None for fewer than two.
        ci: The confidence interval of the average.
        values: Number of values over which it is taken.
        of: Number of values that the field has.
    """

    mean: float | None = None
    sd: float | None = None
    ci: Ci = None
    values: int | None = None
    of: int | None = None

    @classmethod
    def over(cls, entries: Sequence[MetricSummary], ci: Ci) -> Average:
        """Return the average over those of the entries in which anything was scored.

        Args:
            entries: The metric over each value of the field.
            ci: The confidence interval of the average.
        """
        means = [entry.mean for entry in entries if entry.mean is not None]
        if not means:
            return cls(values=0, of=len(entries))
        sd = stdev(means) if len(means) > 1 else None
        return cls(mean=mean(means), sd=sd, ci=ci, values=len(means), of=len(entries))


class Abstention(msgspec.Struct):
    """Abstaining compared with the `answerable` of the records.

    Attributes:
        p_ir: Share of unanswerable questions for which the model abstained.
        p_g: Share of answerable questions for which the model abstained.
        precision: Precision of abstaining.
        recall: Recall of abstaining.
        f1: Their harmonic mean.
        confusion: Counts by `unanswerable` or `answerable`, then `abstained` or `answered`.
    """

    p_ir: float | None = None
    p_g: float | None = None
    precision: float | None = None
    recall: float | None = None
    f1: float | None = None
    confusion: dict[str, dict[str, int]] = _OBJECT

    @classmethod
    def of(cls, abstained: Sequence[int], answered: Sequence[int]) -> Abstention:
        """Return the measures; to abstain if a question can't be answered is the positive.

        Args:
            abstained: Number of unanswerable and of answerable questions that were not answered.
            answered: The same of questions that were answered.
        """
        (tp, fp), (fn, tn) = abstained, answered
        return cls(
            p_ir=_share(tp, tp + fn),
            p_g=_share(fp, fp + tn),
            precision=_share(tp, tp + fp),
            recall=_share(tp, tp + fn),
            f1=_share(2 * tp, 2 * tp + fp + fn),
            confusion={
                "unanswerable": {"abstained": tp, "answered": fn},
                "answerable": {"abstained": fp, "answered": tn},
            },
        )


def _share(count: int, n: int) -> float | None:
    return count / n if n else None


class JudgeAgreement(msgspec.Struct):
    """How far two judges agree on one kind of check.

    Attributes:
        judges: The labels of the two judges.
        of: The kind of check.
        n: Number of verdicts that both gave.
        agreement: Share of equal verdicts; None without verdicts.
        kappa: Cohen's kappa; None if chance alone would always agree.
        supported: The share that each judge calls supported.
    """

    judges: list[str]
    of: str
    n: int
    agreement: float | None = None
    kappa: float | None = None
    supported: list[float | None] = _LIST

    @classmethod
    def of_counts(cls, judges: Sequence[str], check: str, counts: NDArray[np.int64]) -> Self:
        """Return how far two judges agree.

        Args:
            judges: The labels of the two judges.
            check: The kind of check.
            counts: Number of pairs of verdicts, shape (2, 2): unsupported, supported by each.
        """
        from trueground.stats import TwoJudges, sum_counts

        n = sum_counts(counts)
        same = int(counts[0, 0] + counts[1, 1])
        one, other = sum_counts(counts[1]), sum_counts(counts[:, 1])
        shares = [float(count) / n if n else None for count in (same, one, other)]
        return cls(
            judges=list(judges),
            of=check,
            n=n,
            agreement=shares[0],
            kappa=TwoJudges(counts).kappa,
            supported=shares[1:],
        )


class Repeats(msgspec.Struct):
    """What repeated answers to the same questions show.

    Attributes:
        of: The rule that says which question an answer belongs to.
        most: The largest number of answers to a question.
        questions: Number of questions.
        answers: Number of answers.
        several: Number of questions with more than one complete answer.
        same_answer: How many of these have only equal answers.
        incomplete: Number of questions for which some answers are missing.
        ci_level: The level of the intervals.
        metrics: For each metric the noise of its values (docs/noise.md).
    """

    of: str | None = None
    most: int | None = None
    questions: int | None = None
    answers: int | None = None
    several: int | None = None
    same_answer: int | None = None
    incomplete: int | None = None
    ci_level: float | None = None
    metrics: dict[str, dict[str, Any]] = _OBJECT


class Summary(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The content of summary.json. `summary[NAME]` is the `MetricSummary` of a metric.

    A bare name also finds a metric that was requested with options. A summary is a mapping: it has
    `keys`, `values`, `items` and `get`, over the metrics.

    Attributes:
        format_version: The version of the format.
        n: Number of items.
        metrics: Each metric by its key.
        by: The metrics for each breakdown field and each of its values.
        averages: For each breakdown field and metric the average over the field's values.
        abstention_rate: Share of answers that abstain.
        abstention: Abstaining compared with `answerable`; None if no record has it.
        abstention_rules: The rules that find abstaining, with their measured quality.
        empty_responses: Number of empty responses.
        clusters: Number of groups that were resampled; None if groups play no part.
        missing: What no record has although a metric needs it, and what to do.
        verdicts: The verdicts of answers; None if no metric checked claims against contexts.
        judges: The labels of the judges, if there are several.
        judge_agreement: How far they agree, for each pair of judges and each kind of check.
        reasons: Number of unsupported claims, by kind of reason.
        skipped: Number of bad rows that were skipped.
        skipped_rows: Descriptions of the first of them.
        corrected: Metric → the rate that people would give, by their labels (docs/rates.md).
        repeats: What repeated answers show; None if no question has several.

    Example:
        >>> summary = tg.read_run("runs/mine").summary  # doctest: +SKIP
        >>> summary["f1"].mean, summary.n  # doctest: +SKIP
        (0.81, 200)
    """

    REPEAT_FIELD: ClassVar = "meta.repeat"  # tells the answers to one question apart

    format_version: Version = _VERSION
    n: int
    metrics: dict[str, MetricSummary]
    by: Breakdown = _OBJECT
    averages: dict[str, dict[str, Average]] = _OBJECT
    abstention_rate: float | None = _NULL
    abstention: Abstention | None = _NULL
    abstention_rules: Any = _NULL
    empty_responses: int | None = _NULL
    clusters: int | None = _NULL
    missing: str | None = None
    verdicts: Verdicts | None = None
    judges: list[str] | None = None
    judge_agreement: list[JudgeAgreement] | None = None
    reasons: dict[str, int] = {}
    skipped: int | None = None
    skipped_rows: list[str] | None = None
    corrected_rates: dict[str, dict[str, Any]] | None = msgspec.field(
        name="corrected", default=None
    )
    repeats: Repeats | None = None

    @classmethod
    def decode(cls, content: bytes, name: str) -> Summary:
        """Return the summary in the bytes of a file; `name` is the file's. Raises InputError."""
        return decode_file(content, cls, name, upgrade=_rename_verdicts)

    @property
    def raw(self) -> dict[str, Any]:
        """The content of summary.json as plain lists, dictionaries, texts and numbers."""
        content: dict[str, Any] = msgspec.to_builtins(self)
        return content

    def add_average(self, field: str, metric: str, ci: Ci) -> None:
        """Add the average of a metric over the values of a breakdown field, with its interval."""
        entries = [metrics[metric] for metrics in self.by[field].values()]
        self.averages.setdefault(field, {})[metric] = Average.over(entries, ci)

    def set_abstention(self, abstained: Sequence[int], answered: Sequence[int]) -> None:
        """Compare abstaining with `answerable`, if any record has it; see `Abstention.of`."""
        if any((*abstained, *answered)):
            self.abstention = Abstention.of(abstained, answered)

    def add_judge_agreement(
        self, judges: Sequence[str], check: str, counts: NDArray[np.int64]
    ) -> None:
        """Add how far two judges agree on one kind of check; see `JudgeAgreement.of_counts`."""
        entry = JudgeAgreement.of_counts(judges, check, counts)
        self.judge_agreement = [*(self.judge_agreement or ()), entry]

    @property
    def corrected(self) -> Mapping[str, Mapping[str, Any]]:
        """Metric → the rate that people would give, by their labels (docs/rates.md)."""
        return self.corrected_rates or {}

    def __getitem__(self, name: str) -> MetricSummary:
        from trueground.metrics import resolve_alias

        declared = resolve_alias(name)
        keys = ResultKey.find(name, self.metrics) or ResultKey.find(declared, self.metrics)
        if len(keys) != 1:
            raise KeyError(str(UsageError.unknown_name("metric of this run", name, self.metrics)))
        return self.metrics[keys[0]]

    def __iter__(self) -> Iterator[str]:
        return iter(self.metrics)

    def __len__(self) -> int:
        return len(self.metrics)

    def __contains__(self, name: object) -> bool:
        try:
            self[str(name)]
        except KeyError:
            return False
        return True

    def get(self, name: str, default: MetricSummary | None = None) -> MetricSummary | None:
        """Return the metric of a name, or the default if the run has no such metric."""
        try:
            return self[name]
        except KeyError:
            return default

    def keys(self) -> KeysView[str]:
        """Return the keys of the metrics, in their order."""
        return self.metrics.keys()

    def values(self) -> ValuesView[MetricSummary]:
        """Return the metrics, in their order."""
        return self.metrics.values()

    def items(self) -> ItemsView[str, MetricSummary]:
        """Return the metrics with their keys, in their order."""
        return self.metrics.items()


Mapping.register(Summary)
Mapping.register(Verdicts)


# manifest.json


class InputFile(msgspec.Struct):
    """An input file with its checksum and its size in bytes."""

    path: str | None = None
    sha256: str | None = None
    bytes: int | None = None


class UsedComponent(msgspec.Struct, omit_defaults=True):
    """A judge, decomposer, rater, comparer or model that took part.

    Attributes:
        name: Its name.
        signature: What fixes its results.
        written: The spec that makes the same component again.
    """

    name: str
    signature: str = ""
    written: str | None = None


class TokenSums(
    msgspec.Struct, omit_defaults=True, rename={"tokens_in": "in", "tokens_out": "out"}
):
    """Tokens of calls: sent, received, and of those sent how many the endpoint had cached."""

    tokens_in: int = msgspec.field(default_factory=int)
    tokens_out: int = msgspec.field(default_factory=int)
    cached: int | None = None


class CallCosts(msgspec.Struct, omit_defaults=True):
    """Calls to language models and their tokens.

    Attributes:
        calls: Number of calls that reached the endpoint.
        failed_calls: Number of calls that failed after all retries.
        tokens: Tokens of all calls.
        cache_hits: Number of replies that came from the cache.
    """

    calls: int = msgspec.field(default_factory=int)
    failed_calls: int = msgspec.field(default_factory=int)
    tokens: TokenSums = msgspec.field(default_factory=TokenSums)
    cache_hits: int = msgspec.field(default_factory=int)

    @classmethod
    def of(cls, usage: Usage) -> CallCosts:
        """Return what judges, decomposer and rater used."""
        tokens = TokenSums(usage.tokens_in, usage.tokens_out)
        return cls(usage.calls, usage.failed, tokens, usage.cache_hits)

    @property
    def usage(self) -> Usage:
        """The same as numbers that can be added."""
        tokens = self.tokens
        return Usage(
            self.calls, tokens.tokens_in, tokens.tokens_out, self.cache_hits, self.failed_calls
        )


class RunBenchmark(msgspec.Struct, omit_defaults=True):
    """The benchmark and task that a run asked.

    Attributes:
        name: The benchmark.
        task: Its task.
        options: The options of the benchmark.
        headline: The metric by which models are ranked in this task.
        notices: What every page of this run must say.
    """

    name: str = ""
    task: str = ""
    options: dict[str, Any] = _OBJECT
    headline: str = ""
    notices: list[str] = _LIST


class RunCost(msgspec.Struct, omit_defaults=True):
    """What the calls of a run cost in US dollars, and the prices per million tokens."""

    usd: float | None = _NULL
    input: float | None = None
    output: float | None = None
    cached_input: float | None = _NULL


class MergedShards(msgspec.Struct):
    """The shards of which a run was merged.

    Attributes:
        count: Number of shards.
        plan: The digest of their plan.
        seconds: Time that they took in total.
        cpu_seconds: Processor time in total.
        peak_bytes: The largest memory of one process.
    """

    count: int | None = None
    plan: str | None = None
    seconds: float | None = None
    cpu_seconds: float | None = None
    peak_bytes: int | None = None


class ShardCost(Protocol):
    """What a shard cost, as `MergedShards` adds it up."""

    @property
    def seconds(self) -> float: ...

    @property
    def cpu_seconds(self) -> float: ...

    @property
    def peak_bytes(self) -> int: ...


class Manifest(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The content of manifest.json: what a run computed, from what, and how it ended.

    Attributes:
        format_version: The version of the format.
        trueground: The version of the package.
        python: The version of Python.
        kind: `score`, or `run` if a model was asked.
        status: `running`, `finished`, `interrupted` or `failed`.
        command: The command that began the run; empty for a call from Python.
        input: The input files.
        n: Number of records.
        skipped: Number of bad rows that were skipped.
        metrics: The signature of each metric, which fixes its value.
        judge: The first judge; None if no claims are checked.
        judges: All judges.
        decomposer: What splits answers into claims.
        rater: What rates answers.
        comparers: The models that compute metrics by comparison.
        encoders: The components that a small model computes.
        prompts: The prompts of judges, or of the task if a model was asked.
        judging_prompts: The prompts of judges, if a model was asked.
        by: The breakdown fields.
        seed: The seed of all random numbers.
        resamples: Number of bootstrap samples.
        start: When the run began, in UTC.
        end: When it ended; None while it is running.
        calls: Number of calls that reached an endpoint.
        failed_calls: Number of calls that failed after all retries.
        tokens: Tokens of these calls.
        cache_hits: Number of replies that came from the cache.
        cache_problem: Why the cache couldn't be used.
        identity: What makes another command resume this run.
        sessions: Number of processes that worked on it.
        labels: The files with human labels.
        scored: Number of items that are written.
        benchmark: The benchmark and task, if a model was asked.
        model: The model that was asked.
        params: Parameters of the calls.
        limit: Number of questions asked at most.
        repeats: Number of answers to each question.
        cost: What the calls cost.
        judging: Calls of judges and raters, if a model was asked.
        outcomes: Number of answers by outcome.
        refusals: Number of answers that the model's provider refused.
        errors: Number of failed calls, by reason.
        answered_by: Number of answers, by the model that the endpoint named.
        shards: The shards of which the run was merged.
    """

    format_version: Version = _VERSION
    trueground: str
    python: str | None = None
    kind: str = _SCORE
    status: str = _FINISHED
    command: list[str] = _LIST
    input: list[InputFile] = _LIST
    n: int | None = None
    skipped: int = msgspec.field(default_factory=int)
    metrics: dict[str, str] = _OBJECT
    judge: UsedComponent | None = _NULL
    judges: list[UsedComponent] = _LIST
    decomposer: UsedComponent | None = _NULL
    rater: UsedComponent | None = _NULL
    comparers: list[UsedComponent] = _LIST
    encoders: list[str] = _LIST
    prompts: list[PromptFile] = _LIST
    judging_prompts: list[PromptFile] | None = None
    by: list[str] = _LIST
    seed: int | None = None
    resamples: int | None = None
    start: str | None = None
    end: str | None = _NULL
    calls: int = msgspec.field(default_factory=int)
    failed_calls: int | None = None
    tokens: TokenSums = msgspec.field(default_factory=TokenSums)
    cache_hits: int = msgspec.field(default_factory=int)
    cache_problem: str | None = _NULL
    identity: dict[str, Any] | None = None
    sessions: int | None = None
    labels: list[dict[str, Any]] | None = None
    scored: int | None = None
    benchmark: RunBenchmark | None = None
    model: UsedComponent | None = None
    params: dict[str, Any] = {}
    limit: int | None = None
    repeats: int = 1
    cost: RunCost | None = None
    judging: CallCosts | None = None
    outcomes: dict[str, int] = {}
    refusals: int = 0
    errors: dict[str, int] = {}
    answered_by: dict[str, int] = {}
    shards: MergedShards | None = None

    @classmethod
    def decode(cls, content: bytes, name: str) -> Manifest:
        """Return the manifest in the bytes of a file; `name` is the file's. Raises InputError."""
        return decode_file(content, cls, name, needs_package=True)

    @property
    def raw(self) -> dict[str, Any]:
        """The content of manifest.json as plain lists, dictionaries, texts and numbers."""
        content: dict[str, Any] = msgspec.to_builtins(self)
        return content

    @property
    def judging_usage(self) -> Usage:
        """What judging used, if a model was asked."""
        return Usage() if self.judging is None else self.judging.usage

    def set_usage(self, usage: Usage | None) -> None:
        """Write what judging a scored file used; None changes nothing."""
        if usage is not None:
            costs = CallCosts.of(usage)
            self.calls, self.failed_calls = costs.calls, costs.failed_calls
            self.tokens, self.cache_hits = costs.tokens, costs.cache_hits

    def set_cost(self, price: Price) -> None:
        """Write what the calls cost at this price, by the tokens that are counted."""
        tokens = self.tokens
        usd = price.cost(tokens.tokens_in, tokens.tokens_out, tokens.cached or 0)
        self.cost = RunCost(usd, price.input, price.output, price.cached_input)

    def set_shards(self, plan: str, shards: Sequence[ShardCost]) -> None:
        """Write of which shards the run was merged; `plan` is the digest of their plan."""
        self.shards = MergedShards(
            count=len(shards),
            plan=plan,
            seconds=math.fsum(shard.seconds for shard in shards),
            cpu_seconds=math.fsum(shard.cpu_seconds for shard in shards),
            peak_bytes=max(shard.peak_bytes for shard in shards),
        )

    def set_judging_usage(self, usage: Usage) -> None:
        """Write what judging used, if a model was asked."""
        self.judging = CallCosts.of(usage)

    def set_input(self, files: Sequence[FileInfo]) -> None:
        """Write which files are the input."""
        self.input = [InputFile(file.path, file.sha256, file.bytes) for file in files]

    @staticmethod
    def describe_usage(usage: Usage) -> dict[str, Any]:
        """Return the entries of a manifest that say what calls used."""
        entries: dict[str, Any] = msgspec.to_builtins(CallCosts.of(usage))
        return entries

    @property
    def is_finished(self) -> bool:
        """Whether the run ended well."""
        return self.status == FINISHED

    @property
    def resume_advice(self) -> str:
        """The sentence that says how to resume the run."""
        return resume_advice({"command": self.command})

    def describe_unfinished(self, path: Path, *, running: bool = False) -> str:
        """Say that the run is unfinished, and how to resume it.

        Args:
            path: The run directory.
            running: Whether a process is writing the run at the moment.
        """
        entries = {"status": self.status, "command": self.command}
        return describe_unfinished(path, entries, running=running)

    @property
    def task(self) -> str | None:
        """`BENCHMARK/TASK` of a run that asked a model; None for a scored file."""
        asked = self.benchmark
        return None if asked is None else f"{asked.name}/{asked.task}"
