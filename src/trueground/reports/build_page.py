"""The quality report of a build as one page that opens from disk and asks nothing of the network.

The page tells no time, no cost and no folder: the same build gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from trueground.reports import build_said as said
from trueground.reports import build_view as view
from trueground.reports.shell import draw


def render_page(
    summary: Mapping[str, Any], manifest: Mapping[str, Any], people: Mapping[str, Any] | None = None
) -> str:
    """The page of summary.json and manifest.json, and of labels that came after the build."""
    quality = summary["quality"]
    shown = {
        "title": view.title(summary),
        "version": manifest.get("trueground", ""),
        "n": summary["n"],
        "builder": summary["builder"],
        "notices": [*view.left_out(summary), *summary["notices"]],
        "stages": view.stages(summary),
        "models": view.models(manifest),
        "prompts": list((manifest.get("prompts") or {}).items()),
        "sources": view.sources(manifest),
        "most_sources": view.MOST_SOURCES,
        "settings": view.settings(manifest),
        "run": view.command(summary),
        "files": [(name, f"dataset/{quote(name)}") for name in summary["files"]],
        "quality": quality,
        "sizes": view.sizes(quality),
        "histograms": view.spreads(quality),
        "shared": quality["overlap"]["question"],
        "bars": bars,
        "ends": ends,
        "doubles": view.doubles(quality),
        "people": people,
        "people_table": said.table(people["kinds"]) if people else None,
        "human_table": said.table(quality["human"]["kinds"]) if quality["human"] else None,
        "said": said,
        "amount": view.amount,
        "percent": view.percent,
    }
    return draw("build.html.j2", (), ["report.css", "build.css"], shown)


def bars(spread: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """The bars of a histogram: place, width and height in percent, and their words."""
    edges, counts = spread["histogram"]["edges"], spread["histogram"]["counts"]
    step, peak = 100 / len(counts), max(counts)
    whole = _whole(edges)
    return [
        {
            "x": round(k * step, 3),
            "width": round(step, 3),
            "height": round(100 * n / peak, 2),
            "words": f"{_bin(edges[k], edges[k + 1], whole)}: {n:,}",
        }
        for k, n in enumerate(counts)
    ]


def ends(spread: Mapping[str, Any]) -> tuple[str, str]:
    """The two ends of a histogram in words."""
    edges = spread["histogram"]["edges"]
    return view.amount(edges[0]), view.amount(edges[-1] - 1 if _whole(edges) else edges[-1])


def _whole(edges: Sequence[float]) -> bool:
    """Are these bins of whole numbers? They are told by the numbers in them."""
    return all(edge == int(edge) for edge in edges)


def _bin(low: float, high: float, whole: bool) -> str:
    if not whole:
        return f"{low:.3g} to {high:.3g}"
    return f"{low:,.0f}" if high - low == 1 else f"{low:,.0f} to {high - 1:,.0f}"
