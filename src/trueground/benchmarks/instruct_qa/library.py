"""The corpus of a task: what its retriever finds, and the gold passages that it holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from trueground.benchmarks.base import Sources
from trueground.benchmarks.instruct_qa.items import Gold, Item
from trueground.benchmarks.instruct_qa.settings import Settings
from trueground.errors import InputError, UsageError
from trueground.retrieval.gold import find_gold, is_gold

if TYPE_CHECKING:
    from trueground.retrieval.base import Opened
    from trueground.retrieval.index import Index

# How many passages behind the wanted rank are looked at, where the first ones are gold.
_SPARE = 100


class Found(NamedTuple):
    """Passages of one question in rank order, by number; `rank` is that of an irrelevant one."""

    numbers: tuple[int, ...]
    rank: int | None = None


class Library:
    """A corpus that is ready to be searched; `close` gives the retriever's memory back."""

    def __init__(self, source: Path, settings: Settings, sources: Sources) -> None:
        """Builds the index where there is none; in a dry run only for its time.

        UsageError, InputError, MissingExtraError.
        """
        self._source, self._written, self._sources = source, settings.retriever, sources
        wanted = [settings.retriever] if settings.searches else []
        self.index, self._open = _ready(source, wanted, settings.passage_words, sources)
        self.signature = self._signature() if settings.searches else None
        self._searching: Opened | None = None
        size, rank = len(self.index.passages), settings.irrelevant_rank
        if settings.setting == "irrelevant" and size <= rank:
            most = f"at most {size - 1:,}" if size > 1 else "a corpus with more"
            raise UsageError(
                f"--irrelevant-rank {rank}: the corpus {source} has {size:,} passages, so none "
                f"comes after that rank; expected {most}"
            )

    def search(self, queries: Sequence[str], top: int) -> list[list[int]]:
        """For each query the numbers of at most `top` passages, best first."""
        if self._searching is None:
            self._searching = self._open(self._written)
        found = self._searching.retriever.search(queries, top)
        return [[hit.index for hit in hits] for hits in found]

    def close(self) -> None:
        """Another search opens the retriever again."""
        if self._searching is not None:
            close, self._searching = self._searching.close, None
            close()
        # Once a command, though every task has a cache of its own.
        told: set[str] = self._sources.shared.setdefault("told", set())
        if (problem := self.index.problem) and problem not in told:
            told.add(problem)
            self._sources.note(problem)

    def find(
        self, items: Sequence[Item], queries: Sequence[str], settings: Settings
    ) -> list[Found]:
        """What each item is asked with: retrieved passages, or an irrelevant one."""
        if settings.setting == "retrieved":
            return [Found(tuple(found)) for found in self.search(queries, settings.passages)]
        ranked = self.search(queries, settings.irrelevant_rank + _SPARE)
        return [self._irrelevant(*pair, settings) for pair in zip(items, ranked, strict=True)]

    def _irrelevant(self, item: Item, ranked: Sequence[int], settings: Settings) -> Found:
        """The first passage after the rank that is not gold, or else the last one before it."""
        rank = settings.irrelevant_rank
        places = [*range(rank, len(ranked)), *reversed(range(min(rank, len(ranked))))]
        for place in places:
            number = ranked[place]
            if not any(is_gold(self.index.passages, number, gold) for gold in item.gold):
                return Found((number,), place + 1)
        return Found(())

    def look_up(self, items: Iterable[Item]) -> dict[Gold, frozenset[int]]:
        """The passages of each gold passage that comes without a text.

        InputError names the first that is not there.
        """
        passages = self.index.passages
        named: dict[Gold, Item] = {}
        for item in items:
            for gold in item.gold:
                if gold.text is None:
                    named.setdefault(gold, item)
        found = find_gold(passages, named)
        for gold, numbers in found.items():
            if not numbers:
                raise InputError(
                    f"{named[gold].place}: the gold passage {gold} is not in the corpus "
                    f"{self._source}; expected the id or the title of one of its "
                    f"{len(passages):,} passages"
                )
        return found

    def _signature(self) -> str:
        opened = self._open(self._written)
        try:
            return opened.retriever.signature
        finally:
            opened.close()


def _ready(
    source: Path, wanted: Sequence[str], words: int | None, sources: Sources
) -> tuple[Index, Callable[[str], Opened]]:
    """The index of a corpus, and what opens its retrievers."""
    from trueground.benchmarks.instruct_qa.trial import Trial
    from trueground.retrieval.index import add_retrievers, ready_index
    from trueground.retrieval.reading import Reading

    reading = Reading() if words is None else Reading(words=words)
    # The files of a corpus are read through once a command, however many tasks search it.
    key = source, words
    if sources.scratch is not None:
        trials: dict[tuple[Path, int | None], Trial] = sources.shared.setdefault("trials", {})
        if key not in trials:
            folder = sources.scratch / str(len(trials))
            trials[key] = Trial(source, folder, reading, wanted, sources.progress, sources.note)
        trials[key].add(wanted)
        return trials[key].index, trials[key].open
    known: dict[tuple[Path, int | None], Path] = sources.shared.setdefault("corpora", {})
    if key in known:
        index = add_retrievers(known[key], wanted, sources.progress)
    else:
        index = ready_index(source, wanted, reading, sources.progress, note=sources.note)
        known[key] = index.path
    return index, index.open
