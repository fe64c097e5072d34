"""The corpus of a task: what its retriever finds, and the gold passages that it holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from trueground.benchmarks.base import Sources
from trueground.benchmarks.instruct_qa import QaOptions
from trueground.benchmarks.instruct_qa.irrelevant import after_rank, not_found
from trueground.benchmarks.instruct_qa.items import Gold, QaQuestion
from trueground.errors import InputError, UsageError
from trueground.retrieval.gold import find_gold

if TYPE_CHECKING:
    from trueground.retrieval.base import OpenedRetriever
    from trueground.retrieval.corpora.reading import CorpusReading
    from trueground.retrieval.index import Index

# How many passages behind the wanted rank are looked at, where the first ones are gold.
_SPARE = 100


class FoundPassages(NamedTuple):
    """Passages of one question in rank order, by number.

    `rank` is that of an irrelevant one; None for one that the search did not find.
    """

    numbers: tuple[int, ...]
    rank: int | None = None


class PassageLibrary:
    """A corpus that is ready to be searched; `close` gives the retriever's memory back.

    `note` tells a user what he should know, once a command.
    """

    def __init__(self, source: Path, settings: QaOptions, sources: Sources) -> None:
        """Builds the index where there is none; in a dry run only for its time.

        UsageError, InputError, MissingExtraError.
        """
        self._source, self._written, self.note = source, settings.retriever, sources.note_once
        wanted = [settings.retriever] if settings.searches else []
        self.index, self._open = _ready(source, wanted, settings.passage_words, sources)
        self.signature = self._signature() if settings.searches else None
        self._searching: OpenedRetriever | None = None
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
        if problem := self.index.problem:
            self.note(problem)

    def find(
        self, items: Sequence[QaQuestion], queries: Sequence[str], settings: QaOptions
    ) -> list[FoundPassages]:
        """What each item is asked with: retrieved passages, or an irrelevant one."""
        if settings.setting == "retrieved":
            return [
                FoundPassages(tuple(found))
                for found in self.search(queries, settings.most_passages)
            ]
        ranked = self.search(queries, settings.irrelevant_rank + _SPARE)
        return [self._irrelevant(*pair, settings) for pair in zip(items, ranked, strict=True)]

    def _irrelevant(
        self, item: QaQuestion, ranked: Sequence[int], settings: QaOptions
    ) -> FoundPassages:
        """One behind the rank, or else one that was not found; none where there is neither."""
        passages = self.index.passages
        if (ranking := after_rank(item, ranked, settings.irrelevant_rank, passages)) is not None:
            number, rank = ranking
            return FoundPassages((number,), rank)
        drawn = not_found(item, ranked, passages)
        return FoundPassages(() if drawn is None else (drawn,))

    def look_up(self, items: Iterable[QaQuestion]) -> dict[Gold, frozenset[int]]:
        """The passages of each gold passage that comes without a text.

        InputError names the first that is not there.
        """
        passages = self.index.passages
        named: dict[Gold, QaQuestion] = {}
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
) -> tuple[Index, Callable[[str], OpenedRetriever]]:
    """The index of a corpus, and what opens its retrievers. UsageError: nothing to cut."""
    from trueground.benchmarks.instruct_qa.opening import open_kept, open_unkept
    from trueground.benchmarks.instruct_qa.trial import Trial
    from trueground.retrieval.corpora.reading import CorpusReading
    from trueground.retrieval.index import add_retrievers, ready_index

    if words is not None:
        _check_cut(source, CorpusReading(words=words))
    reading = CorpusReading() if words is None else CorpusReading(words=words)
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
        index = add_retrievers(known[key], wanted, sources.progress, note=sources.note)
    else:
        index = ready_index(source, wanted, reading, sources.progress, note=sources.note)
        known[key] = index.path
    if sources.cache:
        return index, lambda written: open_kept(index, written, sources.note_once)
    return index, lambda written: open_unkept(
        written, index.passages, lambda part: index.path / part.folder
    )


def _check_cut(source: Path, reading: CorpusReading) -> None:
    """UsageError where there are no documents to cut."""
    from trueground.retrieval.corpora.reading import corpus_files
    from trueground.retrieval.documents import ENDINGS
    from trueground.retrieval.index.file import is_index, read_index_file

    option = f"--passage-words {reading.words}"
    if is_index(source):
        state = read_index_file(source)
        if state.reading != reading.signature:
            raise UsageError(
                f"{option}: the corpus {source} is an index, whose passages are cut already "
                f"({state.reading}); leave the option out, or name the documents themselves with "
                "--corpus"
            )
    elif corpus_files(source)[0].suffix.lower() not in ENDINGS:
        raise UsageError(
            f"{option} is for documents, which are cut into passages; the corpus {source} has "
            "passages already: leave the option out"
        )
