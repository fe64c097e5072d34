"""An OpenAI-compatible endpoint that judges by a rule: it reads the marked blocks of a prompt."""

from __future__ import annotations

import re

from tests.chaos import ChaosServer

_BLOCK = re.compile(
    r"^=== BEGIN ([A-Z]+)(?: \d+ OF \d+)? ([0-9a-f]{12}) ===\n"
    r"(.*?)\n=== END \1(?: \d+ OF \d+)? \2 ===$",
    re.DOTALL | re.MULTILINE,
)


def shown(prompt: str) -> dict[str, list[str]]:
    """What stands between the marked lines, by name."""
    found: dict[str, list[str]] = {}
    for match in _BLOCK.finditer(prompt):
        found.setdefault(match[1], []).append(match[3])
    return found


def contains(prompt: str) -> str:
    """True where the statement stands in a context word for word."""
    parts = shown(prompt)
    (statement,) = parts["STATEMENT"]
    return str(any(statement.strip() in context for context in parts["CONTEXT"]))


def rule_endpoint() -> ChaosServer:
    """The endpoint; its `base_url` ends in /v1."""
    return ChaosServer(answer=contains)
