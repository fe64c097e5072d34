"""`trueground list`: what there is, what it needs."""

from __future__ import annotations

from collections.abc import Iterator
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
    for name, entries in listed.items():
        if not kind:
            typer.echo(f"{name}:")
        width = max((len(str(entry["name"])) for entry in entries), default=0)
        for entry in entries:
            typer.echo("\n".join(_lines(entry, width)))


def _entries(kind: str) -> list[dict[str, Any]]:
    """What there is of a kind."""
    if kind == "builders":
        from trueground.builders.registry import catalogue as builders

        return builders()
    from trueground.evaluate.catalogue import catalogue

    return catalogue(kind)


def _lines(entry: dict[str, Any], width: int) -> Iterator[str]:
    """One line for the thing, one for each of its options."""
    needs = ", ".join(entry.get("needs", []))
    tail = f"  [needs {needs}]" if needs else ""
    tail += f"  [extra: {entry['extra']}]" if entry.get("extra") else ""
    tail += f"  [tasks {', '.join(entry['tasks'])}]" if entry.get("tasks") else ""
    if "fetched" in entry:
        command = f"trueground data fetch {entry['name']}" + " --from PATH" * entry["from_only"]
        tail += "  [fetched]" if entry["fetched"] else f"  [{command}]"
    yield f"  {entry['name']:{width}}  {entry['doc']}{tail}"
    for name, option in entry.get("options", {}).items():
        allowed = "|".join(option["allowed"]) or "…"
        default = option["default"]  # None: left out, or what the other options make it
        tail = "" if default is None else f", default {default!r}"
        yield f"  {'':{width}}    {name}={allowed}{tail}"
