"""The tasks: options → metrics, files and a stream of questions (Adlakha et al. 2023)."""

from __future__ import annotations

from pathlib import Path

from trueground.benchmarks.base import Sources, Task, Value
from trueground.benchmarks.instruct_qa import QaOptions
from trueground.benchmarks.instruct_qa.asking import QaQuestions
from trueground.benchmarks.instruct_qa.library import PassageLibrary
from trueground.benchmarks.instruct_qa.prompting import QaPrompts
from trueground.benchmarks.instruct_qa.source import check_data, task_files
from trueground.benchmarks.instruct_qa.trimming import trimmer
from trueground.errors import InputError, UsageError
from trueground.models.base import Params
from trueground.records import FileInfo

# Tables 3 and 5, the ones that need no model; the headline first.
_CORRECT = ("recall", "exact_match", "f1", "recall_strict", "precision", "rouge_l")
_FAITHFUL = ("k_precision", "k_recall", "k_f1", "k_precision_pp", "k_f1_pp")
_MOST_TOKENS = 500
_PARAMS = {  # appendix A
    "greedy": Params(temperature=0.0, max_tokens=_MOST_TOKENS),
    "paper": Params(temperature=0.95, top_p=0.95, seed=0, min_tokens=1, max_tokens=_MOST_TOKENS),
}
_DECLINING = "k_precision(abstention_passage=true)"


def make_task(settings: QaOptions, sources: Sources) -> Task:
    """The task with its options settled, and its corpus ready. UsageError, InputError.

    Questions are not read yet.
    """
    check_data(settings.task, sources.data)
    if settings.searches and not settings.has_corpus:
        raise UsageError(
            f"--setting {settings.setting} needs passages to search: add --corpus PATH with "
            "documents, a file of passages or an index; --setting gold and closed-book do without, "
            "and so does --retriever file:RESULTS.json where the results hold the passages (DPR's "
            "ctxs)"
        )
    _check_parts(settings)
    prompting = QaPrompts(settings, sources.prompt)
    files = task_files(settings, sources.data)
    if settings.gold is not None:
        if not settings.gold.is_file():
            what = "is no file" if settings.gold.exists() else "does not exist"
            raise InputError(f"--gold {settings.gold} {what}; name DPR's nq-test_gold_info.json")
        files = [*files, settings.gold]
    library = None
    if settings.corpus_path is not None and not settings.closed_book:
        library = PassageLibrary(settings.corpus_path, settings, sources)
    metrics = _metrics(settings)
    return Task(
        options=_options(settings, prompting, library),
        metrics=metrics,
        headline=metrics[0],
        by=_by(settings),
        params=_PARAMS[settings.preset],
        # The corpus is known by its passages and the retriever by its signature, both options: an
        # index that has been moved, or to which a retriever was added, asks the same.
        files=tuple(FileInfo.of(str(file), file) for file in files),
        prompts=prompting.files,
        questions=QaQuestions(settings, _without(files, settings.gold), library, prompting),
        trim=trimmer(settings.post_process),
    )


def _check_parts(settings: QaOptions) -> None:
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


def _without(files: list[Path], gold: Path | None) -> list[Path]:
    return files if gold is None else files[:-1]


def _gold_known(settings: QaOptions) -> bool:
    """Whether the data can name gold passages."""
    return settings.task != "nq" or settings.gold is not None


def _metrics(settings: QaOptions) -> tuple[str, ...]:
    if settings.closed_book:
        return (*_CORRECT, "abstained")
    declining = (_DECLINING,) if settings.instruction == "v2" else ()
    found = (*_CORRECT, *_FAITHFUL, *declining, "abstained")
    if settings.setting == "irrelevant":
        return ("p_ir", *found)
    return (*found, "p_g") if _gold_known(settings) else found


def _by(settings: QaOptions) -> tuple[str, ...]:
    retrieved = settings.setting == "retrieved" and _gold_known(settings)
    found = ("meta.gold_retrieved",) if retrieved else ()
    return (*found, "meta.type") if settings.task == "hotpotqa" else found


def _options(
    settings: QaOptions, prompting: QaPrompts, library: PassageLibrary | None
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
        found["without-gold"] = "skip" if (settings.without_gold == "skip") else "error"
    if library is not None:
        found["corpus"] = library.index.passages.sha256
    if settings.searches and library is not None:
        found["retriever"] = library.signature
        if settings.task in ("topiocqa", "questions"):
            found["retrieval-query"] = settings.retrieval_query
        found["gold-needed"] = "all" if settings.needs_all else "any"
        if settings.setting == "retrieved":
            found["passages"] = str(settings.most_passages)
        else:
            found["irrelevant-rank"] = str(settings.irrelevant_rank)
    return found
