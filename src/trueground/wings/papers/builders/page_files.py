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
from trueground.wings.papers.builders.pages import Shown, build_page
from trueground.wings.papers.builders.people import read_people

_MAX_SHOWN_BYTES = 4_000_000  # of each file that the page holds


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
    """Write report.html and card.md; the page shows items.jsonl and dropped.jsonl as well.

    `people` are labels that came after the build (people.read_people). Neither file holds a time or
    what was spent: the same build gives the same bytes. Raises InputError (a file that is damaged),
    WriteError.
    """
    items, dropped = (_read_shown(folder / name) for name in (ITEMS, DROPPED))
    page = build_page(summary, manifest, people, items, dropped)
    page.write(folder / REPORT)
    write_bytes(folder / CARD, page.to_markdown().encode("utf-8", "replace"))


def _read_shown(path: Path) -> Shown:
    """What the page shows of a file: every line, or of a long file lines at equal distances."""
    if not path.exists():  # in the folders of older versions
        return Shown()
    try:
        step = max(1, math.ceil(path.stat().st_size / _MAX_SHOWN_BYTES))
        with path.open("rb") as lines:
            return Shown([orjson.loads(line) for line in islice(lines, None, None, step)], step)
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read: {error}; run the build again") from None


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
        raise InputError(f"{path} holds no build; name the --out of a `trueground build`")
    with build_directory(path, str(manifest["builder"])):
        file = path / SUMMARY
        if manifest.get("finished") is None or not file.exists():
            raise InputError(f"the build in {path} is not finished; run its command again first")
        said = None if labels is None else read_people(path, Path(labels))
        try:
            write_build_report(path, orjson.loads(file.read_bytes()), manifest, said)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise InputError(
                f"{file} cannot be shown ({error}); it was changed, or another version wrote it: "
                "run the build again"
            ) from None
    return RenderedReport(path / REPORT, path / CARD, said)
