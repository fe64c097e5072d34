"""What somebody is: "an American singer and actress"."""

from __future__ import annotations

from trueground.claims.splits import Range, Statement
from trueground.claims.view import View, among, is_adverb, is_role

_A = frozenset(("a", "an"))


def roles(view: View, name: str, head: str, part: Range, begin: int) -> list[Statement] | None:
    """ "is an American singer and actress" → "is an American singer", "is an American actress"."""
    words = view.words
    at = part.first
    while at < part.last and is_adverb(words[at].lower):
        at += 1
    if at + 4 > part.last or words[at].lower not in ("is", "was") or words[at + 1].lower not in _A:
        return None
    items = _role_items(view, at + 2, part.last)
    if items is None or any(among(w.lower, "no role") for a, b in items for w in words[a:b]):
        return None
    if not all(is_role(words[b - 1].lower) for _, b in items):
        return None
    first = items[0]
    shared = next((i for i in range(*first) if not words[i].name), first[1])
    nation = view.of(first[0], shared) + " " if shared > first[0] else ""
    found = [Statement(head, begin, view.end_of(first[1] - 1))]
    for a, b in items[1:]:
        own_article = words[a].lower in _A
        opening = "" if own_article else _article(nation or words[a].spelling) + nation
        end = part.end if (a, b) == items[-1] else view.end_of(b - 1)
        found.append(Statement(f"{name} {words[at].lower} {opening}", words[a].start, end))
    return found


def _role_items(view: View, first: int, last: int) -> list[tuple[int, int]] | None:
    """The members of "American singer, songwriter and film actress", by their words."""
    words = view.words
    items: list[tuple[int, int]] = []
    begin = first
    for i in range(first, min(last, first + 20)):
        word = words[i]
        if word.lower == "and" and word.gap in ("", ","):
            items.append((begin, i))
            end = i + 1
            while (
                end < last
                and end - i < 5
                and not words[end].gap
                and not _ends_role(words[end].lower)
            ):
                end += 1
            items.append((i + 1, end))
            fits = all(0 < b - a < 5 and b > a for a, b in items)
            return items if fits else None
        if word.gap == "," and i > begin:
            items.append((begin, i))
            begin = i
        elif word.gap or among(word.lower, "preposition") or among(word.lower, "stop"):
            return None
    return None


def _ends_role(word: str) -> bool:
    return (
        among(word, "preposition") or among(word, "stop") or word in ("and", "or", "born", "best")
    )


def _article(word: str) -> str:
    lower = word.lower()
    vowel = lower[0] in "aeiou" and not lower.startswith(("eu", "uni", "one", "us", "uk"))
    return "an " if vowel else "a "
