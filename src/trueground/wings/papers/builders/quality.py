"""What a built benchmark is like, for summary.json, the page and the data card.

Sizes, lengths, factors, duplicates, overlap, agreement. Words are those of the normalizer
"faitheval" (text/): small letters, without punctuation and articles. Lengths count words in any
script, also in those that put no spaces between them.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import combinations, pairwise
from typing import Any

import msgspec

from trueground.stats import log1p, mean
from trueground.wings.papers.builders.base import BuiltDataset
from trueground.wings.papers.builders.checks import count_words

BINS = 12
# A table with more rows or columns than this is none that anybody reads.
_WIDEST = 20
# Two questions are nearly the same where they share four fifths of their words, each weighted by
# how rare it is: a pattern that all questions follow does not make them alike.
NEAR = 0.8
# Comparisons for each rare word of a question, so that work grows with the number of questions.
_MOST = 50
_GROUPS, _MEMBERS = 5, 5


class BuiltItem(msgspec.Struct, frozen=True, omit_defaults=True):
    """One item of a dataset: what is asked, what is read, what is expected.

    `factors` are its classes by name ({"task": "unanswerable", "popularity": "high"}); `numbers`
    what else is counted of it ({"gold_facts": 4}). `answerable` is what a judge model said of
    whether the contexts answer the question, and None where none was asked just that.
    """

    id: str
    question: str
    contexts: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    factors: Mapping[str, str] = {}
    numbers: Mapping[str, float] = {}
    answerable: bool | None = None


def compute_quality(dataset: BuiltDataset) -> dict[str, Any]:
    """The numbers of the report, with full precision; None where nothing could be measured."""
    items, names = dataset.quality, list(dataset.factors)
    return {
        "items": len(items),
        "sizes": count_sizes(items),
        "lengths": measure_lengths(items),
        "factors": count_factors(items, names),
        "crossed": cross_factors(items, names),
        "duplicates": find_duplicates(items),
        "overlap": measure_overlap(items),
        "answerable": count_answerable(items, names),
        "human": dataset.human,
        "numbers": summarize_numbers(items),
    }


def count_sizes(items: Sequence[BuiltItem]) -> dict[str, int]:
    """Items, contexts and answers, each also without repetitions of the same text."""
    contexts = [text for item in items for text in item.contexts]
    answers = [text for item in items for text in item.answers]
    return {
        "items": len(items),
        "questions_distinct": len({item.question for item in items}),
        "contexts": len(contexts),
        "contexts_distinct": len(set(contexts)),
        "answers": len(answers),
        "words": sum(count_words(text) for text in contexts)
        + sum(count_words(item.question) for item in items),
    }


def measure_lengths(items: Sequence[BuiltItem]) -> dict[str, Any]:
    """Words of each question, of all contexts of an item, of each answer; contexts of an item."""
    return {
        "question": summarize([count_words(item.question) for item in items]),
        "contexts": summarize(
            [sum(count_words(text) for text in p.contexts) for p in items if p.contexts]
        ),
        "answer": summarize([count_words(text) for item in items for text in item.answers]),
        "contexts_per_item": summarize([len(item.contexts) for item in items]),
    }


def find_duplicates(items: Sequence[BuiltItem]) -> dict[str, Any]:
    """The same question, the same contexts, both the same; questions that are nearly the same."""
    from trueground.metrics import tokenize
    from trueground.text import Normalizer

    ids = [item.id for item in items]
    rule = Normalizer.named("faitheval")
    questions = tokenize([item.question for item in items], rule).strings()
    whole = tokenize(["\n".join(item.contexts) for item in items], rule).strings()
    both = [(q, c) if q else None for q, c in zip(questions, whole, strict=True)]
    return {
        "question": group_same([text or None for text in questions], ids),
        "contexts": group_same([text or None for text in whole], ids),
        "both": group_same(both, ids),
        "near_question": group_near(questions, ids),
    }


def measure_overlap(items: Sequence[BuiltItem]) -> dict[str, Any]:
    """How much of question and answer stands in the contexts.

    `question`: the share of its content words that stand there, over items with contexts and such
    words. `answer`: in how many items one of the answers stands there as a whole phrase, of those
    with answers and contexts.
    """
    from trueground.metrics import tokenize
    from trueground.text import Normalizer, contains_words
    from trueground.wings.papers.content_words import content_words

    read = [item for item in items if item.contexts]
    asked = [" ".join(sorted(content_words(item.question))) for item in read]
    there = ["\n".join(item.contexts) for item in read]
    rule = Normalizer.named("faitheval")
    tokens = tokenize(asked + there, rule)
    n = len(read)
    counts = tokens.part(0, n).overlap(tokens.part(n, 2 * n))
    some = counts.a > 0
    cuts = [0]
    for item in read:
        cuts.append(cuts[-1] + len(item.answers))
    answers = tokenize([text for item in read for text in item.answers], rule).strings()
    contexts = tokens.part(n, 2 * n).strings()
    found = [
        any(contains_words(context, answer) for answer in answers[a:b])
        for (a, b), context in zip(pairwise(cuts), contexts, strict=True)
        if b > a
    ]
    return {
        "question": summarize((counts.common[some] / counts.a[some]).tolist(), 0.0, 1.0),
        "answer": {"items": len(found), "found": sum(found)},
    }


def count_factors(items: Sequence[BuiltItem], names: Iterable[str]) -> dict[str, dict[str, int]]:
    """Factor → value → number of items; the empty value where an item has none."""
    return {
        name: dict(sorted(Counter(item.factors.get(name, "") for item in items).items()))
        for name in names
    }


def cross_factors(items: Sequence[BuiltItem], names: Sequence[str]) -> list[dict[str, Any]]:
    """A table of counts for every two factors with at most twenty values each."""
    found = count_factors(items, names)
    few = [name for name in names if 1 < len(found[name]) <= _WIDEST]
    tables = []
    for rows, columns in combinations(few, 2):
        n = Counter((one.factors.get(rows, ""), one.factors.get(columns, "")) for one in items)
        counts = {row: {column: n[row, column] for column in found[columns]} for row in found[rows]}
        tables.append({"rows": rows, "columns": columns, "counts": counts})
    return tables


def count_answerable(items: Sequence[BuiltItem], names: Iterable[str]) -> dict[str, Any] | None:
    """How many items a judge called answerable, in all and by factor; None if nobody was asked."""
    asked = [item for item in items if item.answerable is not None]
    if not asked:
        return None

    def count(some: Iterable[BuiltItem]) -> dict[str, int]:
        said = [item.answerable for item in some]
        return {"asked": len(said), "yes": sum(map(bool, said))}

    by: dict[str, dict[str, dict[str, int]]] = {}
    for name in names:
        groups: dict[str, list[BuiltItem]] = defaultdict(list)
        for item in asked:
            groups[item.factors.get(name, "")].append(item)
        by[name] = {value: count(groups[value]) for value in sorted(groups)}
    return {**count(asked), "by": by}


def summarize_numbers(items: Sequence[BuiltItem]) -> dict[str, Any]:
    """Name → how the items' numbers of that name spread."""
    found: dict[str, list[float]] = defaultdict(list)
    for item in items:
        for name, value in item.numbers.items():
            found[name].append(value)
    return {name: summarize(found[name]) for name in sorted(found)}


def group_same(keys: Sequence[Hashable], ids: Sequence[str]) -> dict[str, Any]:
    """Items with the same key: groups, items beyond the first of each, examples by their ids.

    What has no key (None) is like nothing else.
    """
    groups: dict[Hashable, list[str]] = defaultdict(list)
    for key, id_ in zip(keys, ids, strict=True):
        if key is not None:
            groups[key].append(id_)
    return _account([group for group in groups.values() if len(group) > 1])


def group_near(texts: Sequence[str], ids: Sequence[str]) -> dict[str, Any]:
    """Items whose normalized texts are nearly the same, those that are the same left out.

    Text and id of one item each stand for all that are the same. Chains count as one group.
    """
    firsts: dict[str, str] = {}
    for text, id_ in zip(texts, ids, strict=True):
        if text:
            firsts.setdefault(text, id_)
    distinct = sorted(firsts)
    found = _linked(distinct)
    # In the order of the items, so that examples are those met first.
    place = {id_: number for number, id_ in enumerate(ids)}
    groups = [
        sorted((firsts[distinct[k]] for k in group), key=place.__getitem__) for group in found
    ]
    groups.sort(key=lambda group: place[group[0]])
    return {"threshold": NEAR, **_account(groups)}


def _account(groups: Sequence[Sequence[str]]) -> dict[str, Any]:
    return {
        "groups": len(groups),
        "items": sum(len(group) - 1 for group in groups),
        "examples": [list(group[:_MEMBERS]) for group in groups[:_GROUPS]],
    }


def _linked(texts: Sequence[str]) -> list[list[int]]:
    """Groups of texts that are joined by pairs whose likeness is NEAR or more."""
    bags = [frozenset(text.split()) for text in texts]
    found_in = Counter(word for bag in bags for word in bag)
    weight = {word: log1p(len(bags) / n) for word, n in found_in.items()}
    # fsum: the same number whatever the order of a set.
    totals = [math.fsum(weight[word] for word in bag) for bag in bags]
    parent = list(range(len(bags)))

    def root(k: int) -> int:
        while parent[k] != k:
            parent[k] = k = parent[parent[k]]
        return k

    def alike(j: int, k: int) -> bool:
        if min(totals[j], totals[k]) < NEAR * max(totals[j], totals[k]):
            return False
        common = math.fsum(weight[word] for word in bags[j] & bags[k])
        return common >= NEAR * (totals[j] + totals[k] - common)

    seen: dict[str, list[int]] = defaultdict(list)
    for k, bag in enumerate(bags):
        # The rarest words, of which any text that is alike has at least one: those left out weigh
        # less than NEAR of the whole, and alone cannot make a text alike.
        telling, left = [], totals[k]
        for word in sorted(bag, key=lambda word: (found_in[word], word)):
            if left < NEAR * totals[k] - 1e-9:
                break
            left -= weight[word]
            telling.append(word)
        for j in sorted({j for word in telling for j in seen[word][-_MOST:]}):
            if root(j) != root(k) and alike(j, k):
                parent[root(k)] = root(j)
        for word in telling:
            seen[word].append(k)
    groups: dict[int, list[int]] = defaultdict(list)
    for k in range(len(bags)):
        groups[root(k)].append(k)
    return [group for group in groups.values() if len(group) > 1]


def summarize(values: Sequence[float], low: float | None = None, high: float | None = None) -> Any:
    """n, min, median, mean, max and a histogram of the values; None where there are none.

    The histogram is {"edges": bins + 1 numbers, "counts": bins numbers}, from `low` to `high` or
    from the least to the greatest value. Whole numbers have no bin narrower than one.
    """
    import numpy as np

    if not len(values):
        return None
    array = np.asarray(values, np.float64)
    whole = low is None and bool((array == np.floor(array)).all())
    least = float(array.min()) if low is None else low
    most = float(array.max()) if high is None else high
    if whole:
        width = max(math.ceil((most - least + 1) / BINS), 1)
        count = math.ceil((most - least + 1) / width)
        edges = least + width * np.arange(count + 1, dtype=np.float64)
    else:
        edges = np.linspace(least, most if most > least else least + 1.0, BINS + 1)
    # A value such as 0.7 may lie just under its edge; what is above the last one is none of these.
    places = np.searchsorted(edges, array + 1e-9, side="right") - 1
    counts = np.bincount(np.clip(places, 0, len(edges) - 2), minlength=len(edges) - 1)
    return {
        "n": len(array),
        "min": float(array.min()),
        "median": float(np.median(array)),
        "mean": mean(array),
        "max": float(array.max()),
        "histogram": {"edges": edges.tolist(), "counts": counts.tolist()},
    }
