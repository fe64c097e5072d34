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
    """Build a benchmark ("contexts", "grounding", "kalma") of these sources in the folder `out`.

    `models` are those that are asked, by role: names as for `trueground run --model`, with options
    in parentheses, or ChatModels. `options` are the builder's own. A build that was broken off
    goes on where it stopped, and one that is done does again only what changed. May be called where
    an event loop runs.

    Raises UsageError, InputError, OutputError, UnreachableError, RunInterrupted and WriteError.
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
