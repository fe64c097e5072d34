"""What the graphs of the questions asked lack: told before a model is asked, and on every page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from trueground.benchmarks.kalma import KalmaOptions
from trueground.benchmarks.kalma.removing import without
from trueground.benchmarks.kalma.shown import Shown, named
from trueground.benchmarks.kalma.source import GraphQuestion
from trueground.text.triples import plain
from trueground.types import Triple


def lacking(
    settings: KalmaOptions,
    entries: Sequence[GraphQuestion],
    shown: Shown,
    staying: Mapping[str, Sequence[Triple]],
) -> list[str]:
    """How many questions have no graph, not all gold graphs, or fewer pieces than are removed.

    `staying` has by a question's id the pieces that are never removed.
    """
    pairs, found = list(zip(entries, shown, strict=False)), []
    total = f"of {len(pairs):,} questions"
    if blank := sum(not graphs for _, graphs in pairs):
        found.append(f"{blank:,} {total} have no graph to show; their citations are not scored.")
    if settings.shown == "gold":
        partly = sum(
            not set(named(entry)) <= {plain(str(graph["qid"])) for graph in graphs}
            for entry, graphs in pairs
        )
        if partly:
            found.append(
                f"{partly:,} {total} lack the graph of some entity that their minimum set names."
            )
    if number := settings.remove:
        fewer = sum(
            len(without(graphs, entry.minimum or (), number, staying.get(entry.id, ()))[1]) < number
            for entry, graphs in pairs
        )
        left = " beside the first round's" if staying else ""
        if fewer:
            found.append(
                f"{fewer:,} {total} lose fewer than {number} pieces: their graphs do not have so "
                f"many of their minimum set{left}."
            )
    return found
