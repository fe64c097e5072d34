"""What is asked, from the options: which combinations can be meant, and what the defaults are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from trueground.benchmarks.base import Value
from trueground.benchmarks.instruct_qa.options import OPTIONS
from trueground.benchmarks.values import number_of, path_of, text_of
from trueground.errors import InputError, UsageError
from trueground.models.base import Params
from trueground.plugins import parse_part
from trueground.retrieval.corpora.formats.dpr import is_results

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
# The options that have no say in a setting, or in a task whose questions have no history.
_NO_SAY: dict[str, tuple[str, ...]] = {
    "retrieved": ("irrelevant-rank", "without-gold"),
    "gold": ("retriever", "retrieval-query", "passages", "irrelevant-rank", "gold-needed"),
    "irrelevant": ("passages", "gold-needed", "without-gold"),
    "closed-book": (
        "instruction",
        "retriever",
        "retrieval-query",
        "corpus",
        "passages",
        "irrelevant-rank",
        "gold-needed",
        "without-gold",
        "passage-words",
    ),
    "nq": ("history-turns", "retrieval-query"),
    "hotpotqa": ("history-turns", "retrieval-query"),
}


@dataclass(frozen=True)
class QaSettings:
    """A task with its options settled."""

    task: str
    setting: str
    instruction: str
    retriever: str
    retrieval_query: str
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


def read_settings(task: str, options: Mapping[str, Value]) -> QaSettings:
    """The settings of a task; UsageError for values that cannot be meant, alone or together."""
    for name, (silent, owner) in _SPECIAL.items():
        if task != owner and options[name] != silent:
            raise UsageError(
                f"--{name} is for the task {owner}, not for {task}; run instruct-qa/{owner}, or "
                "leave the option out"
            )
    setting, corpus = str(options["setting"]), path_of(options, "corpus")
    retriever = text_of(options, "retriever") or "bm25"
    if setting in ("retrieved", "irrelevant") and corpus is None:
        corpus = _found_in(retriever)
    if setting in ("retrieved", "irrelevant") and corpus is None:
        raise UsageError(
            f"--setting {setting} needs passages to search: add --corpus PATH with documents, a "
            "file of passages or an index; --setting gold and closed-book do without, and so does "
            "--retriever file:RESULTS.json where the results hold the passages (DPR's ctxs)"
        )
    needed = str(options["gold-needed"])
    return QaSettings(
        task=task,
        setting=setting,
        instruction=str(options["instruction"]),
        retriever=retriever,
        retrieval_query=str(options["retrieval-query"]),
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


def _found_in(retriever: str) -> Path | None:
    """The results that --retriever file:RESULTS names, if they hold the passages themselves."""
    given = parse_part("retriever", retriever)
    if given.name != "file" or given.model is None:
        return None
    path = Path(given.model).expanduser()
    return path if path.is_file() and is_results(path) else None


def unused(
    settings: QaSettings, options: Mapping[str, Value], *, own_prompt: bool
) -> tuple[str, ...]:
    """The options that were given, other than by default, and have no effect on the questions."""
    defaults = {option.name: option.default for option in OPTIONS}
    silent = (*_NO_SAY[settings.setting], *_NO_SAY.get(settings.task, ()))
    silent += ("instruction",) * own_prompt
    silent += ("passage-words",) * (settings.corpus is None)
    return tuple(n for n in dict.fromkeys(silent) if options[n] != defaults[n])


def check_parts(settings: QaSettings) -> None:
    """See also what nothing is searched with: a mistake in it would show in the next run only.

    UsageError: a retriever that cannot be meant. InputError: no corpus where one is named.
    """
    if settings.retriever != "bm25":
        from trueground.retrieval.kinds import bases

        bases(settings.retriever)
    if settings.corpus is not None and not settings.corpus.exists():
        raise InputError(
            f"--corpus {settings.corpus} does not exist; name a folder of documents, a file of "
            "passages or an index"
        )
