"""Compare finished runs over the same items: each later run with the first, item by item."""

# No `from __future__ import annotations`: the command line reads the options here as values.

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from trueground.components import ResultKey
from trueground.errors import UsageError
from trueground.options import (
    DeclaredOption,
    LabelsDrawn,
    Level,
    Option,
    RateLabels,
    Resamples,
    Seed,
    declared_options,
    split_pair,
)

if TYPE_CHECKING:
    from trueground.reports import Page
    from trueground.studies.compare_pair import MetricComparison, PairComparison


_LONGEST_NAME = 24  # of a run, in letters
_LIMIT = DeclaredOption.of("limit", float, 0.0, Option(None, min=0))


def _split(texts: Sequence[str]) -> list[str]:
    from trueground.metrics import METRICS

    return [name for text in texts for name in METRICS.split(text)]


@dataclass(frozen=True)
class ComparedRun:
    """One of the runs, under the name by which it is called here: its folder's, or a letter.

    `notices` are sentences that every page of it must show.
    """

    label: str
    path: str
    n: int
    task: str | None
    model: str | None
    notices: tuple[str, ...] = ()


@dataclass(frozen=True)
class RunComparison:
    """All comparisons. Holm's adjustment is over the one test of every metric of every pair.

    Planning is for a test at `alpha` that finds a difference with probability `power`. `worse` are
    sentences on the metrics that `fail_if_worse` limits, and `page_path` is the page that was
    written.
    """

    runs: tuple[ComparedRun, ...]
    pairs: "tuple[PairComparison, ...]"
    level: float
    resamples: int
    seed: int
    alpha: float
    power: float
    worse: tuple[str, ...] = ()
    page_path: Path | None = None

    def as_dict(self) -> dict[str, Any]:
        """Plain dicts, lists, strings and numbers; `corrected` only where labels were given."""
        raw = dataclasses.asdict(self)
        del raw["worse"], raw["page_path"]
        for pair in raw["pairs"]:
            if not pair["corrected"]:
                del pair["corrected"]
        return raw

    def page(self, places: Sequence[str] | None = None, *, shows_all: bool = False) -> "Page":
        """The page. `places` are what leads to each run; `shows_all`: also of details in texts."""
        from trueground.studies.comparison_pages import comparison_page

        return comparison_page(self.as_dict(), places=places, shows_all=shows_all)

    def find_worse(self, limits: Mapping[str, float]) -> list[str]:
        """A sentence for each metric on which a later run is surely worse by more than its limit.

        It is sure where the whole interval lies beyond the limit, and the metric's own test, if it
        has one, is significant at `alpha`; not to know is worse too. UsageError: a metric that was
        not compared.
        """
        found = []
        for pair in self.pairs:
            for name, limit in limits.items():
                if len(near := ResultKey.find(name, tuple(pair.metrics))) != 1:
                    what = "several metrics have that name" if near else "it was not compared"
                    names = ", ".join(pair.metrics)
                    raise UsageError(f"--fail-if-worse {name}: {what}; name one of {names}")
                metric = pair.metrics[near[0]]
                if why := _surely_worse(metric, limit, self.alpha):
                    found.append(f"{pair.b} against {pair.a}, {near[0]}: {why}")
        return found


def _surely_worse(metric: "MetricComparison", limit: float, alpha: float) -> str | None:
    result = metric.result
    if result.difference is None:
        return "no item is scored in both, so nothing is known"
    sign = -1.0 if metric.higher_is_better else 1.0
    loss, ends = sign * result.difference, [sign * end for end in result.ci or ()]
    tested = result.p is None or result.p <= alpha
    if min([loss, *ends]) <= limit or not tested:
        return None
    interval = f" [{min(ends):.4f}, {max(ends):.4f}]" if ends else ""
    return f"worse by {loss:.4f}{interval}; {limit:g} is allowed"


def compare(
    paths: Sequence[str | Path],
    *,
    metrics: Annotated[
        str | Sequence[str] | None,
        Option(
            ("Metrics, comma-separated. Default: all that both runs have. Repeatable."),
            type=list[str] | None,
            parse=_split,
        ),
    ] = None,
    seed: Seed = 0,
    resamples: Resamples = 2_000,
    level: Level = 0.95,
    allow_mismatch: Annotated[
        bool,
        Option("Compare common items even if items, questions, signatures or tasks differ."),
    ] = False,
    flips: Annotated[
        int, Option("Maximum number of won and lost items listed per metric.", min=0)
    ] = 20,
    power: Annotated[
        float,
        Option(
            "Statistical power, from 0.5 to 1, for sample sizes.",
            min=0.5,
            max=1,
            below=True,
        ),
    ] = 0.8,
    detect: Annotated[
        Sequence[float],
        Option(
            (
                "Show how many items you need to detect this difference (0.02 is 2 "
                "points, the default). Repeatable."
            ),
            type=list[float] | None,
        ),
    ] = (0.02,),
    labels: RateLabels = (),
    labels_drawn: LabelsDrawn = None,
    fail_if_worse: Annotated[
        Sequence[str],
        Option(
            (
                "Exit 1 if a later run is significantly worse by more than X (default "
                "0). Repeatable."
            ),
            type=list[str] | None,
        ),
    ] = (),
    out: Annotated[Path | None, Option("Write a report page: a folder or FILE.html.")] = None,
) -> RunComparison:
    """Compare run directories: every later one with the first, item by item.

    `metrics` are names or one comma-separated text; without them, all that both runs have. `flips`
    is the most changed items to name per metric and direction. For the differences `detect`, and
    the one found, it is told how many items a test at 1 − `level` needs to find them with
    probability `power`. `labels` are files with people's labels of the runs' answers: one for each
    run, or each line tells of which run it is; `corrected` of a pair has the differences that
    people would see. `worse` of the result has a sentence for each metric of `fail_if_worse`
    (METRIC or METRIC=X) on which a later run is surely worse by more than X. With `out`, a folder
    or FILE.html, a page is written. Raises UsageError for options, for
    the same run twice and, unless `allow_mismatch`, where items, questions, signatures or tasks
    differ; InputError for a run that is not finished or cannot be read; OutputError, WriteError.
    """
    from dataclasses import replace
    from itertools import chain

    import numpy as np

    from trueground.files import OutputPath
    from trueground.studies.compare_pair import CompareOptions, adjust, compare_pair
    from trueground.studies.comparison_pages import COMPARISON_MARK, write_comparison
    from trueground.studies.finished import FinishedRun, with_questions
    from trueground.studies.pairing import Side, align, common_metrics
    from trueground.studies.run_level import columns_for

    limits = parse_limits(fail_if_worse)
    page_path = None if out is None else OutputPath(out).find_page(COMPARISON_MARK)
    declared_options(compare).check(
        {"resamples": resamples, "seed": seed, "level": level, "flips": flips, "power": power}
    )
    detect = tuple(dict.fromkeys(detect))
    options = CompareOptions(resamples, seed, level, allow_mismatch, flips, power, detect)
    runs = with_questions([FinishedRun.open(Path(path)) for path in paths])
    if len(runs) < 2:
        raise UsageError(f"{len(runs)} run was given; name two or more run directories")
    folders = [run.path.resolve() for run in runs]
    if twice := next(
        (r for r, at in zip(runs, folders, strict=True) if folders.count(at) > 1), None
    ):
        raise UsageError(f"{twice.path} is given twice; name different run directories")
    called = _name_runs([run.path for run in runs])
    first, others = runs[0], runs[1:]
    wanted = _split([metrics]) if isinstance(metrics, str) else metrics
    names = [common_metrics(first, run, wanted) for run in others]
    needed = [
        columns_for(chosen, [key for key in first.signatures if key in run.signatures])
        for chosen, run in zip(names, others, strict=True)
    ]
    options = replace(options, tests=sum(map(len, names)))
    every = tuple(dict.fromkeys(chain.from_iterable(needed)))
    of_people = None
    if labels:
        from trueground.studies.compare_labels import RunLabels

        of_people = RunLabels(labels, labels_drawn, runs, called)
    first_scores = first.read_scores(every)
    sizes, pairs = [len(first_scores.ids)], []
    for label, run, chosen, columns in zip(called[1:], others, names, needed, strict=True):
        scores = run.read_scores(columns)
        mine = first_scores.of([every.index(metric) for metric in columns])
        a = Side(called[0], first, np.arange(len(mine.ids)), mine)
        b = Side(label, run, np.arange(len(scores.ids)), scores)
        aligned = align(a, b, columns)
        pair = compare_pair(aligned, columns, chosen, options)
        pairs.append(of_people.add_to(pair, aligned, columns, level) if of_people else pair)
        sizes.append(len(scores.ids))
    adjusted = adjust(pairs, options.alpha)
    compared = (
        ComparedRun(name, str(run.path), n, run.task, run.model, run.notices)
        for name, run, n in zip(called, runs, sizes, strict=True)
    )
    comparison = RunComparison(
        tuple(compared), adjusted, level, resamples, seed, options.alpha, power
    )
    worse = comparison.find_worse(limits)
    if page_path is not None:
        write_comparison(page_path, comparison.as_dict())
    return replace(comparison, worse=tuple(worse), page_path=page_path)


def _name_runs(paths: Sequence[Path]) -> list[str]:
    """The folders' names, with as much of their paths as tells them apart; letters for long ones.

    The time in front of a name that trueground gave is left out where the rest does that.
    """
    import re

    parts = [path.resolve().parts for path in paths]
    untimed = [re.sub(r"^\d{8}T\d{6}Z-", "", own[-1]) for own in parts]
    tails = (["/".join(own[-k:]) for own in parts] for k in range(1, max(map(len, parts)) + 1))
    for names in (untimed, *tails):
        if len(set(names)) == len(names):
            if all(name.isprintable() and 0 < len(name) <= _LONGEST_NAME for name in names):
                return names
            break
    return [chr(ord("A") + i) if i < 26 else f"R{i + 1}" for i in range(len(paths))]


def parse_limits(texts: Sequence[str]) -> dict[str, float]:
    """Return how much worse each metric may be, of `support=0.01` or `support`. UsageError."""
    form = "METRIC or METRIC=X, X a number of 0 or more, as in support=0.01"
    limits: dict[str, float] = {}
    for text in texts:
        has_limit = "=" in text and ")" not in text.rpartition("=")[2]  # else that of an option
        spec = text if has_limit else f"{text}=0"
        name, number = split_pair("--fail-if-worse", spec, form, last=True)
        try:
            limits[name] = _LIMIT.parse(number)
        except ValueError:
            raise UsageError(f"--fail-if-worse {text!r} cannot be read; write {form}") from None
    return limits
