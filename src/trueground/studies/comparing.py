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


_MAX_NAME_LENGTH = 24  # letters of a run's name; longer ones become A, B, C
_LIMIT = DeclaredOption.of("limit", float, 0.0, Option(None, min=0))


def _split(texts: Sequence[str]) -> list[str]:
    from trueground.metrics import METRICS

    names: list[str] = []
    for text in texts:
        names += METRICS.split(text)
    return names


@dataclass(frozen=True)
class ComparedRun:
    """One of the compared runs.

    Attributes:
        label: The run's name in this comparison: its folder's name, or a letter.
        notices: Sentences that every page about this run must show.
    """

    label: str
    path: str
    n: int
    task: str | None
    model: str | None
    notices: tuple[str, ...] = ()


@dataclass(frozen=True)
class RunComparison:
    """Each later run compared with the first.

    Holm's adjustment counts one test for each metric of each pair.

    Attributes:
        alpha: Significance level that tests and planning use.
        power: Probability with which a planned test finds the difference.
        worse: One sentence for each metric that exceeds its limit in `fail_if_worse`.
        page_path: The page that was written, if any.
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
        """Return plain JSON types, with `corrected` only if there are labels."""
        raw = dataclasses.asdict(self)
        del raw["worse"], raw["page_path"]
        for pair in raw["pairs"]:
            if not pair["corrected"]:
                del pair["corrected"]
        return raw

    def page(self, places: Sequence[str] | None = None, *, shows_all: bool = False) -> "Page":
        """Return the comparison as a page.

        Args:
            places: A link to each run, if its path isn't one.
            shows_all: Whether text output has all statistics and items, too.
        """
        from trueground.studies.comparison_pages import comparison_page

        return comparison_page(self.as_dict(), places=places, shows_all=shows_all)

    def find_worse(self, limits: Mapping[str, float]) -> list[str]:
        """Return a sentence for each metric on which a later run is worse.

        A run is worse if the whole interval is beyond the limit and the metric's test, if it has
        one, is significant at `alpha`. A metric without common scored items counts as worse.

        Raises:
            UsageError: A metric wasn't compared.
        """
        sentences = []
        for pair in self.pairs:
            for name, limit in limits.items():
                matches = ResultKey.find(name, tuple(pair.metrics))
                if len(matches) != 1:
                    problem = "several metrics have that name" if matches else "it was not compared"
                    names = ", ".join(pair.metrics)
                    raise UsageError(f"--fail-if-worse {name}: {problem}; name one of {names}")
                metric = pair.metrics[matches[0]]
                reason = _surely_worse(metric, limit, self.alpha)
                if reason:
                    sentences.append(f"{pair.b} against {pair.a}, {matches[0]}: {reason}")
        return sentences


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
            "Show how many items you need to detect this difference (0.02 is 2 "
            "points, the default). Repeatable.",
            type=list[float] | None,
        ),
    ] = (0.02,),
    labels: RateLabels = (),
    labels_drawn: LabelsDrawn = None,
    fail_if_worse: Annotated[
        Sequence[str],
        Option(
            "Exit 1 if a later run is significantly worse by more than X (default 0). Repeatable.",
            type=list[str] | None,
            metavar="METRIC[=X]",
        ),
    ] = (),
    out: Annotated[Path | None, Option("Write a report page: a folder or FILE.html.")] = None,
) -> RunComparison:
    """Compare run directories: every later one with the first, item by item.

    Args:
        paths: Two or more run directories.
        metrics: Names, or one comma-separated text. Default: all that both runs have.
        seed: Seed of the bootstrap and the sign-flip test.
        resamples: Number of bootstrap resamples.
        level: Confidence level of the intervals. Tests use 1 − `level`.
        allow_mismatch: Compare the common items although items, questions, signatures or tasks
            differ.
        flips: Maximum of changed items to list per metric and direction.
        power: Probability with which a planned test finds a difference.
        detect: Differences for which to plan the number of items.
        labels: Files with human labels: one for each run, or files whose lines name their run.
            `corrected` of a pair has the differences that people would see.
        labels_drawn: "random" if the labeled items were sampled at random.
        fail_if_worse: METRIC or METRIC=X. `worse` of the result has a sentence for each metric
            on which a later run is worse by more than X.
        out: Folder or FILE.html of the page to write.

    Returns:
        The comparison of each later run with the first.

    Raises:
        UsageError: Invalid options, the same run twice, or runs that don't match.
        InputError: A run isn't finished or can't be read.
        OutputError: The page can't be written there.
        WriteError: Writing the page failed.
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
    for run, folder in zip(runs, folders, strict=True):
        if folders.count(folder) > 1:
            raise UsageError(f"{run.path} is given twice; name different run directories")
    labels_of_runs = _name_runs([run.path for run in runs])
    first, others = runs[0], runs[1:]
    requested = _split([metrics]) if isinstance(metrics, str) else metrics
    names = [common_metrics(first, run, requested) for run in others]
    needed = []
    for chosen, run in zip(names, others, strict=True):
        common = [key for key in first.signatures if key in run.signatures]
        needed.append(columns_for(chosen, common))
    options = replace(options, tests=sum(map(len, names)))
    all_columns = tuple(dict.fromkeys(chain.from_iterable(needed)))
    run_labels = None
    if labels:
        from trueground.studies.compare_labels import RunLabels

        run_labels = RunLabels(labels, labels_drawn, runs, labels_of_runs)
    first_scores = first.read_scores(all_columns)
    sizes, pairs = [len(first_scores.ids)], []
    for label, run, chosen, columns in zip(labels_of_runs[1:], others, names, needed, strict=True):
        scores = run.read_scores(columns)
        scores_a = first_scores.of([all_columns.index(metric) for metric in columns])
        a = Side(labels_of_runs[0], first, np.arange(len(scores_a.ids)), scores_a)
        b = Side(label, run, np.arange(len(scores.ids)), scores)
        aligned = align(a, b, columns)
        pair = compare_pair(aligned, columns, chosen, options)
        pairs.append(run_labels.add_to(pair, aligned, columns, level) if run_labels else pair)
        sizes.append(len(scores.ids))
    adjusted = adjust(pairs, options.alpha)
    compared = []
    for name, run, n in zip(labels_of_runs, runs, sizes, strict=True):
        compared.append(ComparedRun(name, str(run.path), n, run.task, run.model, run.notices))
    comparison = RunComparison(
        tuple(compared), adjusted, level, resamples, seed, options.alpha, power
    )
    worse = comparison.find_worse(limits)
    if page_path is not None:
        write_comparison(page_path, comparison.as_dict())
    return replace(comparison, worse=tuple(worse), page_path=page_path)


def _name_runs(paths: Sequence[Path]) -> list[str]:
    """Return short distinct names: ends of the paths, or letters if these are too long.

    The time at the start of a default folder name is left out if the rest is distinct.
    """
    import re

    parts = [path.resolve().parts for path in paths]
    untimed = [re.sub(r"^\d{8}T\d{6}Z-", "", part[-1]) for part in parts]
    depth = 0
    names = untimed
    while depth <= max(map(len, parts)):
        if len(set(names)) == len(names):
            if all(name.isprintable() and 0 < len(name) <= _MAX_NAME_LENGTH for name in names):
                return names
            break
        depth += 1
        names = ["/".join(part[-depth:]) for part in parts]
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
