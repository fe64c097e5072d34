"""The corpus of a task: what its retriever finds, and the gold passages that it holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from trueground.benchmarks.base import Sources
from trueground.benchmarks.instruct_qa.golden import is_gold
from trueground.benchmarks.instruct_qa.items import Gold, Item
from trueground.benchmarks.instruct_qa.settings import Settings
from trueground.errors import InputError, UsageError

if TYPE_CHECKING:
    from trueground.retrieval.base import Retriever
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
        """Builds the index where there is none. UsageError, InputError, MissingExtraError."""
        from trueground.retrieval.index import ready_index
        from trueground.retrieval.reading import Reading

        words = settings.passage_words
        reading = Reading() if words is None else Reading(words=words)
        self._written = settings.retriever
        wanted = [settings.retriever] if settings.searches else []
        # The files of a corpus are read through once a command, however many tasks search it.
        known: dict[tuple[Path, int | None], Path] = sources.shared.setdefault("corpora", {})
        place = known.get((source, words))
        self.index: Index = (
            ready_index(source, wanted, reading, sources.progress, note=sources.note)
            if place is None
            else ready_index(place, wanted, progress=sources.progress)
        )
        known[source, words] = self.index.path
        self.signature = self._signature() if settings.searches else None
        self._searching: tuple[Retriever, Callable[[], None]] | None = None
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
            opened = self.index.open(self._written)
            self._searching = opened.retriever, opened.close
        return [[hit.index for hit in hits] for hits in self._searching[0].search(queries, top)]

    def close(self) -> None:
        """Another search opens the retriever again."""
        if self._searching is not None:
            _, close = self._searching
            self._searching = None
            close()

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

    def look_up(self, items: Iterable[Item]) -> dict[str, list[int]]:
        """The passages of each gold passage that is known by a name or a page, by its key.

        InputError names the first that is not there.
        """
        passages = self.index.passages
        found: dict[str, list[int]] = {}
        for item in items:
            for gold in item.gold:
                name = key(gold)
                if not name or name in found:
                    continue
                number = passages.number(name) if gold.name is not None else None
                found[name] = passages.numbers_of_title(name) if number is None else [number]
                if not found[name]:
                    raise InputError(
                        f"{item.place}: the gold passage {gold} is not in the corpus "
                        f"{self.index.path}; expected the id or the title of one of its "
                        f"{len(passages):,} passages"
                    )
        return found

    def _signature(self) -> str:
        opened = self.index.open(self._written)
        try:
            return opened.retriever.signature
        finally:
            opened.close()


def key(gold: Gold) -> str:
    """By what a gold passage without a text is looked up; "" for one that has a text."""
    return "" if gold.text is not None else gold.name or gold.title or ""
