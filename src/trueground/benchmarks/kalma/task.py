"""The tasks: options → metrics, files and a stream of questions (Li et al. 2024, sections 3–5)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from trueground.benchmarks.base import Question, Sources, Task, Value
from trueground.benchmarks.kalma.draws import ranked
from trueground.benchmarks.kalma.knowing import Known, know
from trueground.benchmarks.kalma.prompting import KalmaPrompt, make_prompt
from trueground.benchmarks.kalma.removing import without
from trueground.benchmarks.kalma.replacing import replaced
from trueground.benchmarks.kalma.settings import NO_DEMONSTRATION, Settings, read_settings
from trueground.benchmarks.kalma.shown import Graphs, graphs_for
from trueground.benchmarks.kalma.source import Entry
from trueground.records import FileInfo
from trueground.types import Record, Triple

_CORRECTNESS = ("citation_correctness",)
_AGAINST_MINIMUM = ("citation_precision", "citation_recall", "citation_f1")
_MISSING = ("na_precision", "na_recall", "na_f1")
_VARIANT = "(variant=reference-code)"
_RATED = (  # appendix B.2
    "coherence(items=sampled,runs=3)",
    "consistency(items=sampled,runs=3)",
    "fluency(shown=question,items=sampled,runs=3)",
    "relevance(items=sampled,runs=3)",
)
_BY = ("meta.graphs",)


def prepare(task: str, options: Mapping[str, Value], sources: Sources) -> Task:
    """The task with its options settled. UsageError, InputError, GraphError.

    The files are read; what a knowledge graph holds is asked with the first question.
    """
    settings = read_settings(task, options)
    prompt = make_prompt(sources.prompt, settings.demonstration)
    known = know(settings, sources)
    shown, signature = graphs_for(settings, known.entries, sources)
    entries, notices = known.entries, list(known.notices)
    if not settings.own and shown.ready is not None:
        kept = [i for i, graphs in enumerate(shown.ready) if graphs]
        if left := len(entries) - len(kept):
            notices.append(
                f"{left:,} of {len(entries):,} questions have no graph to show and are left out."
            )
        shown = Graphs([shown.ready[i] for i in kept])
        entries = [entries[i] for i in kept]
    return Task(
        benchmark="kalma",
        name=task,
        options=_options(settings, known, prompt, signature),
        metrics=_metrics(settings, known),
        headline="citation_f1_micro" if known.has_minimum else "citation_correctness_micro",
        by=_BY,
        params=settings.params,
        files=tuple(FileInfo.of(str(file), file) for file in known.files),
        prompts=prompt.files,
        questions=_Questions(settings, entries, shown, prompt, known.first_round),
        notices=tuple(notices),
    )


def _metrics(settings: Settings, known: Known) -> tuple[str, ...]:
    names = _CORRECTNESS + _AGAINST_MINIMUM * known.has_minimum
    found = (*names, "alignment")
    if settings.remove or known.has_absent:
        found += _MISSING
    if known.first_round:
        found += tuple(f"{name}{_VARIANT}" for name in names)
    return found + _RATED * bool(settings.rated)


def _options(
    settings: Settings, known: Known, prompt: KalmaPrompt, signature: str | None
) -> dict[str, Value]:
    """The options that fix the questions; numbers as text."""
    shown = prompt.demonstration
    found: dict[str, Value] = {
        "knowledge": settings.knowledge,
        "minimum": known.minimum,
        "remove": _text(settings.remove),
        "retrieval-accuracy": _text(settings.accuracy),
        "at-temperature": None if settings.temperature is None else f"{settings.temperature:g}",
        "demonstration": NO_DEMONSTRATION if shown is None else shown.file.id,
    }
    if signature is not None:
        found["graph"] = signature
    if settings.knowledge == "linked":
        found["recognizer"] = settings.recognizer
    if settings.synthetic:
        found |= {
            "minimum-size": str(settings.synthetic),
            "minimum-seed": str(settings.minimum_seed),
        }
    if settings.accuracy is not None:
        found["replace-seed"] = str(settings.replace_seed)
    if known.first_round_sha256 is not None:
        found["first-round"] = known.first_round_sha256
    if settings.rated:
        found |= {"rated": str(settings.rated), "rated-seed": str(settings.rated_seed)}
    return found


def _text(value: int | None) -> str | None:
    return None if value is None else str(value)


class _Questions:
    """Streams the questions. The first call fetches, removes and replaces, once."""

    def __init__(
        self,
        settings: Settings,
        entries: Sequence[Entry],
        shown: Graphs,
        prompt: KalmaPrompt,
        first_round: Mapping[str, tuple[Triple, ...]],
    ) -> None:
        self._settings = settings
        self._entries = entries
        self._shown = shown
        self._prompt = prompt
        self._first_round = first_round
        self._records: list[Record] | None = None

    def __call__(self) -> Iterator[Question]:
        if self._records is None:
            self._records = list(self._made())
        for record in self._records:
            messages = self._prompt.messages(record.question or "", record.knowledge or ())
            yield Question(record, messages)

    def _made(self) -> Iterator[Record]:
        settings, entries = self._settings, self._entries
        shown = self._shown.get()
        wrong: Sequence[int | None] = [None] * len(entries)
        if settings.accuracy is not None:
            shown, wrong = replaced(entries, shown, settings.accuracy, settings.replace_seed)
        with_graphs = [one.id for one, graphs in zip(entries, shown, strict=True) if graphs]
        drawn = set(ranked(with_graphs, f"rated/{settings.rated_seed}")[: settings.rated])
        for entry, graphs, number in zip(entries, shown, wrong, strict=True):
            meta: dict[str, Any] = {"entry": entry.id, "graphs": len(graphs)}
            absent = list(entry.absent or ())
            if settings.remove is not None:
                graphs, removed = without(graphs, entry.minimum or (), settings.remove)
                absent += removed
                meta["removed"] = len(removed)
            if number is not None:
                meta["wrong"] = number
            if self._first_round:
                meta["first_round_knowledge"] = list(self._first_round.get(entry.id, ()))
            if settings.rated:
                meta["sampled"] = entry.id in drawn
            nothing_said = entry.absent is None and not settings.remove
            yield Record(
                id=entry.id,
                response="",
                question=entry.question,
                knowledge=list(graphs),
                gold_knowledge=None if entry.minimum is None else list(entry.minimum),
                absent_knowledge=None if nothing_said else absent,
                group=entry.group or entry.id,
                meta=entry.meta | meta,
            )
