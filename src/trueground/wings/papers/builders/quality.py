"""The quality report of a benchmark, for summary.json, the page and the data card.

It has sizes, lengths, factors, duplicates, overlap and agreement. Words are those of the normalizer
"faitheval": lower case, without punctuation and articles. Lengths count words in any script,
including scripts without spaces.
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
MAX_TABLE_VALUES = 20  # rows or columns of a table that people can read
# Two questions are nearly the same if they share four fifths of their words. Each word is weighted
# by its rarity, so that a pattern that all questions follow doesn't make them similar.
NEAR = 0.8
# Comparisons per rare word of a question. With a limit, time is linear in the number of questions.
MAX_COMPARISONS = 50
MAX_EXAMPLE_GROUPS, MAX_EXAMPLE_IDS = 5, 5


class BuiltItem(msgspec.Struct, frozen=True, omit_defaults=True):
    """An item of a dataset, in the same form for every builder.

    Attributes:
        id: The id.
        question: The question.
        contexts: The texts that a model reads.
        answers: The expected answers.
        factors: Classes by name, such as {"task": "unanswerable", "popularity": "high"}.
        numbers: Other counts by name, such as {"gold_facts": 4}.
        answerable: Whether a judge model found that the contexts answer the question; None if no
            judge was asked.
    """

    id: str
    question: str
    contexts: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    factors: Mapping[str, str] = {}
    numbers: Mapping[str, float] = {}
    answerable: bool | None = None


def compute_quality(dataset: BuiltDataset) -> dict[str, Any]:
    """Return the quality report with full precision; None for what can't be measured."""
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
    """Return the numbers of items, contexts, answers and words, and of distinct texts."""
    contexts: list[str] = []
    n_words = 0
    for item in items:
        contexts += item.contexts
        n_words += count_words(item.question)
    return {
        "items": len(items),
        "questions_distinct": len({item.question for item in items}),
        "contexts": len(contexts),
        "contexts_distinct": len(set(contexts)),
        "answers": sum(len(item.answers) for item in items),
        "words": n_words + sum(map(count_words, contexts)),
    }


def measure_lengths(items: Sequence[BuiltItem]) -> dict[str, Any]:
    """Summarize the words of questions, contexts and answers, and the contexts per item."""
    context_words: list[int] = []
    answer_words: list[int] = []
    for item in items:
        if item.contexts:
            context_words.append(sum(map(count_words, item.contexts)))
        answer_words += map(count_words, item.answers)
    return {
        "question": summarize([count_words(item.question) for item in items]),
        "contexts": summarize(context_words),
        "answer": summarize(answer_words),
        "contexts_per_item": summarize([len(item.contexts) for item in items]),
    }


def find_duplicates(items: Sequence[BuiltItem]) -> dict[str, Any]:
    """Count items with the same or nearly the same question, the same contexts, or both."""
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
    """Return how much of the question and the answer the contexts contain.

    `question` summarizes the share of its content words, over items with contexts and such words.
    `answer` is the number of items whose contexts contain an answer as a whole phrase, of those
    with answers and contexts.
    """
    from trueground.metrics import tokenize
    from trueground.text import Normalizer, contains_words
    from trueground.wings.papers.content_words import content_words

    read = [item for item in items if item.contexts]
    questions = [" ".join(sorted(content_words(item.question))) for item in read]
    joined_contexts = ["\n".join(item.contexts) for item in read]
    rule = Normalizer.named("faitheval")
    tokens = tokenize(questions + joined_contexts, rule)
    n = len(read)
    counts = tokens.part(0, n).overlap(tokens.part(n, 2 * n))
    has_words = counts.a > 0
    offsets = [0]
    all_answers: list[str] = []
    for item in read:
        all_answers += item.answers
        offsets.append(len(all_answers))
    answers = tokenize(all_answers, rule).strings()
    contexts = tokens.part(n, 2 * n).strings()
    contains_answer = []
    for (start, end), context in zip(pairwise(offsets), contexts, strict=True):
        if end > start:
            is_match = any(contains_words(context, answer) for answer in answers[start:end])
            contains_answer.append(is_match)
    return {
        "question": summarize((counts.common[has_words] / counts.a[has_words]).tolist(), 0.0, 1.0),
        "answer": {"items": len(contains_answer), "found": sum(contains_answer)},
    }


def count_factors(items: Sequence[BuiltItem], names: Iterable[str]) -> dict[str, dict[str, int]]:
    """Return factor → value → number of items. Items without the factor have an empty value."""
    counts = {}
    for name in names:
        values = Counter(item.factors.get(name, "") for item in items)
        counts[name] = dict(sorted(values.items()))
    return counts


def cross_factors(items: Sequence[BuiltItem], names: Sequence[str]) -> list[dict[str, Any]]:
    """Return a table of counts for every two factors with at most MAX_TABLE_VALUES values."""
    values = count_factors(items, names)
    factors = [name for name in names if 1 < len(values[name]) <= MAX_TABLE_VALUES]
    tables = []
    for rows, columns in combinations(factors, 2):
        n = Counter((item.factors.get(rows, ""), item.factors.get(columns, "")) for item in items)
        counts = {}
        for row in values[rows]:
            counts[row] = {column: n[row, column] for column in values[columns]}
        tables.append({"rows": rows, "columns": columns, "counts": counts})
    return tables


def count_answerable(items: Sequence[BuiltItem], names: Iterable[str]) -> dict[str, Any] | None:
    """Return how many items a judge called answerable, in total and by factor, or None."""
    judged = [item for item in items if item.answerable is not None]
    if not judged:
        return None

    def count(group: Sequence[BuiltItem]) -> dict[str, int]:
        return {"asked": len(group), "yes": sum(bool(item.answerable) for item in group)}

    by: dict[str, dict[str, dict[str, int]]] = {}
    for name in names:
        groups: dict[str, list[BuiltItem]] = defaultdict(list)
        for item in judged:
            groups[item.factors.get(name, "")].append(item)
        by[name] = {value: count(groups[value]) for value in sorted(groups)}
    return {**count(judged), "by": by}


def summarize_numbers(items: Sequence[BuiltItem]) -> dict[str, Any]:
    """Summarize the items' numbers by name."""
    values: dict[str, list[float]] = defaultdict(list)
    for item in items:
        for name, value in item.numbers.items():
            values[name].append(value)
    return {name: summarize(values[name]) for name in sorted(values)}


def group_same(keys: Sequence[Hashable], ids: Sequence[str]) -> dict[str, Any]:
    """Count items with the same key: groups, items beyond the first of each, example ids.

    Items without a key (None) are in no group.
    """
    groups: dict[Hashable, list[str]] = defaultdict(list)
    for key, id_ in zip(keys, ids, strict=True):
        if key is not None:
            groups[key].append(id_)
    return _account([group for group in groups.values() if len(group) > 1])


def group_near(texts: Sequence[str], ids: Sequence[str]) -> dict[str, Any]:
    """Count items whose normalized texts are nearly the same, but not the same.

    Of items with the same text, only the first is compared. Chains count as one group.
    """
    firsts: dict[str, str] = {}
    for text, id_ in zip(texts, ids, strict=True):
        if text:
            firsts.setdefault(text, id_)
    distinct = sorted(firsts)
    # Groups are in the order of the items, so that examples are the first ones.
    positions = {id_: number for number, id_ in enumerate(ids)}
    groups = []
    for indexes in _SimilarTexts(distinct).group():
        group = [firsts[distinct[k]] for k in indexes]
        groups.append(sorted(group, key=positions.__getitem__))
    groups.sort(key=lambda group: positions[group[0]])
    return {"threshold": NEAR, **_account(groups)}


def _account(groups: Sequence[Sequence[str]]) -> dict[str, Any]:
    return {
        "groups": len(groups),
        "items": sum(len(group) - 1 for group in groups),
        "examples": [list(group[:MAX_EXAMPLE_IDS]) for group in groups[:MAX_EXAMPLE_GROUPS]],
    }


class _SimilarTexts:
    """Texts as weighted sets of words, and a union-find structure of their groups."""

    def __init__(self, texts: Sequence[str]) -> None:
        """Weight the words of the texts by their rarity."""
        self.bags = [frozenset(text.split()) for text in texts]
        self.frequencies: Counter[str] = Counter()
        for bag in self.bags:
            self.frequencies.update(bag)
        n_texts = len(self.bags)
        self.weights = {word: log1p(n_texts / n) for word, n in self.frequencies.items()}
        self.totals = [self._weigh(bag) for bag in self.bags]
        self.parents = list(range(n_texts))

    def group(self) -> list[list[int]]:
        """Return the groups of at least two texts."""
        seen: dict[str, list[int]] = defaultdict(list)
        for k in range(len(self.bags)):
            rare_words = self._rare_words(k)
            candidates: set[int] = set()
            for word in rare_words:
                candidates.update(seen[word][-MAX_COMPARISONS:])
            for j in sorted(candidates):
                if self._root(j) != self._root(k) and self._is_similar(j, k):
                    self.parents[self._root(k)] = self._root(j)
            for word in rare_words:
                seen[word].append(k)
        groups: dict[int, list[int]] = defaultdict(list)
        for k in range(len(self.bags)):
            groups[self._root(k)].append(k)
        return [group for group in groups.values() if len(group) > 1]

    def _weigh(self, bag: Iterable[str]) -> float:
        # fsum gives the same number for any order of a set.
        return math.fsum(self.weights[word] for word in bag)

    def _rare_words(self, k: int) -> list[str]:
        """Return the rarest words of a text.

        A similar text has at least one of them: the others weigh less than NEAR of the text, which
        is not enough.
        """
        rare_words, weight_left = [], self.totals[k]
        for word in sorted(self.bags[k], key=lambda word: (self.frequencies[word], word)):
            if weight_left < NEAR * self.totals[k] - 1e-9:
                break
            weight_left -= self.weights[word]
            rare_words.append(word)
        return rare_words

    def _root(self, k: int) -> int:
        parents = self.parents
        while parents[k] != k:
            parents[k] = k = parents[parents[k]]
        return k

    def _is_similar(self, j: int, k: int) -> bool:
        a, b = self.totals[j], self.totals[k]
        if min(a, b) < NEAR * max(a, b):
            return False
        common = self._weigh(self.bags[j] & self.bags[k])
        return common >= NEAR * (a + b - common)


def summarize(values: Sequence[float], low: float | None = None, high: float | None = None) -> Any:
    """Return n, min, median, mean, max and a histogram of values; None if there are none.

    Args:
        values: The values.
        low: The lower end of the histogram; by default the smallest value.
        high: The upper end of the histogram; by default the largest value.

    The histogram is {"edges": bins + 1 numbers, "counts": bins numbers}. For whole numbers, no bin
    is narrower than 1.
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
    # Rounding may put a value such as 0.7 just below its edge. The last bin has the largest value.
    bins = np.searchsorted(edges, array + 1e-9, side="right") - 1
    counts = np.bincount(np.clip(bins, 0, len(edges) - 2), minlength=len(edges) - 1)
    return {
        "n": len(array),
        "min": float(array.min()),
        "median": float(np.median(array)),
        "mean": mean(array),
        "max": float(array.max()),
        "histogram": {"edges": edges.tolist(), "counts": counts.tolist()},
    }
