"""Distractors: passages that look like an answer to a question and hold none.

Source: Truly-Ground, step 5 and appendix A.9: the 40 nearest passages to a question, without those
of pages that hold a gold fact, added in the order of their rank.
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
    """What a question's gold contexts are: the titles or addresses of their pages, their texts."""

    pages: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()


def mine(
    corpus: MemoryCorpus,
    opened: OpenedRetriever,
    queries: Sequence[str],
    gold: Sequence[Gold],
    top: int = TOP,
) -> list[list[int]]:
    """For each query the numbers of its `top` distractors in the corpus, nearest first.

    Left out are all passages of the gold pages, passages whose text is that of a gold context, and
    those whose text came before (case and white space make no difference). Where that leaves fewer
    than `top`, the search goes deeper until there are as many or nothing more is found. UsageError:
    as many golds as queries are needed, and a `top` of 1 or more.
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
        found = opened.retriever.search([queries[i] for i in waiting], depth)
        deeper = []
        for i, hits in zip(waiting, found, strict=True):
            numbers = [hit.index for hit in hits]
            mined[i] = _distractors(corpus, numbers, gold[i], top)
            if len(mined[i]) < top and len(hits) == depth < len(corpus.passages):
                deeper.append(i)
        waiting, depth = deeper, min(4 * depth, len(corpus.passages))
    return mined


def fill(ranked: Sequence[int], lengths: Sequence[int], room: int, skip: bool = False) -> list[int]:
    """The passages, in rank order, that fit into `room` tokens together.

    `lengths[k]` are the tokens of `ranked[k]`. The first passage that does not fit ends the list:
    so a larger room only ever adds to a smaller one, and every point of a curve over room holds
    the nearest passages. With `skip` it is passed over and later, shorter ones may still come.
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
    found: list[int] = []
    for number in numbers:
        if len(found) == top:
            break
        if not pages.isdisjoint(corpus.passages.page_keys(number)):
            continue
        key = _text_key(corpus.passages.texts[number])
        if key not in seen:
            seen.add(key)
            found.append(number)
    return found


def _text_key(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())
