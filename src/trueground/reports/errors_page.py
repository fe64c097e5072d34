"""Items that people call correct and a metric does not, as one page without script or network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from trueground.reports.item_links import item_links, way_to
from trueground.reports.shell import draw
from trueground.reports.terminal import number
from trueground.runs.directory import check_page_file, replacing

MARK = "trueground-errors-1"  # what tells our pages from other people's files
_NO_CATEGORY = "not sorted"


def check_page(path: Path) -> None:
    """See that the page may be written there, before any work is done.

    An earlier page of errors is replaced, nothing else is. UsageError: the name does not end in
    .html. OutputError: the folder is missing, or closed; another's file.
    """
    check_page_file(path, MARK, overwrite=True, option="--page")


def write_errors(path: Path, found: Mapping[str, Any], items: Sequence[Mapping[str, Any]]) -> None:
    """Draw what `sort_errors` or `read_errors` gives, and the lines of its file. WriteError."""
    with replacing(path) as out:
        out.write(render_errors(found, items, path.parent).encode("utf-8", "replace"))


def render_errors(
    found: Mapping[str, Any], items: Sequence[Mapping[str, Any]], folder: Path | None = None
) -> str:
    """The page; `items` have `counts`, the category that counts.

    Items lead to the page of the run where it has them, relative to `folder`; without it, or with
    the counts of a file alone, there are no links.
    """
    links: dict[str, str] = {}
    if folder is not None and "run" in found:
        run = Path(found["run"])
        start = way_to(run, folder)
        links = {
            id_: start + link
            for id_, link in item_links(run, [item["id"] for item in items]).items()
        }
    groups: dict[str, list[Mapping[str, Any]]] = {name: [] for name in found["categories"]}
    for item in items:
        groups.setdefault(item["counts"] or _NO_CATEGORY, []).append(item)
    view = {
        "by_label": None,
        "label": "correct",
        "metric": items[0]["metric"] if items else "f1",
        "of": None,
        "at_most": None,
        **found,
        "groups": {name: found for name, found in groups.items() if found},
        "links": links,
        "four": number,
        "mark": MARK,
    }
    return draw("errors.html.j2", (), ["report.css"], view)
