"""The report of a build: report.html and card.md in its folder."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from trueground.errors import InputError
from trueground.wings.papers.builders.directory import (
    CARD,
    DROPPED,
    ITEMS,
    REPORT,
    SUMMARY,
    build_directory,
    read_manifest,
    write_bytes,
)
from trueground.wings.papers.builders.pages import RowSample, build_page
from trueground.wings.papers.builders.people import read_people

_MAX_SAMPLE_BYTES = 4_000_000  # of each file that the page includes


class RenderedReport(NamedTuple):
    """The files that were written, and what the human labels show, if there are any."""

    page: Path
    card: Path
    people: dict[str, Any] | None


def write_build_report(
    folder: Path,
    summary: Mapping[str, Any],
    manifest: Mapping[str, Any],
    people: Mapping[str, Any] | None = None,
) -> None:
    """Write report.html and card.md.

    Neither file contains times or costs, so the same build always gives the same bytes.

    Args:
        folder: The folder of the build.
        summary: The content of summary.json.
        manifest: The content of manifest.json.
        people: Human labels that came after the build (people.read_people).

    Raises:
        InputError: items.jsonl or dropped.jsonl is damaged.
        WriteError: Writing failed.
    """
    items = _read_sample(folder / ITEMS)
    dropped = _read_sample(folder / DROPPED)
    page = build_page(summary, manifest, people, items, dropped)
    page.write(folder / REPORT)
    write_bytes(folder / CARD, page.to_markdown().encode("utf-8", "replace"))


def _read_sample(path: Path) -> RowSample:
    """Return every line of a file, or every n-th line of a long file."""
    if not path.exists():  # folders of older versions don't have it
        return RowSample()
    try:
        step = max(1, math.ceil(path.stat().st_size / _MAX_SAMPLE_BYTES))
        with path.open("rb") as lines:
            rows = [orjson.loads(line) for line in islice(lines, None, None, step)]
    except (OSError, ValueError) as error:
        raise InputError(f"{path} can't be read: {error}; run the build again") from None
    return RowSample(rows, step)


def render_again(folder: str | Path, labels: str | Path | None = None) -> RenderedReport:
    """Render report.html and card.md of a finished build again. Nothing else changes.

    Args:
        folder: The folder of the build.
        labels: Merged labels, as `annotate import` writes them. Without labels, the files are the
            same as at the end of the build.

    Raises:
        InputError: The build is unfinished, or the labels can't be used.
        OutputError: Another process uses the folder.
        WriteError: A file can't be written.
    """
    path = Path(folder)
    manifest = read_manifest(path)
    if manifest is None:
        raise InputError(f"{path} has no build; expected the --out of a `trueground build`")
    with build_directory(path, str(manifest["builder"])):
        file = path / SUMMARY
        if manifest.get("finished") is None or not file.exists():
            raise InputError(f"the build in {path} isn't finished; rerun its command first")
        label_counts = None if labels is None else read_people(path, Path(labels))
        try:
            write_build_report(path, orjson.loads(file.read_bytes()), manifest, label_counts)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise InputError(
                f"{file} can't be rendered ({error}). It was changed, or another version wrote it; "
                "run the build again"
            ) from None
    return RenderedReport(path / REPORT, path / CARD, label_counts)
