"""What a build ends in: dataset, tasks, summary, page and card; and what must be said of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from trueground.builders.base import Builder, BuildPlan, BuiltDataset
from trueground.builders.directory import (
    SUMMARY,
    write_dataset,
    write_dropped,
    write_items,
    write_tasks,
)
from trueground.builders.quality.report import quality, write_report
from trueground.builders.rejected import REASONS
from trueground.builders.stages.accounts import Flowed
from trueground.records.problems import shorten
from trueground.runs.directory import write_json

NO_PEOPLE = "No people have labelled these items; only models have judged them."
_SHOWN = 160  # characters of a detail
OWN_WORK = "The judge {name} is the model that wrote them: it judges its own work."


def notices(builder: Builder, plan: BuildPlan, roles: Mapping[str, str]) -> list[str]:
    """The builder's own, and what holds for all; `roles` are names of models by role."""
    writer, *judges = [role.name for role in builder.roles]
    found = list(plan.notices)
    if any(role in roles and roles[role] == roles.get(writer) for role in judges):
        found.append(OWN_WORK.format(name=roles[writer]))
    if plan.people is not None and not plan.people.labels:
        found.append(NO_PEOPLE)
    return list(dict.fromkeys(found))


def summary_of(
    plan: BuildPlan,
    accounts: Sequence[Flowed],
    dataset: BuiltDataset,
    left_out: int,
    notices: Sequence[str],
) -> dict[str, Any]:
    """What stands in summary.json: the same bytes for the same outcomes."""
    return {
        "builder": plan.builder,
        "n": len(dataset.quality),
        "left_out": left_out,
        "stages": [one.as_dict() for one in accounts],
        "files": sorted(dataset.files),
        "run": dataset.run,
        "notices": list(notices),
        "quality": quality(dataset),
    }


def write_end(
    folder: Path,
    accounts: Sequence[Flowed],
    dataset: BuiltDataset,
    summary: Mapping[str, Any],
    manifest: Mapping[str, Any],
) -> None:
    """All that a build ends in but the manifest. Raises WriteError."""
    write_dropped(folder, [(one.name, dropped) for one in accounts for dropped in one.dropped])
    write_dataset(folder, dataset.files)
    write_items(folder, dataset.quality)
    write_tasks(folder, dataset.tasks)
    write_json(folder / SUMMARY, summary)
    write_report(folder, summary, manifest)


def words_on_failed(accounts: Sequence[Flowed]) -> str | None:
    """Items that fell because calls failed are no fault of the items; None where there are none."""
    again = [one for account in accounts for one in account.again]
    if not again:
        return None
    n = sum(account.failed for account in accounts)
    items, them = ("1 item", "it") if n == 1 else (f"{n:,} items", "them")
    return (
        f"{items} fell because calls failed ({again[0].detail}); the same command tries {them} "
        f"again, and only {them}"
    )


def words_on_nothing(accounts: Sequence[Flowed]) -> str:
    """Which stage lost most, why, with an example; and which lost the last, where it is another."""
    worst = max(accounts, key=lambda one: len(one.dropped), default=None)
    if worst is None or not worst.dropped:
        return "no item is left: the source has none"
    last = next(one for one in reversed(accounts) if one.dropped)
    text = f"no item is left: the stage {_words_on_losses(worst)}"
    if last is not worst:
        text += f"; then the stage {_words_on_losses(last)}"
    return f"{text}. All stand in dropped.jsonl; {_next_step(worst)}"


def _words_on_losses(account: Flowed) -> str:
    """`NAME lost 9 of 9, 8 of them as REASON (words), such as ID (detail)`.

    A stage that makes several things of an item may lose more than came.
    """
    lost = len(account.dropped)
    reason = account.as_dict()["reasons"][0]
    example = next(one for one in account.dropped if one.reason == reason["reason"])
    detail = f" ({shorten(example.detail, _SHOWN)})" if example.detail else ""
    of = f" of {account.came:,}" if lost <= account.came else ""
    most = f", {reason['n']:,} of them" if reason["n"] < lost else ""
    return (
        f"{account.name} lost {lost:,}{of}{most} as {reason['reason']} ({reason['words']}), such "
        f"as {example.id!r}{detail}"
    )


def _next_step(worst: Flowed) -> str:
    """Whom to change: the model, where its replies are what was wrong; else source or options."""
    by_model = worst.as_dict()["reasons"][0]["reason"] in REASONS
    what = "the model or the prompt" if by_model else "the source or the options"
    return f"change {what}, and run the command again"
