"""Step 1: sets of documents by popularity and by links (Truly-Ground, A.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from functools import partial
from itertools import islice

from trueground.benchmarks.base import Value
from trueground.builders.base import BatchStage
from trueground.builders.draws import draw, key
from trueground.builders.grounding.documents.document import SourceDocument
from trueground.builders.grounding.documents.links import by_hops, links_of
from trueground.builders.grounding.documents.passages import chosen_passage
from trueground.builders.grounding.documents.popularity import lists
from trueground.builders.grounding.items import DocumentSet, Popularity
from trueground.builders.grounding.settings import Choosing, settle
from trueground.builders.rejected import Rejected

LEVELS: tuple[Popularity, ...] = ("high", "low")
REASONS = {
    "no_popularity": "the document has no number of its popularity",
    "middling": "the document is neither among the popular nor among the unpopular ones",
    "no_linked_document": "no document of the same popularity is linked to it near enough",
    "same_set": "the same documents are a set already",
    "not_drawn": "more sets of its class than --sets were there, and others were drawn",
}


def sets_stage(options: Mapping[str, Value], seed: int) -> BatchStage[SourceDocument, DocumentSet]:
    """Documents → sets: each popular or unpopular document alone, and with one it is linked to.

    The other one is drawn by the seed: first the number of links between them, then one of the
    documents of the same popularity at that distance. UsageError: an option that cannot be meant.
    """
    choosing = settle(options)

    def work(documents: Sequence[SourceDocument]) -> list[DocumentSet | Rejected]:
        return _sets(documents, choosing, seed)

    doc = "Choose documents by popularity, alone and with one that they are linked to"
    return BatchStage("sets", doc, SourceDocument, DocumentSet, work, REASONS, fan_out=1.2)


def _sets(
    documents: Sequence[SourceDocument], choosing: Choosing, seed: int
) -> list[DocumentSet | Rejected]:
    by_id = {one.id: one for one in documents}
    numbers = {one.id: one.popularity for one in documents if one.popularity is not None}
    popularity = lists(numbers, choosing.share)
    lists_of = {level: {one for one in popularity if popularity[one] == level} for level in LEVELS}
    links = links_of(documents)
    found: list[DocumentSet] = []
    dropped: list[Rejected] = []
    seen: dict[frozenset[str], str] = {}
    for one in sorted(documents, key=lambda one: one.id):
        if one.id not in popularity:
            dropped.append(_unlisted(one))
            continue
        level = popularity[one.id]
        found.append(_set((one,), level, 0, choosing))
        drawn = _drawn(one.id, links, lists_of[level], choosing.hops, seed)
        if drawn is None:
            dropped.append(Rejected("no_linked_document", one.title, id=one.id))
            continue
        other, hops = drawn
        id_ = set_id(one.id, other)
        first = seen.setdefault(frozenset((one.id, other)), id_)
        if first == id_:
            found.append(_set((one, by_id[other]), level, hops, choosing))
        else:
            dropped.append(Rejected("same_set", f"as {first}", id=id_))
    kept, undrawn = _limited(found, choosing.sets, seed)
    return [*kept, *dropped, *undrawn]


def _unlisted(document: SourceDocument) -> Rejected:
    if document.popularity is None:
        return Rejected("no_popularity", document.title, id=document.id)
    return Rejected("middling", f"{document.title}: {document.popularity:g}", id=document.id)


def _set(
    documents: tuple[SourceDocument, ...], level: Popularity, hops: int, choosing: Choosing
) -> DocumentSet:
    first, *others = documents
    naming = others[0].title if hops == 1 else None
    contexts = [chosen_passage(first, choosing.context_words, naming)]
    contexts += [chosen_passage(one, choosing.context_words) for one in others]
    return DocumentSet(set_id(*(one.id for one in documents)), tuple(contexts), level, hops)


def set_id(*documents: str) -> str:
    """The set's id: those of its documents with + between; % and + in them are written %25, %2B."""
    return "+".join(one.replace("%", "%25").replace("+", "%2B") for one in documents)


def _drawn(
    start: str, links: Mapping[str, Sequence[str]], among: Set[str], most: int, seed: int
) -> tuple[str, int] | None:
    """(one of the documents that are near, how many links lie between); None: there is none.

    The distance is drawn before the document: those far away are many more.
    """
    reached: list[set[str]] = []
    further = by_hops(start, links)
    for hops in sorted(range(1, most + 1), key=partial(key, key(f"distance/{seed}", start))):
        reached += islice(further, max(0, hops - len(reached)))
        there = among & reached[hops - 1]
        if there:
            return draw(f"end/{seed}", start, there), hops
    return None


def _limited(
    sets: Sequence[DocumentSet], most: int | None, seed: int
) -> tuple[list[DocumentSet], list[Rejected]]:
    """(at most so many sets of each class, those that were not drawn)."""
    if most is None:
        return list(sets), []
    classes: dict[tuple[str, int], list[str]] = {}
    for one in sets:
        classes.setdefault((one.popularity, len(one.contexts)), []).append(one.id)
    order = partial(key, f"sets/{seed}")
    drawn = {one for ids in classes.values() for one in sorted(ids, key=order)[:most]}
    undrawn = [Rejected("not_drawn", id=one.id) for one in sets if one.id not in drawn]
    return [one for one in sets if one.id in drawn], undrawn
