"""The corpus of a task: ready to be searched, what its retriever finds, the gold that it holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from math import gcd
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, NamedTuple

from trueground.benchmarks.base import Sources
from trueground.benchmarks.instruct_qa import QaOptions
from trueground.benchmarks.instruct_qa.source import QaQuestion
from trueground.components.specs import ComponentSpec
from trueground.errors import InputError, UsageError
from trueground.retrieval.base import OpenedRetriever
from trueground.retrieval.gold import GoldPassage, find_gold, is_gold
from trueground.retrieval.kinds import compose
from trueground.retrieval.store import PassageStore
from trueground.retrieval.words import words
from trueground.text.draws import draw_number

if TYPE_CHECKING:
    from trueground.retrieval.index import Index, IndexPart

Open = Callable[[str], OpenedRetriever]
# How many passages behind the wanted rank are looked at, where the first ones are gold.
_SPARE = 100


class FoundPassages(NamedTuple):
    """Passages of one question in rank order, by number.

    `rank` is that of an irrelevant one; None for one that the search did not find.
    """

    numbers: tuple[int, ...]
    rank: int | None = None


class QaCorpus:
    """A corpus that is ready to be searched; `close` gives the retriever's memory back.

    `note` tells a user what he should know, once a command. `signature` is the retriever's.
    """

    def __init__(self, source: Path, options: QaOptions, sources: Sources) -> None:
        """Builds the index where there is none; in a dry run only for its time.

        UsageError, InputError, MissingExtraError.
        """
        self._source, self._options, self.note = source, options, sources.note_once
        wanted = [options.retriever] if options.searches else []
        self.index, self._open = _ready(source, wanted, sources)
        self.signature = None
        if options.searches:
            opened = self._open(options.retriever)
            self.signature = opened.retriever.signature
            opened.close()
        self._searching: OpenedRetriever | None = None
        size, rank = len(self.index.passages), options.irrelevant_rank
        if options.setting == "irrelevant" and size <= rank:
            most = f"at most {size - 1:,}" if size > 1 else "a corpus with more"
            raise UsageError(
                f"--irrelevant-rank {rank}: the corpus {source} has {size:,} passages, so none "
                f"comes after that rank; expected {most}"
            )

    def close(self) -> None:
        """Another search opens the retriever again."""
        if self._searching is not None:
            close, self._searching = self._searching.close, None
            close()
        # Once a command, though every task has a cache of its own.
        if problem := self.index.problem:
            self.note(problem)

    def find(self, items: Sequence[QaQuestion], queries: Sequence[str]) -> list[FoundPassages]:
        """What each item is asked with: retrieved passages, or an irrelevant one."""
        rank, retrieved = self._options.irrelevant_rank, self._options.setting == "retrieved"
        top = self._options.most_passages if retrieved else rank + _SPARE
        if self._searching is None:
            self._searching = self._open(self._options.retriever)
        hits = self._searching.retriever.search(queries, top)
        ranked = [tuple(hit.index for hit in found) for found in hits]
        if retrieved:
            return [FoundPassages(numbers) for numbers in ranked]
        passages = self.index.passages
        pairs = zip(items, ranked, strict=True)
        return [_irrelevant(item, numbers, rank, passages) for item, numbers in pairs]

    def look_up(self, items: Iterable[QaQuestion]) -> dict[GoldPassage, frozenset[int]]:
        """The passages of each gold passage without a text. InputError: one that is not there."""
        passages = self.index.passages
        named: dict[GoldPassage, QaQuestion] = {}
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


def _irrelevant(
    item: QaQuestion, ranked: Sequence[int], rank: int, passages: PassageStore
) -> FoundPassages:
    """The first passage behind the rank that is not gold; else one that the search did not find.

    That one is not gold, and no reference answer stands in it or its title, word for word. Which
    one it is depends on the question's id and the size of the corpus. Without either there is none.
    """

    def gold(number: int) -> bool:
        return any(is_gold(passages, number, one) for one in item.gold)

    for place, number in enumerate(ranked[rank:], start=rank + 1):
        if not gold(number):
            return FoundPassages((number,), place)
    found = set(ranked)
    answers = [_spaced(one) for one in item.references if words(one)]
    for number in shuffled(item.id, len(passages)):
        if number not in found and not gold(number):
            text = _spaced(passages.searched[number])
            if not any(answer in text for answer in answers):
                return FoundPassages((number,))
    return FoundPassages(())


def _spaced(text: str) -> str:
    return f" {' '.join(words(text))} "


def shuffled(seed: str, size: int) -> Iterator[int]:
    """Every number below `size` once, in an order that depends on the seed; no list is made."""
    high, low = divmod(draw_number(seed), 1 << 128)
    start, step = high % size, 1 + low % size
    while gcd(step, size) > 1:
        step += 1
    for i in range(size):
        yield (start + i * step) % size


def _ready(source: Path, wanted: Sequence[str], sources: Sources) -> tuple[Index, Open]:
    """The index of a corpus, and what opens its retrievers."""
    from trueground.retrieval.building import add_retrievers, ready_index

    if sources.scratch is not None:
        return _scratch_index(source, wanted, sources, sources.scratch)
    # The files of a corpus are read through once a command, however many tasks search it.
    known: dict[Path, Path] = sources.shared.setdefault("corpora", {})
    progress, note = sources.progress, sources.note
    if source in known:
        index = add_retrievers(known[source], wanted, progress, note=note)
    else:
        index = ready_index(source, wanted, progress=progress, note=note)
        known[source] = index.path

    def open_uncached(written: str) -> OpenedRetriever:
        return _open_uncached(written, index, lambda part: index.path / part.folder)

    def open_cached(written: str) -> OpenedRetriever:
        """Its hits are kept; where the file of hits cannot be used, a note says so."""
        try:
            return index.open(written)
        except UsageError as error:
            opened = open_uncached(written)  # what is wrong with the retriever itself is raised
            sources.note_once(f"what retrievers find is not kept for the next time: {error}")
            return opened

    return index, open_cached if sources.cache else open_uncached


def _open_uncached(
    written: str, index: Index, place: Callable[[IndexPart], Path]
) -> OpenedRetriever:
    """Neither hits nor vectors of questions are kept or read; `place` is a part's folder."""
    from trueground.retrieval.index import parts_of

    def open_base(given: ComponentSpec) -> OpenedRetriever:
        [part] = parts_of([given.written])
        return part.kind.open(place(part), index.passages, replace(given, cache=False))

    return compose(written, open_base, index.passages)


def _scratch_index(
    source: Path, wanted: Sequence[str], sources: Sources, scratch: Path
) -> tuple[Index, Open]:
    """The index of a corpus for a dry run: as it is, what it lacks in a folder that goes again.

    What needs a model is not made: that may be hours of work, which would be thrown away.
    UsageError, InputError, MissingExtraError, WriteError.
    """
    from trueground.retrieval.building import build_index, default_place, ready_index
    from trueground.retrieval.index import Index, is_index, parts_of

    def check_cheap(parts: Iterable[IndexPart]) -> None:
        for part in parts:
            if part.given.model is not None:
                raise UsageError(
                    f"--dry-run: {part.written} needs a vector of every passage of {source}, and "
                    "they are not made yet; a dry run would make them and throw them away. Make "
                    f"them first: trueground index build {quote(str(source))} --retriever "
                    f"{quote(part.written)}"
                )

    progress = sources.progress
    numbers: dict[Path, str] = sources.shared.setdefault("scratch indices", {})
    folder = scratch / numbers.setdefault(source, str(len(numbers)))
    made = folder / "index"
    if is_index(source):
        index = ready_index(source, [])
    elif is_index(place := default_place(source, progress=progress)):
        index = Index(place)
    elif is_index(made):
        index = Index(made)
    else:
        check_cheap(parts_of(wanted))
        folder.mkdir(parents=True, exist_ok=True)
        index = build_index(source, made, [], progress=progress, note=sources.note)

    def place_of(part: IndexPart) -> Path:
        return (folder if index.missing([part.written]) else index.path) / part.folder

    lacking = parts_of(index.missing(wanted))
    check_cheap(lacking)
    for part in lacking:
        folder.mkdir(parents=True, exist_ok=True)
        part.kind.build(place_of(part), index.passages, part.given, progress)
    return index, lambda written: _open_uncached(written, index, place_of)
