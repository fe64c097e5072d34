"""The stem of an English word."""

from __future__ import annotations

_RULES = (
    ("ational", "ate"), ("ization", "ize"), ("isation", "ize"), ("fulness", "ful"),
    ("ousness", "ous"), ("iveness", "ive"), ("ically", "ic"), ("bility", "ble"), ("ations", "ate"),
    ("ation", "ate"), ("ators", "ate"), ("ator", "ate"), ("ments", ""), ("ment", ""),
    ("ances", ""), ("ance", ""), ("ences", ""), ("ence", ""), ("ness", ""), ("ities", ""),
    ("ity", ""), ("tions", "t"), ("tion", "t"), ("sions", "s"), ("sion", "s"), ("ings", ""),
    ("ing", ""), ("iest", "y"), ("iers", "y"), ("ier", "y"), ("ied", "y"), ("ies", "y"),
    ("edly", ""), ("ally", "al"), ("ily", "y"), ("ly", ""), ("ed", ""), ("ers", ""), ("er", ""),
    ("est", ""), ("ors", ""), ("or", ""), ("al", ""),
)  # fmt: skip
_LAST = {rule[0][-1] for rule in _RULES} | {"s"}
_VOWELS = frozenset("aeiouy")


def stem(word: str) -> str:
    """Return one key for the inflections and common derivations of a lower-case word."""
    if len(word) < 4 or not word.isascii():
        return word
    if word.endswith(("sses", "shes", "ches", "xes")):
        word = word[:-2]
    elif word[-1] == "s" and word[-2] not in "sui" and not word.endswith("ies"):
        word = word[:-1]
    if word[-1] in _LAST:
        for ending, put in _RULES:
            if not word.endswith(ending):
                continue
            root = word[: -len(ending)]
            if len(root) >= 3 and not _VOWELS.isdisjoint(root):
                word = root + put
                double = len(word) > 3 and word[-1] == word[-2] and word[-1] not in "lsz"
                word = word[:-1] if double else word
                break
    if len(word) > 4 and word[-1] == "e":
        word = word[:-1]
    return word[:-1] + "i" if len(word) > 3 and word[-1] == "y" else word
