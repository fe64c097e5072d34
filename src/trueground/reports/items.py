"""What pages say about the items of a run: gaps in its files, claims, links to items."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import quote

from trueground.runs import Gaps, RunFiles
from trueground.text import several


def gap_notices(gaps: Gaps, listed: int, n: int | None) -> list[str]:
    """Return what a page says about answers that can't be read.

    Args:
        gaps: What can't be read.
        listed: Number of answers on the page.
        n: Number of answers of the run, if that is known.
    """
    sentences = []
    if gaps.items:
        lines = f"{several(gaps.items, 'line')} of {RunFiles.ITEMS_NAME} cannot be read"
        sentences.append(f"{lines}: {_name_first(gaps.item_places, gaps.items)}.")
    if n is not None and listed < n:
        if listed + gaps.items < n:
            sentences.append(f"{RunFiles.ITEMS_NAME} ends after line {listed + gaps.items:,}.")
        are = "is" if n - listed == 1 else "are"
        sentences.insert(0, f"{n - listed:,} of {n:,} answers {are} missing from the list:")
    if gaps.records:
        stand = "answer stands" if gaps.records == 1 else "answers stand"
        files = f"{RunFiles.ITEMS_NAME} and {RunFiles.RECORDS_NAME}"
        sentences.append(
            f"{gaps.records:,} {stand} here without question and passages, by {files}: "
            f"{_name_first(gaps.record_places, gaps.records)}."
        )
    return [" ".join([*sentences, "Score again to have all."])] if sentences else []


def _name_first(places: list[str], n: int) -> str:
    return "; ".join(places) + (f"; and {n - len(places):,} more" if n > len(places) else "")


def item_links(run_dir: Path, ids: Iterable[str]) -> dict[str, str]:
    """Id → `report.html#item-…`, relative to the run's directory; none where it has no page."""
    page = RunFiles(run_dir).page
    if not page.is_file():
        return {}
    return {one: f"{page.name}#item-{quote(one, safe='')}" for one in ids}


def way_to(run: Path, folder: Path) -> str:
    """What leads from a folder to that of a run, as the start of a link."""
    try:
        way = Path(os.path.relpath(run, folder)).as_posix()
    except ValueError:  # on Windows, on another drive
        return run.absolute().as_uri() + "/"
    # A first part with a colon would be read as a scheme.
    return quote(way if way.startswith(".") else f"./{way}") + "/"
