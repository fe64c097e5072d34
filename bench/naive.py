"""The lexical metrics in the style of the usual SQuAD script: each by itself, text in, number out.

Slow on purpose and simple on purpose: the tests hold the fast code against it item by item, and the
benchmark measures the fast code beside it.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Callable, Sequence


def normalize_answer(text: str) -> str:
    """Lower-case, drop ASCII punctuation and articles, collapse white space."""

    def remove_articles(s: str) -> str:
        return re.sub(r"\b(a|an|the)\b", " ", s)

    def remove_punctuation(s: str) -> str:
        exclude = set(string.punctuation)
        return "".join(ch for ch in s if ch not in exclude)

    return " ".join(remove_articles(remove_punctuation(text.lower())).split())


def _common(a: list[str], b: list[str]) -> int:
    return sum((Counter(a) & Counter(b)).values())


def exact_match(u: str, r: str) -> float:
    return float(normalize_answer(u) == normalize_answer(r))


def precision(u: str, r: str) -> float:
    a, b = normalize_answer(u).split(), normalize_answer(r).split()
    return _common(a, b) / len(a) if a else 0.0


def recall(u: str, r: str) -> float:
    a, b = normalize_answer(u).split(), normalize_answer(r).split()
    return _common(a, b) / len(b) if b else 1.0


def f1(u: str, r: str) -> float:
    a, b = normalize_answer(u).split(), normalize_answer(r).split()
    if not a or not b:
        return float(a == b)
    common = _common(a, b)
    if common == 0:
        return 0.0
    p, q = common / len(a), common / len(b)
    return 2 * p * q / (p + q)


def recall_strict(u: str, r: str) -> float:
    return float(normalize_answer(r) in normalize_answer(u))


def answer_accuracy(u: str, r: str) -> float:
    wanted = normalize_answer(r)
    return float(re.search(rf"(?<!\w){re.escape(wanted)}(?!\w)", normalize_answer(u)) is not None)


def k_precision(u: str, k: str) -> float:
    return precision(u, k)


def k_recall(u: str, k: str) -> float:
    a, b = normalize_answer(u).split(), normalize_answer(k).split()
    return _common(a, b) / len(b) if b else 0.0


def k_f1(u: str, k: str) -> float:
    return f1(u, k)


def _left(u: str, h: str) -> list[str]:
    prior_turns = normalize_answer(h).split()
    return [t for t in normalize_answer(u).split() if t not in prior_turns]


def k_precision_pp(u: str, k: str, h: str) -> float:
    a, b = _left(u, h), normalize_answer(k).split()
    return _common(a, b) / len(a) if a else 1.0


def k_recall_pp(u: str, k: str, h: str) -> float:
    a, b = _left(u, h), normalize_answer(k).split()
    if not a:
        return 1.0
    return _common(a, b) / len(b) if b else 0.0


def k_f1_pp(u: str, k: str, h: str) -> float:
    a, b = _left(u, h), normalize_answer(k).split()
    if not a:
        return 1.0
    common = _common(a, b)
    if common == 0:
        return 0.0
    p, q = common / len(a), common / len(b)
    return 2 * p * q / (p + q)


CORRECTNESS: dict[str, Callable[[str, str], float]] = {
    f.__name__: f for f in (exact_match, precision, recall, f1, recall_strict, answer_accuracy)
}
FAITHFULNESS: dict[str, Callable[[str, str], float]] = {
    f.__name__: f for f in (k_precision, k_recall, k_f1)
}
DISCOUNTED: dict[str, Callable[[str, str, str], float]] = {
    f.__name__: f for f in (k_precision_pp, k_recall_pp, k_f1_pp)
}


def all_metrics(
    response: str, references: Sequence[str], contexts: Sequence[str], question: str
) -> dict[str, float]:
    """Every metric of this module for one item; the best reference counts."""
    k = " ".join(contexts)
    values = {n: max(f(response, r) for r in references) for n, f in CORRECTNESS.items()}
    values |= {n: f(response, k) for n, f in FAITHFULNESS.items()}
    values |= {n: f(response, k, question) for n, f in DISCOUNTED.items()}
    return values
