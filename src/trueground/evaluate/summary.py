"""The table of a run → summary.json, and repeats.jsonl where questions have several answers."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import orjson
from numpy.typing import NDArray

from trueground.evaluate.plan import ABSTAINED, Draws, Entries, Plan
from trueground.evaluate.table import NO_ANSWER, ItemTable, RowsOnDisk
from trueground.judges import FitFigures
from trueground.metrics import AnswerVerdict, Spec
from trueground.records import Check
from trueground.runs import (
    MetricSummary,
    Repeats,
    Summary,
    Verdicts,
    VerdictShare,
)
from trueground.stats import Bootstrap, sum_counts, total
from trueground.text import REFUSAL_RULES
from trueground.types import ReasonKind, Status

if TYPE_CHECKING:
    from trueground.stats import PerQuestion


_ROWS = 65_536
_LINES = 4_096  # of a piece of repeats.jsonl


def summarize(plan: Plan, table: ItemTable, check: Check) -> Summary:
    """Return the content of summary.json."""
    clusters = table.count_clusters()
    grouped = clusters < table.n
    everything = _compute(plan, table, grouped)
    broken_down = {field: _breakdown(plan, table, i, grouped) for i, field in enumerate(plan.by)}
    summary = Summary(
        n=table.n,
        metrics={key: everything.metrics[key] for key in plan.summary_keys},
        by={
            field: {name: numbers.metrics for name, numbers in breakdown.values.items()}
            for field, breakdown in broken_down.items()
        },
        averages={field: {} for field in broken_down},
        abstention_rate=everything.metrics[ABSTAINED].mean,
        abstention_rules=REFUSAL_RULES.measured,
        empty_responses=table.empty,
        clusters=clusters if grouped else None,
        missing=plan.missing or None,
    )
    summary.set_abstention(table.abstained, table.answered)
    for field, breakdown in broken_down.items():
        for key in plan.summary_keys:
            summary.add_average(field, key, _average_interval(plan, breakdown, key))
    if plan.verdicts is not None:
        by = {
            field: {name: numbers.verdicts for name, numbers in breakdown.values.items()}
            for field, breakdown in broken_down.items()
        }
        summary.verdicts = _verdicts(plan, plan.verdicts, table, check, everything, by)
    if table.agreement is not None and len(plan.components.judges) > 1:
        summary.judges = list(plan.components.labels)
        pairs = combinations(plan.components.labels, 2)
        for judges, tables in zip(pairs, table.agreement, strict=True):
            for kind, counts in zip(plan.checks, tables, strict=True):
                summary.add_judge_agreement(judges, str(kind), counts)
    if table.reasons is not None and table.reasons.any():
        counts = zip(ReasonKind, table.reasons.tolist(), strict=True)
        most_first = sorted(counts, key=lambda pair: -pair[1])  # equal ones keep their order
        summary.reasons = {str(kind): count for kind, count in most_first if count}
    if check.bad_total:
        summary.skipped = check.bad_total
        summary.skipped_rows = [str(row) for row in check.bad]
    return summary


def _verdicts(
    plan: Plan,
    spec: Spec,
    table: ItemTable,
    check: Check,
    everything: _Numbers,
    by: dict[str, dict[str, dict[str, VerdictShare]]],
) -> Verdicts:
    """The verdicts of all answers, which the metric `spec` decides."""
    shares = [everything.verdicts[name] for name in AnswerVerdict.NAMES]
    statuses = everything.metrics[spec.key].unscored
    reasons = {name: n for name, n in statuses.items() if name != Status.ABSTAINED}
    fitted = plan.components.judges[0].fitted
    return Verdicts(
        metric=spec.key,
        signature=plan.signature_of(spec),
        judge=plan.components.labels[0],
        n=table.n,
        questions=check.fields["question"],
        ci_level=plan.level,
        grounded=shares[0],
        partly_grounded=shares[1],
        not_grounded=shares[2],
        abstained=shares[3],
        unscored=shares[4],
        by=by,
        why_unscored=reasons or None,
        # A judge from outside may mean anything by `fitted`.
        fitted=fitted if isinstance(fitted, FitFigures) else None,
    )


class _Numbers(NamedTuple):
    """Mean, interval and coverage of each metric over some items; the share of each verdict; the
    metrics' means in each resample, (resamples,).
    """

    metrics: Entries
    verdicts: dict[str, VerdictShare]
    draws: Draws


def _compute(
    plan: Plan,
    table: ItemTable,
    grouped: bool,
    rows: NDArray[np.int64] | None = None,
    bootstrap: Bootstrap | None = None,
) -> _Numbers:
    """The numbers of all items, or of some rows."""
    status = table.status
    scores = _WithVerdicts(table.scores, status, plan.verdicts_at)
    bootstrap = bootstrap or _bootstrap_of(plan)
    means = bootstrap.means(scores, table.clusters if grouped else None, rows)
    n = table.n if rows is None else len(rows)
    specs = (*plan.specs, *plan.hidden)
    width = len(specs)
    sums = np.zeros(scores.shape[1])
    counts = np.zeros((width, len(Status)), np.int64)
    # In blocks, so that columns on disk are never read into memory as a whole.
    for low in range(0, n, _ROWS):
        part = slice(low, low + _ROWS) if rows is None else rows[low : low + _ROWS]
        block = scores[part]
        sums += total(np.where(np.isnan(block), 0.0, block), axis=0)
        codes = status[part]
        for column in range(width):
            counts[column] += np.bincount(codes[:, column], minlength=len(Status))
    keys = [spec.key for spec in specs]
    entries = {
        key: _entry(plan, float(sum_), n, count.tolist(), bootstrap.interval(column))
        for key, sum_, count, column in zip(keys, sums, counts, means, strict=False)
    }
    units = len(np.unique(table.clusters[slice(None) if rows is None else rows])) if grouped else n
    verdicts = {
        name: _verdict_share(int(sum_), n, units, bootstrap.interval(column), plan.level)
        for name, sum_, column in zip(
            AnswerVerdict.NAMES, sums[width:], means[width:], strict=False
        )
    }
    by_key = dict(zip(keys, map(float, sums), strict=False))
    draws = dict(zip(keys, means, strict=False))
    entries, draws = plan.run_level.added(entries, by_key, draws, plan.level)
    return _Numbers(entries, verdicts, draws)


def _verdict_share(
    count: int, n: int, units: int, ci: tuple[float, float] | None, level: float
) -> VerdictShare:
    """How many answers have a verdict, their share and its interval.

    Where every resample gives the same share (none or all of them) the interval is the exact one
    of so many answers, or groups of them, as were resampled.
    """
    share = count / n if n else None
    if ci is not None and share is not None and ci[0] == ci[1]:
        from trueground.stats import clopper_pearson

        ci = clopper_pearson(share * units, units, level)
    return VerdictShare(count, share, ci)


class _WithVerdicts:
    """The scores of all items, and behind them a column for each verdict, 1 where it is given.

    `at` is the column that decides; None adds none.
    """

    def __init__(
        self, scores: NDArray[Any] | RowsOnDisk, status: NDArray[Any] | RowsOnDisk, at: int | None
    ) -> None:
        self._scores, self._status, self._at = scores, status, at
        more = 0 if at is None else len(AnswerVerdict.NAMES)
        self.shape = (len(scores), scores.shape[1] + more)

    def __len__(self) -> int:
        return len(self._scores)

    def __getitem__(self, rows: Any, /) -> NDArray[Any]:
        scores = self._scores[rows]
        if self._at is None:
            return scores
        codes = AnswerVerdict.encode(scores[:, self._at], self._status[rows][:, self._at])
        return np.hstack([scores, codes[:, None] == np.arange(len(AnswerVerdict.NAMES))])


def _entry(
    plan: Plan, total: float, n: int, counts: list[int], ci: tuple[float, float] | None
) -> MetricSummary:
    by_status = {status.value: count for status, count in zip(Status, counts, strict=True)}
    scored = by_status.pop(Status.SCORED)
    return MetricSummary(
        mean=total / scored if scored else None,
        ci=ci,
        ci_level=plan.level,
        n=n,
        scored=scored,
        unscored={status: count for status, count in by_status.items() if count},
    )


def _bootstrap_of(plan: Plan) -> Bootstrap:
    return Bootstrap(plan.resamples, plan.seed, plan.level)


class _Breakdown(NamedTuple):
    """The numbers of each value of one field.

    `totals` has for each metric the sum of its means over the values in each resample,
    (resamples,).
    """

    values: dict[str, _Numbers]
    totals: Draws


def _breakdown(plan: Plan, table: ItemTable, i: int, grouped: bool) -> _Breakdown:
    """The numbers of each value of one field."""
    codes = table.by(i)
    found: dict[str, _Numbers] = {}
    # Each value is drawn by itself, so that averages over them can be taken. What has no interval
    # in some value is NaN there and from then on.
    keys = plan.summary_keys
    total = {key: np.zeros(plan.resamples) for key in keys}
    bootstrap = _bootstrap_of(plan)
    for number, (name, code) in enumerate(sorted(table.names[i].items())):
        rows = np.flatnonzero(codes == code)
        numbers = _compute(plan, table, grouped, rows, bootstrap.of_stratum(number))
        for key in keys:
            if numbers.metrics[key].scored:
                total[key] += numbers.draws[key]
        shown = {key: numbers.metrics[key] for key in keys}
        found[name] = _Numbers(shown, numbers.verdicts, {})
    return _Breakdown(found, total)


def _average_interval(plan: Plan, breakdown: _Breakdown, key: str) -> tuple[float, float] | None:
    """The interval of a metric's average over the values in which anything was scored."""
    means = [numbers.metrics[key].mean for numbers in breakdown.values.values()]
    scored = len(means) - means.count(None)
    if not scored:
        return None
    return _bootstrap_of(plan).interval(breakdown.totals[key] / scored)


def summarize_repeats(plan: Plan, table: ItemTable) -> tuple[Repeats, Iterator[bytes]] | None:
    """The part of the summary on repeated answers, and the lines of repeats.jsonl.

    None where no question has a second answer. Numbers of whole runs, harmonic means of means and
    micro values, have no value for an answer and are left out.
    """
    from trueground.stats import PerQuestion

    names = list(table.questions)
    codes = table.question_codes
    if len(names) == len(codes):
        return None
    columns = [i for i, spec in enumerate(plan.specs) if not spec.metric.aggregation.harmonic]
    keys = [plan.specs[i].key for i in columns]
    answers = PerQuestion.of(table.scores, codes, len(names), columns)
    there = table.answer_hashes != NO_ANSWER  # whole answers, then how many different ones
    pairs = np.unique(np.stack([codes[there], table.answer_hashes[there]], axis=1), axis=0)
    whole = np.bincount(codes[there], minlength=len(names))
    different = np.bincount(pairs[:, 0], minlength=len(names))
    clusters = np.zeros(len(names), np.int64)
    clusters[codes] = table.clusters
    # Clusters even if each question is one: their order gives the draws of the items' means.
    found = answers.noise(clusters, resamples=plan.resamples, seed=plan.seed, level=plan.level)
    several = whole > 1
    rules = [_verdict_rule(answers, column) for column in range(len(keys))]
    part = Repeats(
        of=plan.repeats_of,
        most=int(answers.asked.max()),
        questions=len(names),
        answers=len(codes),
        several=sum_counts(several),
        same_answer=sum_counts(different[several] == 1),
        incomplete=sum_counts(whole < answers.asked),
        ci_level=plan.level,
        metrics={
            key: dataclasses.asdict(one) | {"verdicts": rule}
            for key, one, rule in zip(keys, found, rules, strict=True)
        },
    )
    return part, _repeat_lines(names, keys, answers, whole, different)


def _verdict_rule(answers: PerQuestion, column: int) -> str | None:
    """By what a verdict changes: `binary` for values 0 and 1, `0.5` for crossing it, else None."""
    if not np.isfinite(answers.low[column]):
        return None
    if answers.whole[column]:
        return "binary"
    return str(answers.VERDICT_AT) if answers.has_verdicts[column] else None


def _repeat_lines(
    names: Sequence[str],
    keys: Sequence[str],
    answers: PerQuestion,
    whole: NDArray[np.int64],
    different: NDArray[np.int64],
) -> Iterator[bytes]:
    """One line for each question, in the order in which they came, many lines a piece."""
    sds, flips = np.sqrt(answers.variances), answers.flips
    piece = []
    for q, name in enumerate(names):
        numbers = zip(answers.means[q], sds[q], answers.scored[q], flips[q], strict=True)
        scores = {
            key: {
                "mean": mean,  # NaN is written as null
                "sd": sd,
                "scored": int(scored),
                "flipped": None if np.isnan(flip) or not rule else bool(flip),
            }
            for key, rule, (mean, sd, scored, flip) in zip(
                keys, answers.has_verdicts, numbers, strict=True
            )
        }
        line = {
            "id": name,
            "asked": int(answers.asked[q]),
            "answered": int(whole[q]),
            "different": int(different[q]),
            "scores": scores,
        }
        piece.append(
            orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE | orjson.OPT_SERIALIZE_NUMPY)
        )
        if len(piece) == _LINES:
            yield b"".join(piece)
            piece = []
    yield b"".join(piece)
