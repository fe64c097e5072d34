"""manifest.json → what pages and the terminal say about how a run was made."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any
from urllib.parse import urlsplit

DATASET = "meta.dataset"  # the field by which benchmarks of several sources are split
REPEAT = "meta.repeat"  # the field that tells the answers to one question apart
SHOWN = 12  # characters of a checksum
_CHECKSUM = re.compile(r"[0-9a-f]{32,}")


def short_checksums(text: str) -> str:
    """The text with the beginning of each checksum only."""
    return _CHECKSUM.sub(lambda match: f"{match[0][:SHOWN]}…", text)


def input_names(source: object) -> list[str]:
    """File names without their folders, from a path, `{"path": …}`, or a list of either."""
    if isinstance(source, list):
        return [name for part in source for name in input_names(part)]
    if isinstance(source, dict):
        return input_names(source.get("path"))
    if not isinstance(source, str) or not source:
        return []
    if source == "-":
        return ["standard input"]
    path = urlsplit(source).path if "://" in source else source
    return [PurePath(path.replace("\\", "/")).name]


def asked(manifest: dict[str, Any]) -> dict[str, Any] | None:
    """Which model answered which task how; None for answers that came from a file."""
    if manifest.get("kind") != "run":
        return None
    benchmark, params = manifest["benchmark"], manifest.get("params") or {}
    options = {**benchmark.get("options", {}), **params}
    return {
        "model": manifest["model"]["name"],
        "task": f"{benchmark['name']}/{benchmark['task']}",
        "how": short_checksums(", ".join(f"{name} {value}" for name, value in options.items())),
        "prompts": ", ".join(prompt["id"] for prompt in manifest.get("prompts") or []),
    }


def notices(manifest: Mapping[str, Any]) -> list[str]:
    """What every page of a run must say, such as that something in it is made up."""
    return list((manifest.get("benchmark") or {}).get("notices") or [])


def signatures(manifest: dict[str, Any]) -> list[tuple[str, str]]:
    """What exactly was computed: signatures of metrics, judges, decomposer and rater."""
    pairs = [(str(name), str(text)) for name, text in (manifest.get("metrics") or {}).items()]
    parts: list[tuple[str, Any]] = [("judge", judge) for judge in _judges(manifest)]
    parts += [(part, manifest.get(part)) for part in ("decomposer", "rater")]
    return pairs + [(part, str(f.get("signature") or f["name"])) for part, f in parts if f]


def judges(manifest: Mapping[str, Any]) -> list[str]:
    """The names of the judges of a run, the first of them that of the metrics without `@LABEL`."""
    return [str(judge["name"]) for judge in _judges(manifest)]


def first_judge(manifest: Mapping[str, Any]) -> str | None:
    """What the first judge is called beside the others, which are numbered if they share a name."""
    names = judges(manifest)
    if not names:
        return None
    return f"{names[0]}#1" if names.count(names[0]) > 1 else names[0]


def _judges(manifest: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Runs of one judge have it under `judge`."""
    return [judge for judge in manifest.get("judges") or [manifest.get("judge")] if judge]


def refusal_rules(summary: Mapping[str, Any]) -> str:
    """What stands beside p_ir and p_g: how far the rules find refusals. Nothing for older runs."""
    rules = summary.get("abstention_rules")
    if not rules:
        return ""
    return (
        f"{rules['rules']}, by which refusals are found: precision "
        f"{rules['precision']:.3f}, recall {rules['recall']:.3f} on {rules['labelled']:,} "
        "labelled responses"
    )
