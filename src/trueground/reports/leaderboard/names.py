"""Names: of long values in few characters, of prompts, and what is known of models by theirs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

LONG = 40  # characters; what is shorter stands as it is
_CUT = re.compile(r"(?=[:,|\[])")
_CHECKSUM = re.compile(r"[0-9a-f]{32,}")
_FEW = 12
DEFAULT = "default"  # what prompts of ours are called


def short_names(values: Iterable[str]) -> dict[str, str]:
    """Value → a beginning of it, up to a `:`, `,`, `|` or `[`, that no other value has.

    A value of up to 40 characters stays whole; a checksum is cut within.
    """
    known = set(values)
    return {value: _short(value, known - {value}) for value in known}


def _short(value: str, others: set[str]) -> str:
    if len(value) <= LONG:
        return value
    cuts = [m.start() for m in _CUT.finditer(value) if m.start()]
    if _CHECKSUM.fullmatch(value):
        cuts = [_FEW]
    for cut in cuts:
        if not any(other.startswith(value[:cut]) for other in others):
            return value[:cut]
    return value


def short_checksums(text: str) -> str:
    """The text with the beginning of each checksum only."""
    return _CHECKSUM.sub(lambda match: f"{match[0][:_FEW]}…", text)


def few(labels: list[str], most: int = 3) -> str:
    """The labels, or the first ones and how many more."""
    if len(labels) <= most:
        return ", ".join(labels)
    return f"{', '.join(labels[: most - 1])} and {len(labels) - most + 1} more"


class NamedPrompt(Protocol):
    """A prompt file as manifests name it."""

    @property
    def id(self) -> str:
        """A packaged prompt's id has a slash, that of a user's file has none."""
        ...

    @property
    def sha256(self) -> str:
        """Of its text."""
        ...


def prompt_of(prompts: Iterable[NamedPrompt]) -> str:
    """The names of a run's own prompt files; `default` where it has none."""
    return ", ".join(prompt.id for prompt in prompts if "/" not in prompt.id) or DEFAULT


def prompt_names(runs: Sequence[Sequence[NamedPrompt]]) -> list[str]:
    """A name for the prompts of each run, different ones for different prompts."""
    files = {tuple((p.id, p.sha256) for p in prompts) for prompts in runs}
    short = [prompt_of(prompts) for prompts in runs]
    whole = [", ".join(p.id for p in prompts) for prompts in runs]
    for told in (short, whole):
        if len(set(told)) == len(files):
            return told
    return [", ".join(f"{p.id} {p.sha256[:8]}" for p in prompts) for prompts in runs]


@dataclass(frozen=True)
class ModelFacts:
    """One model's line of the models table. `size` is in billions of parameters."""

    family: str
    base: str
    size: float | None
    training: str
    organisation: str
    open: bool | None


def facts_of(names: Iterable[str], extra: Path | None) -> dict[str, ModelFacts]:
    """Name → facts, for the names that the table has. `extra` adds the user's own lines.

    Raises InputError where `extra` cannot be read.
    """
    from trueground.benchmarks.model_table import find_model, load_models

    models = load_models(extra)
    found = {}
    for name in names:
        info = find_model(name, models)
        if info is not None:
            found[name] = ModelFacts(
                info.family, info.base, info.size, info.training, info.organisation, info.open
            )
    return found
