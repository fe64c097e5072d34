"""Error categories of a run: choose the items, propose, keep what people have corrected, count."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from math import isfinite
from pathlib import Path
from typing import Any

import msgspec

from trueground.errors import InputError, OutputError, UsageError
from trueground.judges.comparing import Comparer, compare, make_comparer
from trueground.judges.comparing.error_category import VALUE
from trueground.plugins import PartSpec, parse_part
from trueground.runs.outfile import check_out_file
from trueground.studies.errors.by_label import Drawn, by_label
from trueground.studies.errors.distribution import distribution
from trueground.studies.errors.file import Line, Read, merge, read_file, write_file
from trueground.studies.errors.records import AT_MOST, LABEL, METRIC, Chosen, Low, choose
from trueground.studies.errors.rules import RULES_NAME, propose
from trueground.types import ComparisonRequest

NAME = "errors.jsonl"
PROPOSERS = ("rules", "llm")
_AT_ONCE = 256  # items, so that progress can be seen
Progress = Callable[[str, int, int | None], None]


def _no_progress(_phase: str, _done: int, _total: int | None) -> None:
    """Nobody watches."""


def sort_errors(
    run: Path,
    *,
    proposer: str = "rules",
    out: Path | None = None,
    metric: str = METRIC,
    at_most: float = AT_MOST,
    label: str = LABEL,
    seed: int = 0,
    resamples: int = 2_000,
    level: float = 0.95,
    cache: bool = True,
    progress: Progress = _no_progress,
) -> dict[str, Any]:
    """Propose a category for each correct item with a low F1, write the file, return its counts.

    `proposer` is `rules` or `llm:MODEL(option=value)`. The file (default: errors.jsonl in the run)
    keeps the categories that people gave. The items are those whose `metric` is at most `at_most`
    although the human `label` is positive; see `choose` for who else may say so. `seed`,
    `resamples` and `level` are those of the intervals of the metric by label. Raises UsageError,
    InputError for a run without the metric or anything that tells of the label, OutputError for a
    file that is something else, UnreachableError and WriteError.
    """
    _check_limit(metric, at_most)
    drawn = Drawn(resamples, seed, level)
    given = _proposer(proposer, cache)
    path = run / NAME if out is None else out
    chosen = choose(run, metric=metric, at_most=at_most, label=label)
    check_out_file(path, NAME)
    old = _old(path)
    merge(path, [_line(low, chosen) for low in chosen.items], old)  # before anything is paid
    lines = list(_by_rules(chosen) if given is None else _by_model(chosen, given, progress))
    rows = merge(path, lines, old)
    write_file(path, rows)
    found = distribution(msgspec.convert(rows, list[Line]))
    told = {
        "file": str(path),
        "run": str(run),
        "of": chosen.n,
        "metric": chosen.metric,
        "at_most": at_most,
        "label": label,
        "by_label": by_label(chosen.people, at_most, drawn),
    }
    return told | found


def read_errors(path: Path) -> dict[str, Any]:
    """The counts of a file that people may have corrected. Raises InputError."""
    return {"file": str(path), **distribution([line for line, _ in read_file(path)])}


def items_of(path: Path) -> list[dict[str, Any]]:
    """The selected lines of a file, each with `counts`, the category that counts."""
    return [
        msgspec.to_builtins(line) | {"counts": line.counts}
        for line, _ in read_file(path)
        if line.selected
    ]


def _proposer(written: str, cache: bool) -> PartSpec | None:
    """The language model that proposes; None for the rules. Raises UsageError."""
    given = parse_part("proposer", written, cache=cache)
    if given.name not in PROPOSERS:
        raise UsageError(
            f"unknown proposer {given.name!r}; it is rules, or a language model as "
            '"llm:MODEL(base_url=URL)"'
        )
    if given.name == "rules":
        given.check((), model=False)
        return None
    if given.model is None:
        raise UsageError('the proposer llm needs a model; write "llm:MODEL(base_url=URL)"')
    return given


def _old(path: Path) -> Read:
    if not path.exists():
        return []
    try:
        return read_file(path)
    except InputError as error:
        raise OutputError(f"{error}. The file stays; fix it, or choose another --out") from error


def _check_limit(metric: str, at_most: float) -> None:
    if metric.partition("(")[0] == METRIC and not 0 <= at_most <= 1:
        raise UsageError(f"at_most={at_most!r}; expected a number from 0 to 1")
    if not isfinite(at_most):
        raise UsageError(f"at_most={at_most!r}; expected a number")


def _line(low: Low, chosen: Chosen) -> Line:
    """The line of an item for which nothing has been proposed yet."""
    record = low.record
    return Line(
        id=record.id,
        question=record.question,
        references=record.references or [],
        response=record.response,
        metric=chosen.metric,
        score=low.score,
        f1=low.f1,
        recall=low.recall,
        correct_by=low.correct_by,
        proposed=None,
        by="",
        reason=None,
        history=[f"{t.role}: {t.content}" if t.role else t.content for t in record.history or ()],
        task=chosen.task,
    )


def _by_rules(chosen: Chosen) -> Iterator[Line]:
    for low in chosen.items:
        line = _line(low, chosen)
        found = propose(line.question or "", line.references, line.response)
        line.proposed, line.reason, line.evidence = found.category, found.reason, found.evidence
        line.by = RULES_NAME
        yield line


def _by_model(chosen: Chosen, given: PartSpec, progress: Progress) -> Iterator[Line]:
    comparer = make_comparer("error-category", given, cache=given.cache)
    lines = [_line(low, chosen) for low in chosen.items]
    with closing(comparer):
        for at in range(0, len(lines), _AT_ONCE):
            yield from _asked(comparer, lines[at : at + _AT_ONCE])
            progress("ask", min(at + _AT_ONCE, len(lines)), len(lines))


def _asked(comparer: Comparer, lines: Sequence[Line]) -> Sequence[Line]:
    requests = [
        ComparisonRequest(
            line.response, tuple(line.references), line.question or "", "\n".join(line.history)
        )
        for line in lines
    ]
    for line, found in zip(lines, compare(comparer, requests), strict=True):
        line.proposed = (found.detail or {}).get(VALUE)
        line.by = f"llm:{comparer.signature}"
        line.status, line.reply, line.reason = found.status, found.reply, found.reason
    return lines
