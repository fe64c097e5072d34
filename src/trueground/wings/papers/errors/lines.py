"""Read and write errors.jsonl: select items, propose categories, keep people's corrections.

The categories are from Adlakha et al. 2023, section 4.2, for answers with an F1 of at most 0.3 that
people label as correct. Other metrics, thresholds and labels work the same way. A person fills in
the category of each line, or a language model proposes one.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from trueground.benchmarks import get_benchmark
from trueground.components import ComponentSpec
from trueground.errors import InputError, OutputError, UsageError
from trueground.judges import Comparer, ErrorCategory
from trueground.labels import LabelRule, RecordLabel
from trueground.metrics import METRICS
from trueground.options import Progress
from trueground.stats import Bootstrap, mean, sum_counts, variance
from trueground.studies import FinishedRun
from trueground.text import hash_text
from trueground.types import ComparisonRequest, Record, Status, Turn

NAME = "errors.jsonl"
SOURCE = "Adlakha et al. 2023, Figure 3"
_BENCHMARK, _FIGURE, _PREFIX = "instruct-qa", "fig3", "error_category."
# Tasks with the questions of the paper.
_TASKS = tuple(f"{_BENCHMARK}/{name}" for name in ("nq", "hotpotqa", "topiocqa"))
METRIC, LABEL, MODEL, OVERLAP = "f1", "correct", "llm_correctness", "recall"
# A person may also choose a group without a category.
GROUPS = tuple(dict.fromkeys(c.partition("/")[0] for c in ErrorCategory.NAMES if "/" in c))
ALLOWED = (*ErrorCategory.NAMES, *GROUPS)
BATCH_SIZE = 256  # Progress is reported after each batch.
MAX_LISTED_IDS = 3
_NO_GROUP = 0  # Hash of items without a group.
# Fields that identify the answer of a line.
_ANSWER_FIELDS = ("question", "references", "response")
_PROPOSAL_FIELDS = ("proposed", "by", "reason", "evidence", "status", "reply")


class Line(msgspec.Struct, kw_only=True):
    """One item of the file.

    Attributes:
        correct_by: The source that labels the response as correct.
        proposed: The category that a model proposed.
        by: The model that proposed it. None without a proposal; `status` is `not_applicable` then.
        category: The category that a person gave. It overrides `proposed`.
        reply: The model's raw reply, if `status` isn't `scored`.
        selected: False for an item with a person's category or fields that is no longer a correct
            item with a low score.
    """

    id: str
    question: str | None
    references: list[str]
    response: str
    f1: float | None
    recall: float | None
    correct_by: str
    proposed: str | None
    by: str | None
    reason: str | None
    evidence: str | None = None
    category: str | None = None
    status: Status = Status.SCORED
    reply: str | None = None
    history: list[str] = []
    task: str | None = None
    selected: bool = True
    metric: str = "f1"
    score: float | None = None

    @property
    def counts(self) -> str | None:
        """The effective category: a person's, or else the proposed one."""
        return self.category or self.proposed


# Each line with all its fields, including those that people added.
Lines = list[tuple[Line, dict[str, Any]]]


class _LabeledRecord(msgspec.Struct):
    id: str
    response: str
    question: str | None = None
    history: list[Turn] | None = None
    references: list[str] | None = None
    human: dict[str, float] | None = None
    group: str | None = None


@dataclass
class ErrorSelection:
    """The items of a run to sort into categories.

    Attributes:
        n: The number of items of the run.
        metric: The metric.
        lines: The selected items, without proposals.
        labeled: Score, whether the label is positive, and the hash of the group, for each item
            with a score and a label.
    """

    n: int
    metric: str
    lines: list[Line] = field(default_factory=list)
    labeled: list[tuple[float, bool, int]] = field(default_factory=list)


def read_errors(path: Path) -> dict[str, Any]:
    """Return the counts of a file, which people may have corrected.

    Raises:
        InputError: The file can't be read.
    """
    return {"file": str(path), **count_categories([line for line, _ in _read_lines(path)])}


def read_selected(path: Path) -> list[dict[str, Any]]:
    """Return the selected lines of a file, each with its effective category as `counts`."""
    lines = [line for line, _ in _read_lines(path) if line.selected]
    return [msgspec.to_builtins(line) | {"counts": line.counts} for line in lines]


def select_errors(path: Path, *, metric: str, at_most: float, label: str) -> ErrorSelection:
    """Select the items of a run that have a low score although their label is positive.

    For the label `correct`, items without a human label use the score of a language model, or else
    a recall of 1.

    Args:
        path: The finished run.
        metric: The metric.
        at_most: The highest score to select.
        label: The human label.

    Raises:
        InputError: The run isn't finished, or lacks records, the metric, or labels.
        UsageError: Lower is better for the metric, or its name is ambiguous.
    """
    run = FinishedRun.open(path)
    key = _find_metric(run, metric)
    if METRICS.higher_is_better(key) is False:
        raise UsageError(f"lower is better for {key}. Choose a metric for which higher is better")
    run.files.check_records()
    keys: dict[str, str | None] = {}
    for name in (METRIC, OVERLAP, MODEL):
        variants = run.metrics_named(name)
        keys[name] = variants[0] if len(variants) == 1 else None
    columns = list(dict.fromkeys([key, *filter(None, keys.values())]))
    selection = ErrorSelection(0, key)
    rule, decided = LabelRule(label), False
    for record, numbers in run.iter_scored(_LabeledRecord, columns):
        selection.n += 1
        values = {k: None if np.isnan(v) else v for k, v in zip(columns, numbers, strict=True)}
        score = values[key]
        f1 = _value_of(values, keys[METRIC])
        recall = _value_of(values, keys[OVERLAP])
        judged = _value_of(values, keys[MODEL])
        human_label = rule.read(Record(id=record.id, response="", human=record.human))
        by = None
        if isinstance(human_label, RecordLabel):
            decided = True
            positive = rule.is_positive(human_label.value)
            by = f"human.{label}" if positive else None
            if score is not None:
                group = _NO_GROUP if record.group is None else hash_text(record.group)
                selection.labeled.append((score, positive, group))
        elif human_label != LabelRule.TIED and label == LABEL:
            # The model's score has priority over recall.
            decided |= judged is not None or bool(keys[OVERLAP])
            if judged is not None:
                by = MODEL if judged == 1 else None
            elif recall == 1:
                by = OVERLAP
        if by and score is not None and score <= at_most:
            turns = record.history or ()
            line = Line(
                id=record.id,
                question=record.question,
                references=record.references or [],
                response=record.response,
                metric=key,
                score=score,
                f1=f1,
                recall=recall,
                correct_by=by,
                **dict.fromkeys(("proposed", "by", "reason")),  # type: ignore[arg-type]
                status=Status.NOT_APPLICABLE,
                history=[f"{t.role}: {t.content}" if t.role else t.content for t in turns],
                task=run.task,
            )
            selection.lines.append(line)
    if not decided and selection.n:
        message = f"{path}: cannot find out which items are {label}: no record has human.{label}"
        if label == LABEL:
            message += ", and the run has no recall. Score with --metrics f1,recall"
        else:
            message += ". Choose another --label"
        raise InputError(message)
    return selection


def _value_of(values: Mapping[str, float | None], key: str | None) -> float | None:
    return None if key is None else values[key]


def _find_metric(run: FinishedRun, name: str) -> str:
    variants = run.metrics_named(name)
    if len(variants) == 1:
        return variants[0]
    if variants:
        raise UsageError(
            f"{run.path} has {len(variants)} metrics named {name}: {', '.join(variants)}. Choose "
            "one with --metric"
        )
    raise InputError(
        f"{run.path} has no {name}; it has {', '.join(run.signatures) or 'no metrics'}. Score with "
        f"--metrics {name},recall (and others), or run the benchmark with them"
    )


def parse_proposer(text: str, cache: bool) -> ComponentSpec:
    """Parse a proposer, such as `llm:MODEL`. Raise UsageError for anything else."""
    spec = ComponentSpec.parse("proposer", text, cache=cache)
    if spec.name != "llm":
        raise UsageError(
            f'unknown proposer {spec.name!r}; expected "llm:MODEL(base_url=URL)". Leave '
            "--proposer out to fill in the categories by hand"
        )
    if spec.model is None:
        raise UsageError('the proposer llm needs a model. Write "llm:MODEL(base_url=URL)"')
    return spec


def propose_categories(lines: Sequence[Line], spec: ComponentSpec, progress: Progress) -> None:
    """Let a language model propose a category for each line."""
    comparer = Comparer.make("error-category", spec, cache=spec.cache)
    with closing(comparer):
        for start in range(0, len(lines), BATCH_SIZE):
            batch = lines[start : start + BATCH_SIZE]
            requests = [_comparison_request(line) for line in batch]
            for line, result in zip(batch, comparer.answer_once(requests), strict=True):
                line.proposed = (result.detail or {}).get(ErrorCategory.DETAIL)
                line.by = f"llm:{comparer.signature}"
                line.status, line.reply, line.reason = result.status, result.reply, result.reason
            progress("ask", min(start + BATCH_SIZE, len(lines)), len(lines))


def _comparison_request(line: Line) -> ComparisonRequest:
    history = "\n".join(line.history)
    return ComparisonRequest(line.response, tuple(line.references), line.question or "", history)


def _read_lines(path: Path) -> Lines:
    lines: Lines = []
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error
    ids: set[str] = set()
    for number, text in enumerate(data.removeprefix(b"\xef\xbb\xbf").splitlines(), 1):
        if not text.strip():
            continue
        try:
            fields = msgspec.json.decode(text, type=dict[str, Any])
            line = msgspec.convert(fields, Line)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise InputError(
                f"{path}, line {number}: {error}; expected a line as written by "
                "`trueground errors RUN`. Change only `category`"
            ) from None
        if line.category is not None and line.category not in ALLOWED:
            message = UsageError.unknown_name("category", line.category, ALLOWED)
            raise InputError(f"{path}, line {number} (id {line.id!r}): {message}")
        if line.id in ids:
            raise InputError(f"{path}: the id {line.id!r} occurs twice. Keep one line per id")
        ids.add(line.id)
        lines.append((line, fields))
    return lines


def read_old_lines(path: Path) -> Lines:
    """Return the lines of an earlier file. Raise OutputError if it has other content."""
    if not path.exists():
        return []
    try:
        return _read_lines(path)
    except InputError as error:
        raise OutputError(
            f"{error}. The file was not changed. Fix it, or choose another --out"
        ) from error


def merge_lines(path: Path, lines: Iterable[Line], old: Lines) -> list[dict[str, Any]]:
    """Merge new lines with people's categories and fields, and with earlier proposals.

    Old lines that are not among the new ones are appended if people have edited them.

    Raises:
        OutputError: People have edited the line of an answer that is different in this run.
    """
    before = {line.id: (line, fields) for line, fields in old}
    merged, changed = [], []
    for line in lines:
        fields = msgspec.to_builtins(line)
        if line.id in before:
            previous, old_fields = before.pop(line.id)
            same = all(getattr(line, name) == getattr(previous, name) for name in _ANSWER_FIELDS)
            if not same and _is_edited(previous, old_fields):
                changed.append(line.id)
            if same and line.by is None and previous.by is not None:
                fields |= {
                    name: value for name, value in old_fields.items() if name in _PROPOSAL_FIELDS
                }
            fields |= {name: value for name, value in old_fields.items() if name not in fields}
            fields["category"] = previous.category
        merged.append(fields)
    if changed:
        more = " …" if len(changed) > MAX_LISTED_IDS else ""
        listed = ", ".join(changed[:MAX_LISTED_IDS]) + more
        raise OutputError(
            f"{path} has edits of people for other answers than this run's "
            f"({len(changed):,}: {listed}), so it was not changed. Choose another --out"
        )
    remaining = [fields for line, fields in before.values() if _is_edited(line, fields)]
    return merged + [fields | {"selected": False} for fields in remaining]


def _is_edited(line: Line, fields: Mapping[str, Any]) -> bool:
    """Return whether a person has added a category or fields to a line."""
    return bool(line.category) or not fields.keys() <= set(Line.__struct_fields__)


def compute_by_label(
    labeled: Sequence[tuple[float, bool, int]],
    *,
    at_most: float,
    resamples: int,
    seed: int,
    level: float,
) -> dict[str, Any] | None:
    """Return mean with confidence interval, median and deviation of the metric by label.

    If items name groups, whole groups are resampled. `median` and `sd` have no intervals here; use
    `trueground validate` for these. `table` counts the items by label and by low or high score. The
    result is None without labels.
    """
    if not labeled:
        return None
    scores, positive, groups = map(np.array, zip(*labeled, strict=True))
    lone = groups == _NO_GROUP
    # Each item without a group is a cluster by itself, so it gets a unique number.
    _, codes = np.unique(groups, return_inverse=True)
    clusters = None if lone.all() else np.where(lone, len(groups) + np.arange(len(groups)), codes)
    bootstrap = Bootstrap(resamples, seed, level)
    rows: list[dict[str, Any]] = []
    counts: dict[str, int] = {}
    for label, name, chosen in ((1, "positive", positive), (0, "negative", ~positive)):
        values = scores[chosen]
        low = sum_counts(values <= at_most)
        counts |= {f"{name}_low": low, f"{name}_high": len(values) - low}
        if not len(values):
            continue
        label_clusters = None if clusters is None else clusters[chosen]
        rows.append(
            {
                "label": label,
                "n": len(values),
                "mean": mean(values),
                "ci": bootstrap.intervals(values[:, None], label_clusters)[0],
                "median": float(np.median(values)),
                "sd": math.sqrt(variance(values, ddof=1)) if len(values) > 1 else None,
            }
        )
    settings = {"ci_level": level, "resamples": resamples, "seed": seed}
    return {"rows": rows, "table": counts, **settings}


def count_categories(lines: Sequence[Line]) -> dict[str, Any]:
    """Return counts and shares of the selected items by category and by group.

    If all items are from the paper's datasets, each category also has the paper's share as
    `published`. `without` counts the items without a category, by status.
    """
    chosen = [line for line in lines if line.selected]
    n = len(chosen)
    counts = Counter(line.counts for line in chosen)
    people = [line for line in chosen if line.category]
    paper = bool(chosen) and all((line.task or "").replace("_", "-") in _TASKS for line in chosen)
    shares = figure_3() if paper else {}
    categories: dict[str, dict[str, float | None]] = {}
    for name in _groups_and_categories():
        k = sum(k for c, k in counts.items() if c and (c == name or c.startswith(f"{name}/")))
        categories[name] = {"n": k, "share": k / n if n else None}
        if paper:
            categories[name]["published"] = shares.get(name)
    without = Counter(line.status for line in chosen if line.counts is None)
    return {
        "n": n,
        "categories": categories,
        "without": {Status(s).value: k for s, k in sorted(without.items())},
        "correct_by": dict(sorted(Counter(line.correct_by for line in chosen).items())),
        "by": dict(sorted(Counter(line.by for line in chosen if line.by).items())),
        "corrected": len(people),
        "corrected_as_proposed": sum(line.category == line.proposed for line in people),
        "left_out": len(lines) - n,
        "source": SOURCE if paper else None,
    }


def _groups_and_categories() -> list[str]:
    """Return all categories, each after its group."""
    names: dict[str, None] = {}
    for category in ErrorCategory.NAMES:
        names[category.partition("/")[0]] = None
        names[category] = None
    return list(names)


def figure_3() -> dict[str, float]:
    """Return the paper's shares by category and group, as far as it prints them."""
    tables = get_benchmark(_BENCHMARK).published
    [figure] = [table for table in tables if table.id == _FIGURE]
    return {number.name.removeprefix(_PREFIX): number.value for number in figure.numbers}
