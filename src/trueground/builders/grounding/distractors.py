"""Step 5: near passages of other documents (section 3.2, appendix A.9). No model is asked."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import msgspec

from trueground.benchmarks.truly_ground.distractors import make_counter
from trueground.benchmarks.truly_ground.source import format_context
from trueground.builders.base import BatchStage
from trueground.builders.grounding.instances import Instance
from trueground.builders.grounding.items import Context
from trueground.retrieval.corpora.corpus import Corpus, PassageEntry
from trueground.retrieval.distractors import Gold, fill, mine
from trueground.retrieval.kinds import open_over
from trueground.types import Passage

BUDGET = 2_048  # tokens of all contexts together in the set 2k_distractor
_BRACKETS = re.compile(r"\[(\S+)\]$")
USUAL, ALL = "2k_distractor", "all_distractor"


def by_id(passages: Iterable[Context]) -> Mapping[str, Context]:
    """The passages by the ids that the files give them."""
    return {f"L_DOC{number}": passage for number, passage in enumerate(passages)}


def check_retriever(written: str, *, try_it: bool) -> None:
    """See that the retriever can be had before anything is paid for.

    UsageError: what was written; MissingExtraError, where it is tried.
    """
    opened = open_over(
        written, Corpus([PassageEntry("a first passage", "0"), PassageEntry("a second one", "1")])
    )
    try:
        if try_it:
            opened.retriever.search(["a passage"], 1)
    finally:
        opened.close()


def distractors_stage(
    passages: Callable[[], Mapping[str, Context]], retriever: str, top: int
) -> BatchStage[Instance, Instance]:
    """Instances → the same with the ids of their nearest passages, alike in both versions.

    Passages of documents that hold a gold context are left out.
    """

    def work(items: Sequence[Instance]) -> list[Instance]:
        if not items:
            return []
        corpus = Corpus(
            PassageEntry(one.text, id_, title_of(one), one.document)
            for id_, one in passages().items()
        )
        queries = [item.original.pair.question for item in items]
        opened = open_over(retriever, corpus)
        try:
            mined = mine(corpus, opened.retriever, queries, [_gold(item) for item in items], top)
        finally:
            opened.close()
        return [
            msgspec.structs.replace(item, distractors=tuple(corpus.ids[i] for i in found))
            for item, found in zip(items, mined, strict=True)
        ]

    doc = "Find near passages of other documents"
    return BatchStage(name="distractors", doc=doc, takes=Instance, gives=Instance, work=work)


def sets(
    item: Instance, passages: Mapping[str, Context]
) -> Iterator[tuple[str, Sequence[Context]]]:
    """The sets of the file of distractors: those that fit into 2,048 tokens, and all of them.

    A token is taken as 4 characters, as `trueground run` does without a tokenizer.
    """
    found = [passages[id_] for id_ in item.distractors]
    lengths = make_counter(None, None).count_tokens(
        [format_context(as_passage(one)) for one in found]
    )
    gold = make_counter(None, None).count_tokens(
        [format_context(as_passage(one)) for one in _contexts(item)]
    )
    fitting = fill(range(len(found)), lengths, BUDGET - sum(gold))
    yield USUAL, [found[number] for number in fitting]
    yield ALL, found


def as_passage(context: Context) -> Passage:
    """As the benchmark reads it."""
    return Passage(context.text, title=title_of(context))


def title_of(context: Context) -> str:
    """The title as a file can hold it: a word in brackets at its end would be an address."""
    title = " ".join((context.title or context.document).split())
    return _BRACKETS.sub(r"(\1)", title)


def _contexts(item: Instance) -> Sequence[Context]:
    """Of the original: so both versions get the same distractors."""
    return item.original.pair.contexts


def _gold(item: Instance) -> Gold:
    old = item.original.pair.contexts
    new = item.conflict.contexts if item.conflict is not None else ()
    pages = {name for one in old for name in (one.document, one.title) if name}
    return Gold(tuple(sorted(pages)), tuple(one.text for one in (*old, *new)))
