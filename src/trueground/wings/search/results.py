"""Results of a search that was made elsewhere, in place of a retriever: `file:RESULTS.json`.

DPR's          rows of question, ctxs: [{id, title, text, …}] (Karpukhin et al. 2020)
Instruct-QA's  rows of id_, indices: [passage number in the corpus, from 0]
a TREC run     lines of question id, Q0, passage id, rank, score, name
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from trueground.components import ComponentSpec
from trueground.errors import InputError, UsageError
from trueground.files import file_digest
from trueground.records import DataPath, describe
from trueground.wings.search.base import Hit, SearchQuery
from trueground.wings.search.gold import GoldPassage, same_text
from trueground.wings.search.search_words import words
from trueground.wings.search.store import PassageStore

NAME = "file"
_IDS = ("id", "id_", "qid", "q_id", "query_id", "question_id", "_id")
_FOUND = ("ctxs", "contexts", "indices")
_PASSAGE_IDS = ("id", "docid", "_id", "passage_id", "pid")
_TREC = 6  # fields of a line
# A passage that was found: its number where that is known, else by what to look it up; its score.
_Named = tuple[int | GoldPassage, float]


class ResultsRetriever:
    """Finds what a file says was found, for the same questions in the same passages.

    A question is known by its id, else by its words. Hits have the file's order (of a TREC run
    that of the scores, as its own tools read it). The file is read with the first search.
    """

    name = NAME
    nested = True

    def __init__(self, given: ComponentSpec, passages: PassageStore) -> None:
        """UsageError: no file is named. InputError: there is none."""
        given.check(())
        if given.model is None:
            raise UsageError(f"the retriever {NAME} needs results: {NAME}:RESULTS.json")
        self._path = Path(given.model).expanduser()
        DataPath(self._path).require_readable()
        self._passages = passages
        self.signature = f"{NAME}:{file_digest(self._path)[:16]}"

    def search(self, queries: Sequence[str], top: int) -> list[list[Hit]]:
        """For each query at most `top` hits, best first.

        InputError: the file cannot be read, it has no results for a question (a run may lack some,
        which found nothing), or a passage that the corpus has not.
        """
        found = [self._of(query) for query in queries]
        lacking = [query for query, hits in zip(queries, found, strict=True) if hits is None]
        if lacking and (not self._is_run or len(lacking) == len(queries)):
            id_ = lacking[0].id if isinstance(lacking[0], SearchQuery) else None
            raise InputError(
                f"{self._path} has no results for the question {lacking[0][:80]!r}"
                f"{f' (id {id_!r})' if id_ is not None else ''}; expected its id or its words "
                "there. Where questions have a history, --retrieval-query says which words"
            )
        return [(hits or [])[:top] for hits in found]

    def _of(self, query: str) -> list[Hit] | None:
        ids, texts = self._read
        hits = texts.get(_key(query), [])
        known = ids.get(query.id) if isinstance(query, SearchQuery) else None
        # Rows may be numbered otherwise than here: an id alone counts where the words are nowhere,
        # as those of a rewritten question; and it tells apart questions of the same words.
        if known is not None and (not hits or known in hits):
            return known
        if len(hits) > 1 and any(other != hits[0] for other in hits):
            raise InputError(
                f"{self._path} has {len(hits)} different results for the question {query[:80]!r}; "
                "expected ids by which they are told apart"
            )
        return hits[0] if hits else None

    @cached_property
    def _is_run(self) -> bool:
        return _start(self._path) not in (b"[", b"{")

    @cached_property
    def _read(self) -> tuple[dict[str | None, list[Hit]], dict[str, list[list[Hit]]]]:
        """The hits by the questions' ids, and by their words."""
        store = self._passages
        rows = list(_run(self._path) if self._is_run else _rows(self._path, store))
        named = {one for _, _, _, found in rows for one, _ in found if not isinstance(one, int)}
        numbers = {one: min(at, default=None) for one, at in GoldPassage.find(store, named).items()}
        ids: dict[str | None, list[Hit]] = {}
        texts: dict[str, list[list[Hit]]] = defaultdict(list)
        for place, id_, question, found in rows:
            best: dict[int, float] = {}
            for one, score in found:
                number = one if isinstance(one, int) else numbers[one]
                if number is None:
                    raise InputError(
                        f"{place}: the passage {one} is not in the corpus; expected results for "
                        f"its {len(store):,} passages"
                    )
                best.setdefault(number, score)
            hits = [Hit(number, score) for number, score in best.items()]
            if id_ is not None and ids.setdefault(id_, hits) is not hits:
                raise InputError(f"{place}: found the question {id_!r} again; expected it once")
            if question is not None:
                texts[_key(question)].append(hits)
        return ids, texts


_Row = tuple[str, str | None, str | None, list[_Named]]


def _key(question: str) -> str:
    """The words of a question, however its turns were joined."""
    return " ".join(words(question.replace("[SEP]", " ").replace("</s>", " ")))


def _start(path: Path) -> bytes:
    with DataPath(path).open() as stream:
        while (start := stream.read(1)).isspace() or start in (b"\xef", b"\xbb", b"\xbf"):
            pass
    return start


def _run(path: Path) -> Iterator[_Row]:
    """A TREC run, question by question."""
    found: dict[str, list[tuple[float, int, GoldPassage]]] = defaultdict(list)
    with DataPath(path).open() as stream:
        for number, line in enumerate(stream, 1):
            fields = line.decode("utf-8", "replace").split()
            if not fields:
                continue
            try:
                id_, _, passage, rank, score, *_ = fields
                if len(fields) != _TREC or (value := float(score)) != value:
                    raise ValueError
                found[id_].append((-value, int(rank), GoldPassage(id=passage)))
            except ValueError:
                shown = " ".join(fields)[:80]
                raise InputError(
                    f"{path}, line {number}: found {shown!r}; expected six fields of a TREC run: "
                    "question id, Q0, passage id, rank, score, name; or rows of JSON with ctxs"
                ) from None
    for id_, hits in found.items():
        hits.sort(key=lambda hit: hit[:2])
        yield str(path), id_, None, [(passage, -score) for score, _, passage in hits]


def _rows(path: Path, store: PassageStore) -> Iterator[_Row]:
    for place, row in DataPath(path).rows():
        known = next((row[name] for name in _IDS if row.get(name) is not None), None)
        question = next(
            (row[n] for n in ("question", "query") if isinstance(row.get(n), str)), None
        )
        field = next((name for name in _FOUND if isinstance(row.get(name), list)), None)
        if field is None or (known is None and question is None):
            raise InputError(
                f"{place}: found {describe(row)}; expected a question (or its id) with ctxs, a "
                "list of the passages that were found"
            )
        found = [
            _named(f"{place}, field '{field}[{i}]'", one, i, store)
            for i, one in enumerate(row[field])
        ]
        yield place, None if known is None else str(known), question, found


def _named(place: str, value: Any, rank: int, store: PassageStore) -> _Named:
    """A passage by its number, where the id and the text say the same; else by what it is."""
    if isinstance(value, int) and not isinstance(value, bool):
        if not 0 <= value < len(store):
            raise InputError(
                f"{place}: found {value}; expected the number of a passage, from 0 to "
                f"{len(store) - 1}"
            )
        return value, -float(rank)
    given: Mapping[str, Any] = value if isinstance(value, dict) else {"id": value}
    id_ = next((given[name] for name in _PASSAGE_IDS if given.get(name) is not None), None)
    text, title = given.get("text"), given.get("title")
    if not isinstance(text, str | None) or (id_ is None and not text):
        raise InputError(
            f"{place}: found {describe(value)}; expected a passage with id or text, or its number"
        )
    try:
        score = float(given.get("score", -rank))  # a number as text (DPR)
    except (TypeError, ValueError):
        score = -float(rank)  # what falls with the rank
    number = None if id_ is None else store.number(str(id_))
    if number is not None:
        here = store.texts[number]
        if text is None or text == here or same_text(text, here):
            return number, score
    if text is None:
        return GoldPassage(id=str(id_)), score
    return GoldPassage(text, title=title if isinstance(title, str) else None), score
