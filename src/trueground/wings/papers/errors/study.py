"""Sort correct answers with a low score into categories of Adlakha et al. 2023, section 4.2."""

from pathlib import Path
from typing import Annotated, Any

from trueground.options import (
    Cache,
    Level,
    Option,
    Progress,
    Resamples,
    Seed,
    declared_options,
    do_nothing,
)


def sort_errors(
    run: Path,
    *,
    proposer: Annotated[
        str | None, Option("Model that proposes categories: llm:MODEL. Default: none.")
    ] = None,
    out: Annotated[
        Path | None, Option("JSONL file of items to write. Default: errors.jsonl in the run.")
    ] = None,
    metric: Annotated[
        str, Option("Metric to analyze, as named in the run. Default: f1.", type=str | None)
    ] = "f1",
    at_most: Annotated[
        float,
        Option(
            "Select items whose metric is at most this. Default: 0.3.",
            "--at-most",
            "--max-f1",
            type=float | None,
        ),
    ] = 0.3,
    label: Annotated[
        str,
        Option("Human label that marks correct answers. Default: correct.", type=str | None),
    ] = "correct",
    seed: Seed = 0,
    resamples: Resamples = 2_000,
    level: Level = 0.95,
    cache: Cache = True,
    progress: Progress = do_nothing,
) -> dict[str, Any]:
    """Select correct items with a low score, and write them to a file for sorting.

    Categories that people have added to an existing file are kept, and so are earlier proposals
    for the same answers.

    Args:
        run: The finished run.
        proposer: The model that proposes categories, `llm:MODEL(option=value)`. None: no proposals.
        out: The file. None: errors.jsonl in the run.
        metric: The metric.
        at_most: The highest score to select.
        label: The human label of correct items. See `select_errors` for items without it.
        seed: The seed of the bootstrap.
        resamples: The number of bootstrap resamples.
        level: The confidence level of the intervals.
        cache: Whether to use and keep cached replies.
        progress: Receives the progress.

    Returns:
        The counts by category and the metric by label, as JSON values.

    Raises:
        InputError: The run lacks the metric or labels.
        OutputError: The file has other content.
        UnreachableError: The model can't be reached.
        UsageError: An option is invalid.
        WriteError: The file can't be written.
    """
    from math import isfinite

    import msgspec
    import orjson

    from trueground.components import ResultKey
    from trueground.errors import UsageError
    from trueground.files import OutputPath
    from trueground.wings.papers.errors.lines import (
        METRIC,
        NAME,
        Line,
        compute_by_label,
        count_categories,
        merge_lines,
        parse_proposer,
        propose_categories,
        read_old_lines,
        select_errors,
    )

    if ResultKey.parse(metric).name == METRIC and not 0 <= at_most <= 1:
        raise UsageError(f"at_most={at_most!r}; expected a number from 0 to 1")
    if not isfinite(at_most):
        raise UsageError(f"at_most={at_most!r}; expected a number")
    bootstrap_options: dict[str, Any] = {"resamples": resamples, "seed": seed, "level": level}
    declared_options(sort_errors).check(bootstrap_options)
    spec = None if proposer is None else parse_proposer(proposer, cache)
    path = run / NAME if out is None else out
    selection = select_errors(run, metric=metric, at_most=at_most, label=label)
    OutputPath(path).check_file(NAME)
    old = read_old_lines(path)
    # Merge before calls that cost money, so that conflicts are found first.
    rows = merge_lines(path, selection.lines, old)
    if spec is not None:
        propose_categories(selection.lines, spec, progress)
        rows = merge_lines(path, selection.lines, old)
    with OutputPath(path).replacing() as file:
        file.writelines(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE) for row in rows)
    return {
        "file": str(path),
        "run": str(run),
        "of": selection.n,
        "metric": selection.metric,
        "at_most": at_most,
        "label": label,
        "by_label": compute_by_label(selection.labeled, at_most=at_most, **bootstrap_options),
        **count_categories(msgspec.convert(rows, list[Line])),
    }
