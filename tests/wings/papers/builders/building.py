"""What the tests of the frame share: a build of the little builder at an endpoint on loopback."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.wings.papers.builders.little import register
from tests.wings.papers.builders.scripted_server import ScriptedServer

from trueground.wings.papers.builders.api import build
from trueground.wings.papers.builders.build import BuildSettings, Built
from trueground.wings.papers.builders.registry import BUILDERS, all_builders
from trueground.wings.papers.builders.settings import EndpointDefaults

FAST = {"timeout": 5.0, "deadline": 10.0, "max_attempts": 2, "max_connections": 8}
OWN = ("manifest.json", "work")  # what may differ between builds that end alike


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """A place for the cache, and the little builder."""
    before = dict(all_builders())
    register()
    yield tmp_path
    BUILDERS.clear()
    BUILDERS.update(before)


def source(folder: Path, n: int = 5, words: str = "line") -> Path:
    """A file of so many lines, and a blank one."""
    path = folder / f"{words}{n}.txt"
    path.write_text("".join(f"{words} number {i}\n" for i in range(n)) + "\n")
    return path


def built(
    folder: Path,
    server: ScriptedServer,
    *,
    n: int = 5,
    out: str = "out",
    models: Mapping[str, Any] | None = None,
    endpoint: Mapping[str, Any] | None = None,
    options: Mapping[str, Any] | None = None,
    **settings: Any,
) -> Built:
    at = EndpointDefaults(base_url=server.url, **{**FAST, **(endpoint or {})})
    return build(
        "little",
        source(folder, n),
        folder / out,
        models=models or {"writer": "w", "judge": "j"},
        options=options,
        settings=BuildSettings(endpoint=at, **settings),
    )


def reasons(made: Built) -> dict[str, dict[str, int]]:
    """How many items fell in each stage, by reason."""
    stages = made.summary["stages"]
    return {s["name"]: {r["reason"]: r["n"] for r in s["reasons"]} for s in stages if s["reasons"]}


def manifest(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "manifest.json").read_bytes())
    return found


def contents(folder: Path) -> dict[str, bytes]:
    """All files of a build that must come out alike."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.relative_to(folder).parts[0] not in OWN
    }
