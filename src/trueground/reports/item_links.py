"""Links to single items on the page of a run: only where the page has the item."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterable
from itertools import count
from pathlib import Path
from urllib.parse import quote

import msgspec

from trueground.runs.directory import REPORT

_START, _END = b'<script type="application/json" id="index-%d">', b"</script>"


class _LinkIndex(msgspec.Struct):
    ids: list[str]


def item_links(run_dir: Path, ids: Iterable[str]) -> dict[str, str]:
    """Id → `report.html#item-…`, relative to the run's directory.

    The page itself is asked, since it shows a sample of many items. An id that is not on it has no
    link; without a page, or with one that cannot be read, there is none at all.
    """
    wanted = list(ids)
    there = _on_page(run_dir / REPORT) if wanted else frozenset()
    return {one: f"{REPORT}#item-{quote(one, safe='')}" for one in wanted if one in there}


def _on_page(page: Path) -> frozenset[str]:
    """The ids of the page's index, whose parts stand between the answers' details."""
    found: set[str] = set()
    try:
        with page.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
            end = 0
            for part in count():
                mark = _START % part
                start = text.find(mark, end)
                if start < 0:
                    break
                end = text.find(_END, start)
                index = text[start + len(mark) : end]
                found |= set(msgspec.json.decode(index, type=_LinkIndex).ids)
    except (OSError, ValueError):  # no page, an empty one, or one of another shape
        return frozenset()
    return frozenset(found)


def way_to(run: Path, folder: Path) -> str:
    """What leads from a folder to that of a run, as the start of a link."""
    try:
        way = Path(os.path.relpath(run, folder)).as_posix()
    except ValueError:  # on Windows, on another drive
        return run.absolute().as_uri() + "/"
    # A first part with a colon would be read as a scheme.
    return quote(way if way.startswith(".") else f"./{way}") + "/"
