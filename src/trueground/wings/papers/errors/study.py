"""Correct answers with a low score, sorted by why: `sort_errors`.

Source of the categories: Adlakha et al. 2023, section 4.2 (an F1 of at most 0.3, correct by
people's labels); any other metric, threshold and label is taken in the same way.
"""

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
    """Select the correct items with a low score, write them to the file, return its counts.

    `proposer` is `llm:MODEL(option=value)`, which proposes a category for each; None: nobody does,
    and what was proposed for the same answers earlier stays. The file (default: errors.jsonl in the
    run) keeps the categories that people gave. The items are those whose `metric` is at most
    `at_most` although the human `label` is positive; see `select_errors` for who else may say so.
    `seed`, `resamples` and `level` are those of the intervals of the metric by label. Raises
    UsageError, InputError for a run without the metric or anything that tells of the label,
    OutputError for a file that is something else, UnreachableError and WriteError.
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
    draws: dict[str, Any] = {"resamples": resamples, "seed": seed, "level": level}
    declared_options(sort_errors).check(draws)
    part = None if proposer is None else parse_proposer(proposer, cache)
    path = run / NAME if out is None else out
    selection = select_errors(run, metric=metric, at_most=at_most, label=label)
    OutputPath(path).check_file(NAME)
    old = read_old_lines(path)
    rows = merge_lines(path, selection.lines, old)  # also before anything is paid for
    if part is not None:
        propose_categories(selection.lines, part, progress)
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
        "by_label": compute_by_label(selection.labeled, at_most=at_most, **draws),
        **count_categories(msgspec.convert(rows, list[Line])),
    }
