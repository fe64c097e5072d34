"""The table of a run → summary.json, and repeats.jsonl where questions have several answers."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from itertools import combinations
from statistics import stdev
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np
import orjson
from numpy.typing import NDArray

from trueground.arithmetic.sums import count_true, mean, sum_counts, totals
from trueground.evaluate.plan import ABSTAINED, Draws, Entries, Plan
from trueground.evaluate.table import NO_ANSWER, ItemTable
from trueground.metrics.batch import STATUSES
from trueground.metrics.grounding import ANSWER_VERDICTS, code_verdicts
from trueground.records import Check
from trueground.stats.bootstrap import (
    Floats,
    Interval,
    NumberTable,
    percentiles,
    resampled_means,
    stratum_seed,
)
from trueground.text.refusal import MEASURED
from trueground.types import ReasonKind, Status

if TYPE_CHECKING:
    from trueground.stats.repeats import PerQuestion

_ROWS = 65_536
_LINES = 4_096  # of a piece of repeats.jsonl


def summarise(plan: Plan, table: ItemTable, check: Check) -> dict[str, Any]:
    """The content of summary.json, in the shape of the contract."""
    clusters = table.count_clusters()
    grouped = clusters < table.n
    everything = _compute(plan, table, grouped)
    broken_down = {field: _breakdown(plan, table, i, grouped) for i, field in enumerate(plan.by)}
    shown = {key: everything.metrics[key] for key in plan.summary_keys}
    summary = {
        "n": table.n,
        "metrics": shown,
        "by": {
            field: {name: numbers.metrics for name, numbers in found.items()}
            for field, (found, _) in broken_down.items()
        },
        "averages": {field: averages for field, (_, averages) in broken_down.items()},
        "abstention_rate": everything.metrics[ABSTAINED]["mean"],
        "abstention": _confusion(table),
        "abstention_rules": MEASURED,
        "empty_responses": table.empty,
        "clusters": clusters if grouped else None,
    }
    if plan.missing:
        summary["missing"] = plan.missing
    if plan.verdicts is not None:
        summary["verdicts"] = {
            "metric": plan.verdicts.key,
            "signature": plan.signature_of(plan.verdicts),
            "judge": plan.components.labels[0],
            "n": table.n,
            "questions": check.fields["question"],
            "ci_level": plan.level,
            **everything.verdicts,
            "by": {
                field: {name: numbers.verdicts for name, numbers in found.items()}
                for field, (found, _) in broken_down.items()
            },
        }
        statuses = everything.metrics[plan.verdicts.key]["unscored"]
        if why := {name: n for name, n in statuses.items() if name != Status.ABSTAINED}:
            summary["verdicts"]["why_unscored"] = why
        fitted = plan.components.judges[0].fitted
        if fitted is not None:
            summary["verdicts"]["fitted"] = msgspec.to_builtins(fitted)
    if table.agreement is not None and len(plan.components.judges) > 1:
        summary["judges"] = plan.components.labels
        summary["judge_agreement"] = _judge_agreement(plan, table.agreement)
    if table.reasons is not None and table.reasons.any():
        counts = zip(ReasonKind, table.reasons.tolist(), strict=True)
        most_first = sorted(counts, key=lambda pair: -pair[1])  # equal ones keep their order
        summary["reasons"] = {str(kind): count for kind, count in most_first if count}
    if check.bad_total:
        summary["skipped"] = check.bad_total
        summary["skipped_rows"] = [str(row) for row in check.bad]
    return summary


class _Numbers(NamedTuple):
    """Mean, interval and coverage of each metric over some items; the share of each verdict; the
    metrics' means in each resample, (resamples,).
    """

    metrics: Entries
    verdicts: dict[str, Any]
    draws: Draws


def _compute(
    plan: Plan,
    table: ItemTable,
    grouped: bool,
    rows: NDArray[np.int64] | None = None,
    seed: int | None = None,
) -> _Numbers:
    """The numbers of all items, or of some rows."""
    status = table.status
    scores = _WithVerdicts(table.scores, status, plan.verdicts_at)
    means = resampled_means(
        scores,
        table.clusters if grouped else None,
        rows,
        resamples=plan.resamples,
        seed=plan.seed if seed is None else seed,
    )
    n = table.n if rows is None else len(rows)
    specs = (*plan.specs, *plan.hidden)
    width = len(specs)
    sums = np.zeros(scores.shape[1])
    counts = np.zeros((width, len(STATUSES)), np.int64)
    # In blocks, so that columns on disk are never read into memory as a whole.
    for low in range(0, n, _ROWS):
        part = slice(low, low + _ROWS) if rows is None else rows[low : low + _ROWS]
        block = scores[part]
        sums += totals(np.where(np.isnan(block), 0.0, block))
        codes = status[part]
        for column in range(width):
            counts[column] += np.bincount(codes[:, column], minlength=len(STATUSES))
    keys = [spec.key for spec in specs]
    entries = {
        key: _entry(plan, float(total), n, count.tolist(), percentiles(column, plan.level))
        for key, total, count, column in zip(keys, sums, counts, means, strict=False)
    }
    units = len(np.unique(table.clusters[slice(None) if rows is None else rows])) if grouped else n
    verdicts = {
        name: _verdict_share(int(total), n, units, percentiles(column, plan.level), plan.level)
        for name, total, column in zip(ANSWER_VERDICTS, sums[width:], means[width:], strict=False)
    }
    by_key = dict(zip(keys, map(float, sums), strict=False))
    draws = dict(zip(keys, means, strict=False))
    entries, draws = plan.run_level.added(entries, by_key, draws, plan.level)
    return _Numbers(entries, verdicts, draws)


def _verdict_share(
    count: int, n: int, units: int, ci: Interval | None, level: float
) -> dict[str, Any]:
    """How many answers have a verdict, their share and its interval.

    Where every resample gives the same share (none or all of them) the interval is the exact one
    of so many answers, or groups of them, as were resampled.
    """
    share = count / n if n else None
    if ci is not None and share is not None and ci[0] == ci[1]:
        from trueground.stats.rates import clopper_pearson

        ci = clopper_pearson(share * units, units, level)
    return {"n": count, "share": share, "ci": ci}


class _WithVerdicts:
    """The scores of all items, and behind them a column for each verdict, 1 where it is given.

    `at` is the column that decides; None adds none.
    """

    def __init__(self, scores: NumberTable, status: NumberTable, at: int | None) -> None:
        self._scores, self._status, self._at = scores, status, at
        more = 0 if at is None else len(ANSWER_VERDICTS)
        self.shape = (len(scores), scores.shape[1] + more)

    def __len__(self) -> int:
        return len(self._scores)

    def __getitem__(self, rows: Any, /) -> NDArray[Any]:
        scores = self._scores[rows]
        if self._at is None:
            return scores
        codes = code_verdicts(scores[:, self._at], self._status[rows][:, self._at])
        return np.hstack([scores, codes[:, None] == np.arange(len(ANSWER_VERDICTS))])


def _entry(
    plan: Plan, total: float, n: int, counts: list[int], ci: tuple[float, float] | None
) -> dict[str, Any]:
    by_status = {status.value: count for status, count in zip(STATUSES, counts, strict=True)}
    scored = by_status.pop(Status.SCORED)
    return {
        "mean": total / scored if scored else None,
        "ci": ci,
        "ci_level": plan.level,
        "n": n,
        "scored": scored,
        "unscored": {status: count for status, count in by_status.items() if count},
    }


def _breakdown(
    plan: Plan, table: ItemTable, i: int, grouped: bool
) -> tuple[dict[str, _Numbers], dict[str, Any]]:
    """The numbers of each value of one field, and the metrics' unweighted averages over them."""
    codes = table.by(i)
    found: dict[str, _Numbers] = {}
    # Each value is drawn by itself, so that averages over them can be taken. What has no interval
    # in some value is NaN there and from then on.
    keys = plan.summary_keys
    total = {key: np.zeros(plan.resamples) for key in keys}
    for number, (name, code) in enumerate(sorted(table.names[i].items())):
        rows = np.flatnonzero(codes == code)
        numbers = _compute(plan, table, grouped, rows, stratum_seed(plan.seed, number))
        for key in keys:
            if numbers.metrics[key]["scored"]:
                total[key] += numbers.draws[key]
        shown = {key: numbers.metrics[key] for key in keys}
        found[name] = _Numbers(shown, numbers.verdicts, {})
    averages = {
        key: _average(plan, [numbers.metrics[key] for numbers in found.values()], total[key])
        for key in keys
    }
    return found, averages


def _average(plan: Plan, entries: list[dict[str, Any]], total: Floats) -> dict[str, Any]:
    """One metric's unweighted average over the values in which anything was scored.

    `total` (resamples,) is the sum of their means in each resample. `sd` is the standard deviation
    of the means (of a sample), as papers report it over repeated runs; None for a single one.
    """
    means = [entry["mean"] for entry in entries if entry["scored"]]  # scored: there is a mean
    if not means:
        return {"mean": None, "sd": None, "ci": None, "values": 0, "of": len(entries)}
    return {
        "mean": mean(means),
        "sd": stdev(means) if len(means) > 1 else None,
        "ci": percentiles(total / len(means), plan.level),
        "values": len(means),
        "of": len(entries),
    }


def _confusion(table: ItemTable) -> dict[str, Any] | None:
    """Abstaining against `answerable`; to abstain where nothing can be answered is the positive."""
    (tp, fp), (fn, tn) = table.abstained, table.answered
    if not tp + fp + fn + tn:
        return None

    def share(a: int, b: int) -> float | None:
        return a / b if b else None

    return {
        "p_ir": share(tp, tp + fn),
        "p_g": share(fp, fp + tn),
        "precision": share(tp, tp + fp),
        "recall": share(tp, tp + fn),
        "f1": share(2 * tp, 2 * tp + fp + fn),
        "confusion": {
            "unanswerable": {"abstained": tp, "answered": fn},
            "answerable": {"abstained": fp, "answered": tn},
        },
    }


def _judge_agreement(plan: Plan, counts: NDArray[np.int64]) -> list[dict[str, Any]]:
    """One entry for each pair of judges and kind of check: raw agreement and Cohen's kappa.

    Both are None where no verdict could be compared; kappa too where all are the same.
    """
    from trueground.stats.agreement import cohen_kappa

    entries = []
    for judges, tables in zip(combinations(plan.components.labels, 2), counts, strict=True):
        for check, table in zip(plan.checks, tables, strict=True):
            n = sum_counts(table)
            same, one, other = np.trace(table), sum_counts(table[1]), sum_counts(table[:, 1])
            shares = [float(count) / n if n else None for count in (same, one, other)]
            entries.append(
                {
                    "judges": list(judges),
                    "of": str(check),
                    "n": n,
                    "agreement": shares[0],
                    "kappa": cohen_kappa(table),
                    "supported": shares[1:],
                }
            )
    return entries


def summarise_repeats(
    plan: Plan, table: ItemTable
) -> tuple[dict[str, Any], Iterator[bytes]] | None:
    """The part of the summary on repeated answers, and the lines of repeats.jsonl.

    None where no question has a second answer. Numbers of whole runs, harmonic means of means and
    micro values, have no value for an answer and are left out.
    """
    from trueground.stats.repeats import VERDICT_AT, noise, per_question

    names = list(table.questions)
    codes = table.question_codes
    if len(names) == len(codes):
        return None
    columns = [i for i, spec in enumerate(plan.specs) if not spec.metric.aggregation.harmonic]
    keys = [plan.specs[i].key for i in columns]
    answers = per_question(table.scores, codes, len(names), columns)
    there = table.answer_hashes != NO_ANSWER  # whole answers, then how many different ones
    pairs = np.unique(np.stack([codes[there], table.answer_hashes[there]], axis=1), axis=0)
    whole = np.bincount(codes[there], minlength=len(names))
    different = np.bincount(pairs[:, 0], minlength=len(names))
    clusters = np.zeros(len(names), np.int64)
    clusters[codes] = table.clusters
    found = noise(
        answers,
        clusters,  # even if each question is one: their order gives the draws of the items' means
        resamples=plan.resamples,
        seed=plan.seed,
        level=plan.level,
    )
    several = whole > 1
    # By what a verdict changes: `binary` for values 0 and 1, `0.5` for crossing it, else None.
    rules = [
        None if not np.isfinite(low) else "binary" if binary else str(VERDICT_AT) if has else None
        for low, binary, has in zip(answers.low, answers.whole, answers.has_verdicts, strict=True)
    ]
    part = {
        "of": plan.repeats_of,
        "most": int(answers.asked.max()),
        "questions": len(names),
        "answers": len(codes),
        "several": count_true(several),
        "same_answer": count_true(different[several] == 1),
        "incomplete": count_true(whole < answers.asked),
        "ci_level": plan.level,
        "metrics": {
            key: dataclasses.asdict(one) | {"verdicts": rule}
            for key, one, rule in zip(keys, found, rules, strict=True)
        },
    }
    return part, _repeat_lines(names, keys, answers, whole, different)


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
