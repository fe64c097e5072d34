"""A build in the terminal: the funnel of its stages, and what a dry run expects."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trueground.reports.blocks import several


def render_built(
    summary: Mapping[str, Any],
    path: Path,
    spent: Mapping[str, Mapping[str, Any]],
    usd: Mapping[str, float],
) -> str:
    """How many items each stage kept, why the others fell, what it cost, and what to do next.

    `spent` and `usd` are by role; without a price a role's cost is left out.
    """
    left_out = f" (the limit left out {several(n, 'row')})" if (n := summary["left_out"]) else ""
    lines = [f"build {summary['builder']}: {several(summary['n'], 'item')}{left_out}", ""]
    wide = max((len(stage["name"]) for stage in summary["stages"]), default=0)
    for stage in summary["stages"]:
        lines.append(f"{stage['name']:{wide}}  {stage['in']:>7,} → {stage['out']:>7,}")
        lines += [
            f"{'':{wide}}    {one['n']:>7,} {one['reason']}: {one['words']}"
            for one in stage["reasons"]
        ]
    lines += [f"note: {notice}" for notice in summary["notices"]]
    lines += ["", *(_spent(role, one, usd.get(role)) for role, one in spent.items())]
    lines += ["", f"out    {path}"]
    if summary["n"]:
        dataset = shlex.quote(str(path / "dataset"))
        lines.append(f"next   {summary['run'].replace('{dataset}', dataset)}")
    return "\n".join(lines)


def _spent(role: str, one: Mapping[str, Any], usd: float | None) -> str:
    cost = "" if usd is None else f", ${usd:,.4f}"
    return (
        f"{role}  {one['name']}: {several(one['calls'], 'call')}, "
        f"{one['cache_hits']:,} from the cache; "
        f"{one['tokens_in']:,} tokens in, {one['tokens_out']:,} out{cost}"
    )


def render_estimated(found: Mapping[str, Any]) -> str:
    """The calls of each stage and role, and their sum."""
    done = found["done"]
    there = f"{several(done, 'outcome')} {'is' if done == 1 else 'are'} there already"
    lines = [f"{several(found['items'], 'source item')}; {there}"]
    for one in found["stages"]:
        usd = "" if one["usd"] is None else f"  ${one['usd']:,.4f}"
        lines.append(
            f"{one['stage']}  {one['role']} {one['model']}: {several(one['calls'], 'call')}, "
            f"about {one['tokens_in']:,} tokens in, {one['tokens_out']:,} out{usd}"
        )
    calls = sum(one["calls"] for one in found["stages"])
    lines.append(f"together {several(calls, 'call')} at most, if no item falls on the way")
    known = [one["usd"] for one in found["stages"] if one["usd"] is not None]
    if known:
        lines.append(f"about ${sum(known):,.4f}")
    return "\n".join(lines)
