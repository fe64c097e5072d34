"""What is asked, from the options: which combinations can be meant, and what the defaults are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from trueground.benchmarks.base import Value
from trueground.benchmarks.values import number_of, path_of, text_of
from trueground.errors import UsageError
from trueground.models.base import Params

_PASSAGES = {"topiocqa": 4}
_MOST_TOKENS = 500
# Appendix A.
_PRESETS = {
    "greedy": Params(temperature=0.0, max_tokens=_MOST_TOKENS),
    "paper": Params(temperature=0.95, top_p=0.95, seed=0, min_tokens=1, max_tokens=_MOST_TOKENS),
}
# The options that one task alone has a use for, and the value that says nothing.
_SPECIAL: dict[str, tuple[Value, str]] = {
    "gold": (None, "nq"),
    "variant": ("distractor", "hotpotqa"),
}


@dataclass(frozen=True)
class Settings:
    """A task with its options settled."""

    task: str
    setting: str
    instruction: str
    retriever: str
    corpus: Path | None
    passages: int
    irrelevant_rank: int
    preset: str
    post_process: str
    history_turns: int
    gold: Path | None
    needs_all: bool
    skip: bool
    variant: str
    passage_words: int | None

    @property
    def params(self) -> Params:
        """What the preset asks of the model (appendix A)."""
        return _PRESETS[self.preset]

    @property
    def closed_book(self) -> bool:
        """Whether no passage is shown."""
        return self.setting == "closed-book"

    @property
    def searches(self) -> bool:
        """Whether passages come from a retriever."""
        return self.setting in ("retrieved", "irrelevant")


def read_settings(task: str, options: Mapping[str, Value]) -> Settings:
    """The settings of a task; UsageError for values that cannot be meant, alone or together."""
    for name, (silent, owner) in _SPECIAL.items():
        if task != owner and options[name] != silent:
            raise UsageError(
                f"--{name} is for the task {owner}, not for {task}; run instruct-qa/{owner}, or "
                "leave the option out"
            )
    setting, corpus = str(options["setting"]), path_of(options, "corpus")
    if setting in ("retrieved", "irrelevant") and corpus is None:
        raise UsageError(
            f"--setting {setting} needs passages to search: add --corpus PATH with documents, a "
            "file of passages or an index; --setting gold and closed-book do without"
        )
    needed = str(options["gold-needed"])
    return Settings(
        task=task,
        setting=setting,
        instruction=str(options["instruction"]),
        retriever=text_of(options, "retriever") or "bm25",
        corpus=corpus,
        passages=number_of(options, "passages", 1) or _PASSAGES.get(task, 8),
        irrelevant_rank=number_of(options, "irrelevant-rank", 1) or 0,
        preset=str(options["preset"]),
        post_process=str(options["post-process"]),
        history_turns=number_of(options, "history-turns", 0) or 0,
        gold=path_of(options, "gold"),
        needs_all=needed == "all" or (needed == "auto" and task == "hotpotqa"),
        skip=options["without-gold"] == "skip",
        variant=str(options["variant"]),
        passage_words=number_of(options, "passage-words", 1),
    )
