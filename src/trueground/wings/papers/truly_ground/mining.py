"""Mine distractors: passages that are similar to a question but don't answer it.

Following step 5 and appendix A.9 of Truly-Ground, these are the 40 nearest passages, in the order
of their rank, without those of pages that have a gold fact.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from trueground.errors import UsageError
from trueground.wings.search import MemoryCorpus, OpenedRetriever, page_key

TOP = 40


@dataclass(frozen=True)
class Gold:
    """Gold contexts of a question: titles or addresses of their pages, and their texts."""

    pages: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()


def mine(
    corpus: MemoryCorpus,
    opened: OpenedRetriever,
    queries: Sequence[str],
    gold: Sequence[Gold],
    top: int = TOP,
) -> list[list[int]]:
    """Return the distractors of each query as indices into the corpus, nearest first.

    Passages of gold pages are left out, and so are passages with the text of a gold context or of
    an earlier distractor. Case and whitespace are ignored. If fewer than `top` are left, the search
    goes deeper.

    Args:
        corpus: The corpus.
        opened: The retriever of the corpus.
        queries: The queries.
        gold: The gold contexts of each query.
        top: The number of distractors per query.

    Raises:
        UsageError: The numbers of queries and golds differ, or `top` is below 1.
    """
    if len(queries) != len(gold) or top < 1:
        raise UsageError(
            f"distractors: {len(queries)} queries, {len(gold)} golds, top={top}; "
            "expected one gold for each query, and a top of 1 or more"
        )
    mined: list[list[int]] = [[] for _ in queries]
    waiting = list(range(len(queries)))
    depth = 2 * top
    while waiting:
        results = opened.retriever.search([queries[i] for i in waiting], depth)
        deeper = []
        for i, hits in zip(waiting, results, strict=True):
            numbers = [hit.index for hit in hits]
            mined[i] = _distractors(corpus, numbers, gold[i], top)
            if len(mined[i]) < top and len(hits) == depth < len(corpus.passages):
                deeper.append(i)
        waiting, depth = deeper, min(4 * depth, len(corpus.passages))
    return mined


def fill(ranked: Sequence[int], lengths: Sequence[int], room: int, skip: bool = False) -> list[int]:
    """Return the passages, in rank order, that fit into a number of tokens.

    The first passage that doesn't fit ends the list. A larger limit therefore only adds passages.

    Args:
        ranked: The passages.
        lengths: The number of tokens of each passage.
        room: The maximum number of tokens.
        skip: Skip passages that don't fit, instead of ending the list.
    """
    taken: list[int] = []
    for passage, length in zip(ranked, lengths, strict=True):
        if length <= room:
            taken.append(passage)
            room -= length
        elif not skip:
            break
    return taken


def _distractors(corpus: MemoryCorpus, numbers: Sequence[int], gold: Gold, top: int) -> list[int]:
    pages = {page_key(page) for page in gold.pages}
    seen = {_text_key(text) for text in gold.texts}
    distractors: list[int] = []
    for number in numbers:
        if len(distractors) == top:
            break
        if not pages.isdisjoint(corpus.passages.page_keys(number)):
            continue
        key = _text_key(corpus.passages.texts[number])
        if key not in seen:
            seen.add(key)
            distractors.append(number)
    return distractors


def _text_key(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())
