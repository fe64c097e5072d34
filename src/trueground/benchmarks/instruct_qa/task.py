"""The tasks: options → metrics, files and a stream of questions (Adlakha et al. 2023)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from trueground.benchmarks.base import Sources, Task, Value
from trueground.benchmarks.instruct_qa.asking import QaQuestions
from trueground.benchmarks.instruct_qa.library import PassageLibrary
from trueground.benchmarks.instruct_qa.prompting import QaPrompts
from trueground.benchmarks.instruct_qa.settings import (
    QaSettings,
    check_parts,
    read_settings,
    unused,
)
from trueground.benchmarks.instruct_qa.source import check_data, task_files
from trueground.benchmarks.instruct_qa.trimming import trimmer
from trueground.errors import InputError
from trueground.records import FileInfo

# Tables 3 and 5, the ones that need no model; the headline first.
_CORRECT = ("recall", "exact_match", "f1", "recall_strict", "precision", "rouge_l")
_FAITHFUL = ("k_precision", "k_recall", "k_f1", "k_precision_pp", "k_f1_pp")
_DECLINING = "k_precision(abstention_passage=true)"


def prepare(task: str, options: Mapping[str, Value], sources: Sources) -> Task:
    """The task with its options settled, and its corpus ready. UsageError, InputError.

    Questions are not read yet.
    """
    check_data(task, sources.data)
    settings = read_settings(task, options)
    check_parts(settings)
    prompting = QaPrompts(settings, sources.prompt)
    files = task_files(settings, sources.data)
    if settings.gold is not None:
        if not settings.gold.is_file():
            what = "is no file" if settings.gold.exists() else "does not exist"
            raise InputError(f"--gold {settings.gold} {what}; name DPR's nq-test_gold_info.json")
        files = [*files, settings.gold]
    library = None
    if settings.corpus is not None and not settings.closed_book:
        library = PassageLibrary(settings.corpus, settings, sources)
    metrics = _metrics(settings)
    return Task(
        benchmark="instruct-qa",
        name=task,
        options=_options(settings, prompting, library),
        metrics=metrics,
        headline=metrics[0],
        by=_by(settings),
        params=settings.params,
        # The corpus is known by its passages and the retriever by its signature, both options: an
        # index that has been moved, or to which a retriever was added, asks the same.
        files=tuple(FileInfo.of(str(file), file) for file in files),
        prompts=prompting.files,
        questions=QaQuestions(settings, _without(files, settings.gold), library, prompting),
        trim=trimmer(settings.post_process),
        unused=unused(settings, options, own_prompt=sources.prompt is not None),
    )


def _without(files: list[Path], gold: Path | None) -> list[Path]:
    return files if gold is None else files[:-1]


def _gold_known(settings: QaSettings) -> bool:
    """Whether the data can name gold passages."""
    return settings.task != "nq" or settings.gold is not None


def _metrics(settings: QaSettings) -> tuple[str, ...]:
    if settings.closed_book:
        return (*_CORRECT, "abstained")
    declining = (_DECLINING,) if settings.instruction == "v2" else ()
    found = (*_CORRECT, *_FAITHFUL, *declining, "abstained")
    if settings.setting == "irrelevant":
        return ("p_ir", *found)
    return (*found, "p_g") if _gold_known(settings) else found


def _by(settings: QaSettings) -> tuple[str, ...]:
    retrieved = settings.setting == "retrieved" and _gold_known(settings)
    found = ("meta.gold_retrieved",) if retrieved else ()
    return (*found, "meta.type") if settings.task == "hotpotqa" else found


def _options(
    settings: QaSettings, prompting: QaPrompts, library: PassageLibrary | None
) -> dict[str, Value]:
    """The options that fix the questions and what of a reply is scored; numbers as text."""
    found: dict[str, Value] = {
        "setting": settings.setting,
        "instruction": prompting.instruction,
        "preset": settings.preset,
        "post-process": settings.post_process,
    }
    if settings.task in ("topiocqa", "questions"):
        found["history-turns"] = str(settings.history_turns)
    if settings.task == "hotpotqa":
        found["variant"] = settings.variant
    if settings.setting == "gold":
        found["without-gold"] = "skip" if settings.skip else "error"
    if library is not None:
        found["corpus"] = library.index.passages.sha256
    if settings.searches and library is not None:
        found["retriever"] = library.signature
        if settings.task in ("topiocqa", "questions"):
            found["retrieval-query"] = settings.retrieval_query
        found["gold-needed"] = "all" if settings.needs_all else "any"
        if settings.setting == "retrieved":
            found["passages"] = str(settings.passages)
        else:
            found["irrelevant-rank"] = str(settings.irrelevant_rank)
    return found
