"""Retrievers, their queries and hits, and the files of each kind of retriever."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from trueground.components import ComponentSpec
from trueground.errors import InputError
from trueground.options import Progress
from trueground.records import describe

if TYPE_CHECKING:
    from trueground.wings.search.store import PassageStore


# The part of a conversation that is the query. "auto" is the row's `retrieval_query`, or all turns
# if it has none; "all" is all turns; "last" is the last turn.
FORMS = ("auto", "all", "last")
# The part of a retriever's signature that says that titles are searched too.
TITLED = ",title+text"


class Hit(NamedTuple):
    """A retrieved passage: its number in the corpus, and the retriever's score."""

    index: int  # type: ignore[assignment]  # hides tuple.index
    score: float


class SearchQuery(str):
    """A query: the turns of a conversation, the question last, and the id of its row.

    The text of the query is the turns, joined by spaces. Most retrievers use only that.

    Attributes:
        turns: The turns, for models that have a special separator between turns.
        id: The id of the row, which finds the row in a file of search results.
    """

    turns: tuple[str, ...]
    id: str | None

    def __new__(cls, *turns: str, id: str | None = None) -> SearchQuery:  # noqa: A002 - the field's name
        query = super().__new__(cls, " ".join(turns))
        query.turns, query.id = turns, id
        return query

    @classmethod
    def of_turns(
        cls, turns: Sequence[str], declared: str | None, form: str, row: str | None = None
    ) -> SearchQuery:
        """Return the query for the last turn of a conversation.

        Args:
            turns: The turns of a conversation, the question last.
            declared: The `retrieval_query` of the row, if it has one.
            form: One of `FORMS`.
            row: The id of the row.
        """
        if declared is not None and form == "auto":
            turns = (declared,)
        elif form == "last":
            turns = turns[-1:]
        return cls(*(turn for turn in map(str.strip, turns) if turn), id=row)

    @staticmethod
    def read_declared(location: str, row: Mapping[str, Any]) -> str | None:
        """Return the `retrieval_query` of a row, None if it has none.

        Args:
            location: The file and row, for errors.
            row: The row.

        Raises:
            InputError: It isn't a text, or it is blank.
        """
        declared = row.get("retrieval_query")
        if declared is None or (isinstance(declared, str) and declared.strip()):
            return declared
        raise InputError(
            f"{location}, field 'retrieval_query': found {describe(declared)}; expected the search "
            "query, as text"
        )


def turns_of(query: str) -> tuple[str, ...]:
    """Return the turns of a query, the question last; a plain text is a single turn."""
    return query.turns if isinstance(query, SearchQuery) else (query,)


class Retriever(Protocol):
    """Finds the passages of one corpus that match a query best.

    Attributes:
        name: The name of the retriever.
        signature: The method, its options and its model. It doesn't depend on the corpus.
    """

    name: str
    signature: str

    def search(self, queries: Sequence[str], top: int) -> list[list[Hit]]:
        """Return the hits of each query, best first.

        Hits with equal scores are in corpus order. Multi-hop retrieval has them in the order of
        its hops.

        Args:
            queries: The queries, plain texts or `SearchQuery`.
            top: The maximum number of hits per query.
        """
        ...


class OpenedRetriever(NamedTuple):
    """A retriever, and a function that frees the memory of its model and files."""

    retriever: Retriever
    close: Callable[[], None] = lambda: None


@dataclass(frozen=True)
class RetrieverKind:
    """A kind of retriever that keeps files in an index.

    All functions raise UsageError, InputError and MissingExtraError. If files are damaged and were
    made without a model, they are removed before `build` is called. Files made by a model may be
    hours of work: `build` has to fix them.

    Attributes:
        folder: Returns the name of the folder for a spec. Specs that share their files have the
            same folder; an option that changes the files changes the folder.
        build: Writes the folder. If it is interrupted and called again, it resumes. If everything
            is complete, it returns at once. Also raises WriteError.
        open: Opens the folder, memory-mapped. Raises InputError if files are missing or were made
            for other passages.
        check: Raises InputError if files are missing or damaged, without loading a model. Default:
            a retriever without a model is opened as a check; for one with a model, the folder only
            has to exist.
        over: Searches passages in memory, without files. Indexes and vectors are made by the first
            search. Default: the kind works only in an index.
    """

    folder: Callable[[ComponentSpec], str]
    build: Callable[[Path, PassageStore, ComponentSpec, Progress], None]
    open: Callable[[Path, PassageStore, ComponentSpec], OpenedRetriever]
    check: Callable[[Path, PassageStore, ComponentSpec], None] | None = None
    over: Callable[[ComponentSpec, PassageStore], OpenedRetriever] | None = None
