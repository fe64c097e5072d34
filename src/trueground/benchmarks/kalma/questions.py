"""The questions as records: graphs fetched, pieces removed, graphs replaced, a sample drawn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from trueground.benchmarks.base import Question, Sources
from trueground.benchmarks.kalma import KalmaOptions
from trueground.benchmarks.kalma.chosen import ChosenQuestions
from trueground.benchmarks.kalma.draws import ranked
from trueground.benchmarks.kalma.knowing import KnownQuestions
from trueground.benchmarks.kalma.lacking import lacking
from trueground.benchmarks.kalma.prompting import KalmaPrompt
from trueground.benchmarks.kalma.removing import without
from trueground.benchmarks.kalma.replacing import replaced
from trueground.types import Record


class GraphQuestions:
    """Streams the questions. The first call fetches, removes and replaces, once.

    It adds to `notices` what the graphs lack, and tells all of them, before anything is asked.
    """

    def __init__(
        self,
        settings: KalmaOptions,
        chosen: ChosenQuestions,
        prompt: KalmaPrompt,
        known: KnownQuestions,
        sources: Sources,
        notices: list[str],
    ) -> None:
        self._settings = settings
        self._chosen = chosen
        self._prompt = prompt
        self._first_round = known.first_round
        self._staying = known.first_round if settings.remove_from == "later" else {}
        self._sources = sources
        self._notices = notices
        self._records: list[Record] | None = None

    def __call__(self) -> Iterator[Question]:
        if self._records is None:
            self._records = list(self._made())
            for notice in self._notices:
                self._sources.note_once(notice)
        for record in self._records:
            messages = self._prompt.messages(record.question or "", record.knowledge or ())
            yield Question(record, messages)

    def _made(self) -> Iterator[Record]:
        settings, entries = self._settings, self._chosen.entries
        shown = self._chosen.graphs.get()
        limit = self._sources.limit
        if not self._chosen.graphs.unknown:
            self._notices += lacking(settings, entries[:limit], shown[:limit], self._staying)
        wrong: Sequence[int | None] = [None] * len(entries)
        if settings.retrieval_accuracy is not None:
            shown, wrong = replaced(
                entries, shown, settings.retrieval_accuracy, settings.replace_seed
            )
        pairs = list(zip(entries, shown, strict=True))[:limit]
        with_graphs = [one.id for one, graphs in pairs if graphs]
        drawn = set(ranked(with_graphs, f"rated/{settings.rated_seed}")[: settings.rated])
        for entry, graphs, number in zip(entries, shown, wrong, strict=True):
            meta: dict[str, Any] = {"entry": entry.id, "graphs": len(graphs)}
            absent = list(entry.absent or ())
            if settings.remove is not None:
                staying = self._staying.get(entry.id, ())
                graphs, removed = without(graphs, entry.minimum or (), settings.remove, staying)
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
                meta=meta | entry.meta,
            )
