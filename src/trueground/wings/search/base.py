"""What a retriever is, what it finds, and how a kind of retriever keeps its files.

Also the words by which texts are compared: for BM25, and to tell whether two texts are the same.
"""

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


# What of a conversation is searched for: the row's `retrieval_query` or else all turns; all turns;
# the last one.
FORMS = ("auto", "all", "last")
TITLED = ",title+text"  # what is searched, in the signatures of retrievers


class Hit(NamedTuple):
    """A passage that was found: its number in the corpus, and the retriever's own score."""

    index: int  # type: ignore[assignment]  # hides tuple.index
    score: float


class SearchQuery(str):
    """What is searched for: a question behind the turns before it, and the id of its row.

    As a text it is the turns with a space between, which is all that most retrievers look at.
    `turns` are for those whose model has a separator of its own, the question last; `id` is for
    results that were found elsewhere.
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
        """Return the query of a question, the last of its turns.

        How the turns are joined is the retriever's choice.

        Args:
            turns: The turns of a conversation.
            declared: The `retrieval_query` of the row.
            form: One of FORMS.
            row: The id of the row.
        """
        if declared is not None and form == "auto":
            turns = (declared,)
        elif form == "last":
            turns = turns[-1:]
        return cls(*(turn for turn in map(str.strip, turns) if turn), id=row)

    @staticmethod
    def read_declared(place: str, row: Mapping[str, Any]) -> str | None:
        """Return the `retrieval_query` of a row. Raises InputError if it isn't a text, or blank."""
        declared = row.get("retrieval_query")
        if declared is None or (isinstance(declared, str) and declared.strip()):
            return declared
        raise InputError(
            f"{place}, field 'retrieval_query': found {describe(declared)}; expected what is "
            "searched for, as text"
        )


def turns_of(query: str) -> tuple[str, ...]:
    """The turns of a query, the question last; a plain text is a question alone."""
    return query.turns if isinstance(query, SearchQuery) else (query,)


class Retriever(Protocol):
    """Finds the passages of one corpus that are nearest to a query.

    `signature` names the method, its options and its model, not the corpus.
    """

    name: str
    signature: str

    def search(self, queries: Sequence[str], top: int) -> list[list[Hit]]:
        """For each query, which may be a `SearchQuery`, at most `top` hits, best first.

        Equal scores stand in corpus order, but for multi-hop retrieval: there in that of the hops.
        """
        ...


class OpenedRetriever(NamedTuple):
    """A retriever, and what gives the memory of its model and files back."""

    retriever: Retriever
    close: Callable[[], None] = lambda: None


@dataclass(frozen=True)
class RetrieverKind:
    """A kind of retriever that keeps files in an index.

    `folder` names the folder of what was written: the same for all that shares its files, another
    where an option changes them. `build` writes it; broken off and called again it goes on, and it
    returns at once where all is there. `open` reads it, memory-mapped. All raise UsageError,
    InputError and MissingExtraError; `build` also WriteError, `open` InputError where files are
    missing or were made for other passages.

    `check` raises InputError where files are missing or damaged, without loading a model. Without
    it, opening is the check of what is written without a model, and of others it is only seen that
    the folder is there. Damaged files that need no model are removed before `build` is called; what
    a model made may be hours of work, and is left to `build`, which fixes it.

    `over` searches passages in memory, without files; indexes and vectors are made with the first
    search. Without it the kind is for indexes alone.
    """

    folder: Callable[[ComponentSpec], str]
    build: Callable[[Path, PassageStore, ComponentSpec, Progress], None]
    open: Callable[[Path, PassageStore, ComponentSpec], OpenedRetriever]
    check: Callable[[Path, PassageStore, ComponentSpec], None] | None = None
    over: Callable[[ComponentSpec, PassageStore], OpenedRetriever] | None = None
