"""A run directory → report.html: one file that opens from disk and asks nothing of the network."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

import msgspec
from markupsafe import Markup

from trueground.errors import InputError, UsageError
from trueground.reports import noise
from trueground.reports.items import write_items
from trueground.reports.selection import choose_items, headline_metric, read_numbers
from trueground.reports.shell import draw
from trueground.reports.verdicts import first_judge
from trueground.reports.view import page_view
from trueground.runs.directory import ITEMS, MANIFEST, RECORDS, REPORT, SUMMARY, replacing

# Escaped text cannot contain this: the template alone can write it.
_DATA_MARK = "<!-- data -->"
_SCRIPTS = ("graph.js", "citations.js", "report.js")
_STYLES = ("report.css", "citations.css", "noise.css")


def write_page(run_dir: Path, *, max_items: int = 20_000, seed: int = 0) -> Path:
    """Draw the page of a finished run and return its path.

    Reads the run directory only; beyond `max_items` items the page shows a seeded sample plus the
    worst, and says so. The same files give the same bytes. Raises InputError for files that are
    missing or unreadable, UsageError for a negative `max_items`, WriteError where the page cannot
    be written.
    """
    if max_items < 0:
        raise UsageError(f"max_items is {max_items}; expected 0 or more.")
    summary, manifest = _read_json(run_dir, SUMMARY), _read_json(run_dir, MANIFEST)
    with read_numbers(run_dir / ITEMS) as numbers:
        order = [name for name in summary.get("metrics") or {} if name in numbers]
        metrics = order + sorted(numbers.keys() - set(order))
        headline = headline_metric(metrics)
        values = numbers[headline] if headline else None
        selection = choose_items(values, numbers.count, metric=headline, limit=max_items, seed=seed)
        view = page_view(summary, manifest, numbers)
    view |= {
        "headline": headline,
        "first": _first(summary, manifest, metrics, headline),
        "statement": selection.statement(),
        "shown": len(selection.rows),
        "has_records": (run_dir / RECORDS).exists(),
        "noise": noise.view(summary, manifest, run_dir, headline),
    }
    view["data"] = Markup(_DATA_MARK)
    drawn = draw("report.html.j2", _SCRIPTS, _STYLES, view)
    before, _, after = drawn.partition(_DATA_MARK)
    fields = list(dict.fromkeys([*(summary.get("by") or {}), "model"]))

    path = run_dir / REPORT
    with replacing(path) as out:
        out.write(before.encode())
        judge = first_judge(manifest)
        write_items(out, run_dir, selection, metrics=metrics, fields=fields, judge=judge)
        out.write(after.encode())
    return path


def _first(
    summary: dict[str, Any], manifest: dict[str, Any], of_items: Collection[str], other: str | None
) -> str | None:
    """The metric that leads the table: the task's own where it is a number of the whole run."""
    ranked = str((manifest.get("benchmark") or {}).get("headline"))
    known = ranked in (summary.get("metrics") or {})
    return ranked if known and ranked not in of_items else other


def _read_json(run_dir: Path, name: str) -> dict[str, Any]:
    path = run_dir / name
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
    except FileNotFoundError as error:
        raise InputError(f"{path}: not found. Is {run_dir} a finished run directory?") from error
    except msgspec.DecodeError as error:
        raise InputError(f"{path}: not readable ({error}). Score again.") from error
