"""`trueground list`: what there is, what it needs."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from trueground.cli._options import Format, FormatOption
from trueground.cli._output import echo_json

KINDS = (
    "metrics",
    "judges",
    "decomposers",
    "normalizers",
    "benchmarks",
    "retrievers",
    "models",
    "datasets",
    "builders",
)


def list_(
    kind: Annotated[
        str, typer.Argument(help=f"One of: {', '.join(KINDS)}. Without it: all of them.")
    ] = "",
    format_: FormatOption = Format.TEXT,
) -> None:
    """Show metrics, judges, benchmarks, retrievers, models …, with what each needs."""
    from trueground.errors import unknown_name

    if kind and kind not in KINDS:
        raise unknown_name("kind of thing to list", kind, KINDS)
    listed = {name: _entries(name) for name in ([kind] if kind else KINDS)}
    if format_ is Format.JSON:
        echo_json(listed[kind] if kind else listed)
        return
    from trueground.reports.listings import render_entry

    for name, entries in listed.items():
        if not kind:
            typer.echo(f"{name}:")
        width = max((len(str(entry["name"])) for entry in entries), default=0)
        for entry in entries:
            typer.echo(render_entry(entry, width))


def _entries(kind: str) -> list[dict[str, Any]]:
    """What there is of a kind."""
    if kind == "builders":
        from trueground.builders.registry import catalogue as builders

        return builders()
    from trueground.evaluate.catalogue import catalogue

    return catalogue(kind)
