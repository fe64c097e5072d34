"""What the prompts of runs are called: a file of the user's by its name, ours `default`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

DEFAULT = "default"


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
