"""The lines of errors.jsonl: which items they are of, who proposes, what people make of them.

Source of the categories: Adlakha et al. 2023, section 4.2 (an F1 of at most 0.3, correct by
people's labels); any other metric, threshold and label is taken in the same way. A person fills in
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
# The runs whose questions are the paper's.
_TASKS = tuple(f"{_BENCHMARK}/{name}" for name in ("nq", "hotpotqa", "topiocqa"))
METRIC, LABEL, MODEL, OVERLAP = "f1", "correct", "llm_correctness", "recall"
# A person may leave the kind open.
GROUPS = tuple(dict.fromkeys(c.partition("/")[0] for c in ErrorCategory.NAMES if "/" in c))
ALLOWED = (*ErrorCategory.NAMES, *GROUPS)
_AT_ONCE = 256  # items per round of calls, after which progress is shown
_NO_GROUP = 0  # in place of the hash of a group
_SHOWN = 3  # ids that an error names
_ANSWER = ("question", "references", "response")  # fields that say which answer a line is about
_PROPOSAL = ("proposed", "by", "reason", "evidence", "status", "reply")


class Line(msgspec.Struct, kw_only=True):
    """One item. `category` is a person's; while it is null, what was `proposed` counts.

    `by` is who proposed, null where nobody did (`status` is then `not_applicable`); `reply` the
    model's raw reply where `status` is not `scored`. `correct_by` is who found the response
    correct. `selected` is False for an item that a person wrote into, and that is no longer a
    correct one with a low score.
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
        """The category that counts: a person's, else the proposed one."""
        return self.category or self.proposed


Lines = list[tuple[Line, dict[str, Any]]]  # with all fields of the line, people's own too


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
    """The items of a run that are to be sorted, out of `n`, as lines without a proposal.

    `labeled` has (score, whether the label is positive, hash of the group) of each item with both.
    """

    n: int
    metric: str
    lines: list[Line] = field(default_factory=list)
    labeled: list[tuple[float, bool, int]] = field(default_factory=list)


def read_errors(path: Path) -> dict[str, Any]:
    """The counts of a file that people may have corrected. Raises InputError."""
    return {"file": str(path), **count_categories([line for line, _ in _read_lines(path)])}


def read_selected(path: Path) -> list[dict[str, Any]]:
    """The selected lines of a file, each with `counts`, the category that counts."""
    return [
        msgspec.to_builtins(line) | {"counts": line.counts}
        for line, _ in _read_lines(path)
        if line.selected
    ]


# Which items


def select_errors(path: Path, *, metric: str, at_most: float, label: str) -> ErrorSelection:
    """Read a run: items whose `metric` is at most so much, that people call `label`.

    For the label `correct` a language model's score, else a recall of 1, may say so where people do
    not. Raises InputError: no finished run, no records, not that metric, nothing that tells which
    items are correct. UsageError: a metric of which less is better, or several of that name.
    """
    run = FinishedRun.open(path)
    key = _find_metric(run, metric)
    if METRICS.higher_is_better(key) is False:
        raise UsageError(f"{key}: lower is better there; choose a metric of which more is better")
    run.files.check_records()
    near = {name: run.metrics_named(name) for name in (METRIC, OVERLAP, MODEL)}
    keys = {name: of[0] if len(of) == 1 else None for name, of in near.items()}
    columns = list(dict.fromkeys([key, *filter(None, keys.values())]))
    selection = ErrorSelection(0, key)
    rule, decided = LabelRule(label), False
    for record, numbers in run.iter_scored(_LabeledRecord, columns):
        selection.n += 1
        values = {k: None if np.isnan(v) else v for k, v in zip(columns, numbers, strict=True)}
        score, f1, recall, judged = (
            values[k] if k else None for k in (key, keys[METRIC], keys[OVERLAP], keys[MODEL])
        )
        own_label = rule.read(Record(id=record.id, response="", human=record.human))
        by = None
        if isinstance(own_label, RecordLabel):
            decided = True
            positive = rule.is_positive(own_label.value)
            by = f"human.{label}" if positive else None
            if score is not None:
                group = _NO_GROUP if record.group is None else hash_text(record.group)
                selection.labeled.append((score, positive, group))
        elif own_label != LabelRule.TIED and label == LABEL:
            # The first that can say decides; a run with recall has somebody who can.
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
        raise InputError(
            f"{path}: nothing tells which items are {label}: no record has human.{label}"
            + (", and the run has no recall. Score with --metrics f1,recall" if label == LABEL
               else "; choose another --label")
        )  # fmt: skip
    return selection


def _find_metric(run: FinishedRun, name: str) -> str:
    near = run.metrics_named(name)
    if len(near) == 1:
        return near[0]
    if near:
        raise UsageError(
            f"{run.path} has {len(near)} metrics of the name {name}: {', '.join(near)}; name one "
            "of them with --metric"
        )
    raise InputError(
        f"{run.path} has no {name}; it has {', '.join(run.signatures) or 'no metrics'}. Score with "
        f"--metrics {name},recall (and others), or run the benchmark with them"
    )


# Who proposes


def parse_proposer(text: str, cache: bool) -> ComponentSpec:
    part = ComponentSpec.parse("proposer", text, cache=cache)
    if part.name != "llm":
        raise UsageError(
            f"unknown proposer {part.name!r}; it is a language model as "
            '"llm:MODEL(base_url=URL)"; without --proposer people fill in the categories'
        )
    if part.model is None:
        raise UsageError('the proposer llm needs a model; write "llm:MODEL(base_url=URL)"')
    return part


def propose_categories(lines: Sequence[Line], part: ComponentSpec, progress: Progress) -> None:
    """Let a language model propose a category for each line."""
    comparer = Comparer.make("error-category", part, cache=part.cache)
    with closing(comparer):
        for at in range(0, len(lines), _AT_ONCE):
            some = lines[at : at + _AT_ONCE]
            requests = [
                ComparisonRequest(
                    line.response,
                    tuple(line.references),
                    line.question or "",
                    "\n".join(line.history),
                )
                for line in some
            ]
            for line, result in zip(some, comparer.answer_once(requests), strict=True):
                line.proposed = (result.detail or {}).get(ErrorCategory.DETAIL)
                line.by = f"llm:{comparer.signature}"
                line.status, line.reply, line.reason = result.status, result.reply, result.reason
            progress("ask", min(at + _AT_ONCE, len(lines)), len(lines))


# The file


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
                f"{path}, line {number}: {error}; expected a line such as `trueground errors RUN` "
                "writes, with nothing changed but `category`"
            ) from None
        if line.category is not None and line.category not in ALLOWED:
            message = UsageError.unknown_name("category", line.category, ALLOWED)
            raise InputError(f"{path}, line {number} (id {line.id!r}): {message}")
        if line.id in ids:
            raise InputError(f"{path}: the id {line.id!r} comes twice; leave one line of each")
        ids.add(line.id)
        lines.append((line, fields))
    return lines


def read_old_lines(path: Path) -> Lines:
    """The file as it was before. OutputError where it is something else."""
    if not path.exists():
        return []
    try:
        return _read_lines(path)
    except InputError as error:
        raise OutputError(f"{error}. The file stays; fix it, or choose another --out") from error


def merge_lines(path: Path, lines: Iterable[Line], old: Lines) -> list[dict[str, Any]]:
    """The new lines with people's categories and own fields, and with earlier proposals.

    Lines that are not among the new ones come last, where people wrote something into them.
    OutputError where they wrote of another answer than the one that stands there now.
    """
    before = {line.id: (line, fields) for line, fields in old}
    merged, changed = [], []
    for line in lines:
        fields = msgspec.to_builtins(line)
        if line.id in before:
            previous, own = before.pop(line.id)
            same = all(getattr(line, name) == getattr(previous, name) for name in _ANSWER)
            if not same and _is_touched(previous, own):
                changed.append(line.id)
            if same and line.by is None and previous.by is not None:
                fields |= {name: value for name, value in own.items() if name in _PROPOSAL}
            fields |= {name: value for name, value in own.items() if name not in fields}
            fields["category"] = previous.category
        merged.append(fields)
    if changed:
        shown = ", ".join(changed[:_SHOWN]) + (" …" if len(changed) > _SHOWN else "")
        raise OutputError(
            f"{path} holds what people wrote of other answers than this run's "
            f"({len(changed):,}: {shown}), so it stays as it is; choose another --out"
        )
    left = [own for line, own in before.values() if _is_touched(line, own)]
    return merged + [own | {"selected": False} for own in left]


def _is_touched(line: Line, fields: Mapping[str, Any]) -> bool:
    """Whether a person gave a category, or a field that is not ours."""
    return bool(line.category) or not fields.keys() <= set(Line.__struct_fields__)


# What they come to


def compute_by_label(
    labeled: Sequence[tuple[float, bool, int]],
    *,
    at_most: float,
    resamples: int,
    seed: int,
    level: float,
) -> dict[str, Any] | None:
    """Mean with its interval, median and deviation of the metric by label; None without labels.

    Where items name groups, whole groups are resampled. `median` and `sd` are plain: `trueground
    validate` gives them intervals. `table` counts the items by label and by whether they are low.
    """
    if not labeled:
        return None
    scores, positive, groups = map(np.array, zip(*labeled, strict=True))
    lone = groups == _NO_GROUP
    # An item without a group is one of its own: it gets a number that no other has.
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
        mine = None if clusters is None else clusters[chosen]
        rows.append(
            {
                "label": label,
                "n": len(values),
                "mean": mean(values),
                "ci": bootstrap.intervals(values[:, None], mine)[0],
                "median": float(np.median(values)),
                "sd": math.sqrt(variance(values, ddof=1)) if len(values) > 1 else None,
            }
        )
    drawn = {"ci_level": level, "resamples": resamples, "seed": seed}
    return {"rows": rows, "table": counts, **drawn}


def count_categories(lines: Sequence[Line]) -> dict[str, Any]:
    """Counts and shares by category and by group, over the items that are selected.

    `published`, a share too, stands beside them where all items are of the paper's datasets.
    `without` counts the items without a category, by status.
    """
    chosen = [line for line in lines if line.selected]
    n = len(chosen)
    counts = Counter(line.counts for line in chosen)
    people = [line for line in chosen if line.category]
    paper = bool(chosen) and all((line.task or "").replace("_", "-") in _TASKS for line in chosen)
    shares = figure_3() if paper else {}
    categories: dict[str, dict[str, float | None]] = {}
    # Every category stands after its group.
    for name in dict.fromkeys(x for c in ErrorCategory.NAMES for x in (c.partition("/")[0], c)):
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


def figure_3() -> dict[str, float]:
    """The paper's shares by category and group; it prints none for the others."""
    tables = get_benchmark(_BENCHMARK).published
    [figure] = [table for table in tables if table.id == _FIGURE]
    return {one.name.removeprefix(_PREFIX): one.value for one in figure.numbers}
