"""The tasks: options → metrics, files and a stream of questions (Ming et al. 2024, section 3)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from trueground.benchmarks.base import Question, Sources, Task, Value
from trueground.benchmarks.faitheval.asked import FILTERS, make_asked
from trueground.benchmarks.faitheval.originals import (
    OriginalQuestion,
    find_originals,
    original_files,
    require_none,
)
from trueground.benchmarks.faitheval.prompting import FaithEvalPrompts, make_prompting
from trueground.benchmarks.faitheval.settings import FaithEvalSettings, read_settings
from trueground.benchmarks.faitheval.source import FaithEvalRow, read_items, task_files
from trueground.errors import InputError
from trueground.plugins import format_part, parse_part
from trueground.records import FileInfo

_ANSWER = (
    "answer_accuracy(normalizer=faitheval,match=substring)",  # the paper's rule
    "answer_accuracy(normalizer=faitheval)",  # on word boundaries
)
_PHRASES = ("phrase_match_strict", "phrase_match", "phrase_match_word")
_TASK = {"unanswerable": "", "inconsistent": "(task=inconsistent)"}
Originals = Mapping[str, OriginalQuestion]


def prepare(task: str, options: Mapping[str, Value], sources: Sources) -> Task:
    """The task with its options settled. UsageError, InputError; rows are not read yet."""
    settings = read_settings(task, options)
    prompting = make_prompting(settings, sources.prompt)
    files = task_files(settings.of, sources.data)
    needed = task == "original" or settings.original is not None
    others = original_files(settings.original, settings.choices) if needed else []
    metrics = _metrics(settings)
    asked = dict(settings.options)
    if not prompting.instruction:
        asked["task-instruction"] = "none but what the prompt says"
    return Task(
        benchmark="faitheval",
        name=task,
        options=asked,
        metrics=metrics,
        headline=metrics[0],
        by=() if settings.choices else ("meta.dataset",),
        params=settings.params,
        files=tuple(FileInfo.of(str(file), file) for file in (*files, *others)),
        prompts=prompting.files,
        questions=_FaithEvalQuestions(settings, files, others, prompting),
    )


def _metrics(settings: FaithEvalSettings) -> tuple[str, ...]:
    """The metrics by their keys, the headline first; the paper's rule and the word rule."""
    if settings.choices:  # the answer, and as section 3.3 has it: named anywhere
        return ("choice_accuracy", "choice_accuracy(variant=mentions)")
    found = [name + _TASK[settings.of] for name in _PHRASES]
    if settings.task == "original" or settings.single:
        found = [*_ANSWER, *found[:1]] if settings.instruction else [*_ANSWER]
    if settings.scheme == "cot":  # the brief answer, and the whole with its reasons
        found = [*map(_of_the_answer, found), *found]
    # Beside the phrases, whether the model declines at all, by the rules of `abstained`.
    declines = settings.task == "unanswerable"
    return (*found, *(("p_ir",) if declines else ()))


def _of_the_answer(metric: str) -> str:
    given = parse_part("metric", metric)
    return format_part(given.name, None, {**given.options, "read": "answer"})


class _FaithEvalQuestions:
    """Streams the questions. The first call reads everything once before it gives any out."""

    def __init__(
        self,
        settings: FaithEvalSettings,
        files: list[Path],
        others: list[Path],
        prompting: FaithEvalPrompts,
    ) -> None:
        self._settings = settings
        self._files = files
        self._others = others
        self._prompting = prompting
        self._originals: Originals | None = None

    def __call__(self) -> Iterator[Question]:
        if self._originals is None:
            self._originals = self._find()
            self._check(self._originals)
        originals = self._originals
        for item in self._items():
            asked = make_asked(self._settings, item, originals.get(item.id))
            if isinstance(asked, str):
                raise InputError(f"{item.place} changed after it was checked; start again")
            messages = self._prompting.messages(
                asked.record.question or "", asked.context, asked.record.choices or ()
            )
            yield Question(asked.record, messages)

    def _find(self) -> Originals:
        """The originals, kept: MRQA's files are long, and only some of their rows are wanted."""
        if not self._others:
            return {}
        wanted = {item.id: item.question for item in self._items()}
        return find_originals(self._others, wanted, self._settings.choices)

    def _items(self) -> Iterator[FaithEvalRow]:
        settings = self._settings
        items = read_items(self._files, settings.of, answers=settings.single)
        return items if settings.phrases == "off" else filter(FILTERS[settings.phrases], items)

    def _check(self, originals: Originals) -> None:
        """Every row is read; what cannot be asked is counted by its reason. InputError."""
        count, reasons = 0, dict[str, list[str]]()
        for item in self._items():
            count += 1
            asked = make_asked(self._settings, item, originals.get(item.id))
            if isinstance(asked, str):
                reasons.setdefault(asked, []).append(item.id)
        if not count:
            raise InputError(
                f"no question of {self._settings.of} passes --only-phrase-filtered "
                f"{self._settings.phrases}; leave it out to ask all"
            )
        for reason, ids in reasons.items():
            remedy = "" if originals else " --original PATH with MRQA's test files may tell them."
            require_none(ids, f"questions {reason}", f"Ask with --documents both.{remedy}")
