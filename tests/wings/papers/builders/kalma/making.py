"""A build of the invented people at a scripted endpoint, and what lies in its folder."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.wings.papers.builders.kalma.world import (
    GOOD,
    good_reply,
    graph_file,
    kind_of,
    pairs_file,
    part,
)
from tests.wings.papers.builders.scripted_server import ScriptedServer

from trueground.wings.papers.builders.api import build
from trueground.wings.papers.builders.build import BuildSettings, Built

Rule = Callable[[str], Any]
NAMELESS = {"alpha": "1", "rounds": "3", "name-words": "2"}


def made(
    folder: Path,
    server: ScriptedServer,
    rows: list[Any] | None = None,
    *,
    judge: bool = False,
    settings: BuildSettings | None = None,
    **options: str,
) -> Built:
    roles = {"writer": f"m(base_url={server.url})"}
    if judge:
        roles["judge"] = f"j(base_url={server.url})"
    given = {"graph": str(graph_file(folder)), **NAMELESS, **options}
    return build(
        "kalma",
        pairs_file(folder, GOOD if rows is None else rows),
        folder / "out",
        models=roles,
        options={name.replace("_", "-"): value for name, value in given.items()},
        settings=settings or BuildSettings(),
    )


def rows_of(folder: Path, version: str) -> list[dict[str, Any]]:
    lines = (folder / "out" / "dataset" / f"{version}.jsonl").read_bytes().splitlines()
    return [json.loads(line) for line in lines]


def dropped(folder: Path) -> list[dict[str, Any]]:
    lines = (folder / "out" / "dropped.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def reasons(folder: Path) -> dict[str, str]:
    return {row["id"]: row["reason"] for row in dropped(folder)}


def tasks(folder: Path, kind: str) -> list[dict[str, Any]]:
    lines = (folder / "out" / "annotate" / f"{kind}.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def summary(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "out" / "summary.json").read_bytes())
    return found


def unless(rules: dict[tuple[str, str], Any]) -> Rule:
    """A good writer, but for (kind of prompt, text in its paragraph) → reply."""

    def answer(body: Any) -> Any:
        first = next(m["content"] for m in body["messages"] if m["role"] == "user")
        for (kind, words), reply in rules.items():
            if kind_of(first) == kind and words in part(first, "PARAGRAPH"):
                return reply(first) if callable(reply) else reply
        return good_reply(first)

    return answer


def said(text: str) -> str:
    """The value of the fact that is to be cited."""
    return part(text, "CITATION").strip("[]").split(": ", 1)[1]


def tree(folder: Path) -> dict[str, bytes]:
    """All files that do not tell the time."""
    timed = ("manifest.json", "report.html", "card.md", ".lock")
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in timed and path.parent.name != "work"
    }
