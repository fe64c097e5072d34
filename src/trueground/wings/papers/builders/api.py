"""`tg.build`: build, then render.

`trueground.reports` is imported when a page is written, so that bad input fails fast.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trueground.wings.papers.builders.settings import BuildRequest, BuildSettings

if TYPE_CHECKING:
    from trueground.models import ChatModel
    from trueground.wings.papers.builders.build import Built


def build(
    builder: str,
    sources: str | Path | Sequence[str | Path],
    out: str | Path,
    *,
    models: Mapping[str, str | ChatModel],
    options: Mapping[str, str | bool | None] | None = None,
    settings: BuildSettings | None = None,
) -> Built:
    """Build a benchmark from your own sources.

    If a build was interrupted, the same call resumes it. If it is finished, the same call repeats
    only what changed. You can call this function while an event loop is running.

    Args:
        builder: The name of the builder: "contexts", "grounding" or "kalma".
        sources: Your files and folders.
        out: The folder of the build.
        models: A model per role: a name as for `trueground run --model`, with options in
            parentheses, or a ChatModel.
        options: The options of the builder, by their names on the command line.
        settings: The settings that all builders share.

    Returns:
        The folder of the build, the number of items and its summary.

    Raises:
        UsageError: An option or a model is invalid.
        InputError: A source can't be read.
        OutputError: The folder has other files, or another process uses it.
        CoverageError: Too many calls failed.
        UnreachableError: No call reaches a model.
        RunInterrupted: The user pressed Ctrl-C.
        WriteError: Writing a file failed.

    Example:
        >>> models = {"writer": "gpt-4o", "judge": "gpt-4o-mini"}
        >>> tg.build("contexts", "records.jsonl", "built", models=models)  # doctest: +SKIP
    """
    from trueground.wings.papers.builders.build import run_build

    request = BuildRequest(
        builder,
        sources,
        out,
        models=models,
        options=options,
        settings=settings or BuildSettings(),
    )
    return run_build(request, write_report)


def write_report(folder: Path, summary: Mapping[str, Any], manifest: Mapping[str, Any]) -> None:
    """Write the page and the data card of a build; see `ReportWriter`."""
    from trueground.wings.papers.builders.page_files import write_build_report

    write_build_report(folder, summary, manifest)
