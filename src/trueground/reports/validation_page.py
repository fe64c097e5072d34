"""A validation as one page that opens from disk and asks nothing of the network."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trueground.reports import validation_said as said
from trueground.reports import validation_tables as tables
from trueground.reports.shell import draw
from trueground.reports.validation_cells import cells, verdict
from trueground.reports.validation_charts import curve, place_x, place_y, spread
from trueground.reports.validation_headline import headline
from trueground.reports.validation_people import estimates, over_pairs, people, preferences
from trueground.reports.validation_worst import worst
from trueground.runs.directory import check_page_file, replacing

MARK = "trueground-validation-1"  # what tells our pages from other people's files
_SCRIPTS = ("leaderboard.js", "validation.js")
_STYLES = ("report.css", "leaderboard.css", "validation.css")


def check_writable(path: Path, overwrite: bool = False) -> None:
    """See that the page may be written there, before any work is done.

    An earlier page of a validation is replaced with `overwrite`, nothing else ever is. UsageError:
    the name does not end in .html. OutputError: the folder is missing or may not be written;
    another's file; an earlier page without `overwrite`.
    """
    check_page_file(path, MARK, overwrite)


def write_validation(path: Path, raw: Mapping[str, Any]) -> None:
    """Draw what `Validation.raw` holds (format trueground-validation-1). Raises WriteError."""
    with replacing(path) as out:
        out.write(render_page(raw).encode("utf-8", "replace"))


def render_page(raw: Mapping[str, Any]) -> str:
    """The page, with style and script inside and their hashes in its policy.

    The script sorts tables, opens what a link points to and changes the theme; the page reads the
    same without it. The same validation gives the same bytes.
    """
    metrics = said.ordered(raw)
    shown = {
        "v": raw,
        "mark": MARK,
        "metrics": metrics,
        "lowers": {m for m, higher in raw["higher_is_better"].items() if not higher},
        "labelled": sum(of_set["n"] for of_set in raw["sets"]),
        "positives": sum(of_set["positives"] for of_set in raw["sets"]),
        "pairs": sum(one["n"] for one in raw["preferences"] or ()),
        "headline": headline(raw),
        "files": [*raw["sets"], *(raw["preferences"] or ())],
        "people": people(raw),
        "over_pairs": over_pairs(raw),
        "same": _same_records(raw),
        "preferences": preferences(raw),
        "over_sets": tables.over_sets(raw, metrics),
        "told": _told(raw),
        "verdict": verdict(raw),
        "beside": [_beside(told) for told in raw["published"]],
        "by_set": [(m, tables.by_set(raw, metrics, m)) for m in _first(tables.measures(raw))],
        "sets": [_set(raw, of_set, number) for number, of_set in enumerate(raw["sets"])],
        "said": said,
        "spread": spread,
        "curve": curve,
        "place_x": place_x,
        "place_y": place_y,
    }
    return draw("validation.html.j2", _SCRIPTS, _STYLES, shown)


def _same_records(raw: Mapping[str, Any]) -> bool:
    """Whether all metrics have a score on equally many records of each set."""
    sets = [{e["n"] for e in one["metrics"].values()} for one in raw["sets"]]
    keys = [set(one["metrics"]) for one in (*raw["sets"], *(raw["preferences"] or ()))]
    for one in raw["preferences"] or ():
        first = (estimates(entry).get(said.PAIRS_FIRST) for entry in one["metrics"].values())
        sets.append({e["n"] for e in first if e})
    return all(len(ns) < 2 for ns in sets) and all(one == keys[0] for one in keys)


def _beside(told: Mapping[str, Any]) -> dict[str, Any]:
    """A paper's table with the numbers of this validation in brackets."""
    measures = list(dict.fromkeys(name for row in told["rows"] for name in row["paper"]))
    rows = [(row["name"], row["judge"], cells(row, measures)) for row in told["rows"]]
    return {**told, "heads": [said.measure(name).title for name in measures], "rows": rows}


def _told(raw: Mapping[str, Any]) -> list[said.Measure]:
    """The measures that stand on the page and of which something is known."""
    of_pairs = [
        name
        for one in raw["preferences"] or ()
        for e in one["metrics"].values()
        for name in estimates(e)
    ]
    names = dict.fromkeys([*tables.measures(raw), *of_pairs])
    return [told for told in map(said.measure, names) if told.words]


def _set(raw: Mapping[str, Any], of_set: Mapping[str, Any], number: int) -> dict[str, Any]:
    """One set: its own order of metrics, its table, and what to read of it."""
    only = {**raw, "sets": [of_set]}
    metrics = [m for m in said.ordered(only) if m in of_set["metrics"]]
    values = {m: said.of(of_set["metrics"][m], said.FIRST)["value"] for m in metrics}
    most = max((value for value in values.values() if value is not None), default=None)
    read = worst(of_set, number, len(raw["sets"]))
    return {
        "raw": of_set,
        "metrics": [(m, of_set["metrics"][m]) for m in metrics],
        "best": [
            m for m in metrics if most is not None and said.four(values[m]) == said.four(most)
        ],
        "highest": most,
        "table": tables.of_one_set(raw, of_set, metrics),
        "worst": read,
        "anchors": read.anchors(),
    }


def _first(names: list[str]) -> list[str]:
    """AUROC leads, whatever the order in which the measures came."""
    return sorted(names, key=lambda name: name != said.FIRST)
