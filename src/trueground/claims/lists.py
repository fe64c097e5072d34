"""Predicates and subjects that name several things: names, things, and what somebody is."""

from __future__ import annotations

import re
from collections.abc import Sequence

from trueground.claims.splits import Range, Statement, is_hedged
from trueground.claims.view import View, Word, among, holds, is_role, skip_adverbs

_BEFORE_LIST = frozenset(("by", "of", "with", "to", "in", "from", "at", "for"))
_SINGULAR = {"are": "is", "were": "was", "have": "has"}
_AFTER_LIST = frozenset(("in", "at", "on", "for", "during", "with"))
_ABSTRACT = re.compile(r"(?:tion|sion|ment|ness|ity|ism|ance|ence|ogy|ics|phy|ery|apy)$")
_A = frozenset(("a", "an"))
_ORDERED = frozenset(("followed", "preceded", "then", "first", "next", "finally"))


def names(view: View, head: str, part: Range, begin: int) -> list[Statement] | None:
    """ "stars A, B and C" → "stars A", "stars B", "stars C"."""
    words = view.words
    inner = range(part.first + 2, part.last - 1)
    joint = next((i for i in inner if words[i].spelling == "and"), None)
    if joint is None or is_ordered(words[part.first : part.last]):
        return None
    if holds(words[part.first : part.last], "collective"):
        return None
    after = _run(view, joint + 1, part.last)
    items = _items_before(view, part.first + 1, joint)
    if after is None or not items or not _may_follow(view, after[1], part.last):
        return None
    items.append(after)
    first = items[0][0]
    opening = words[first - 1]
    if opening.name or opening.lower in ("is", "are", "was", "were"):
        return None
    if any(w.gap for w in words[part.first + 1 : first + 1]):
        return None
    if not (opening.verb or _introduces(view, part.first, first - 1)) or not _separate(view, items):
        return None
    return _one_by_one(view, head, items, part, begin)


def _one_by_one(
    view: View, head: str, items: list[tuple[int, int]], part: Range, begin: int
) -> list[Statement]:
    """A statement for each of the items, all with what stands before the first."""
    again = head + view.text[begin : view.start_of(items[0][0])]
    first = Statement(head, begin, view.end_of(items[0][1] - 1))
    more = [Statement(again, view.start_of(a), view.end_of(b - 1)) for a, b in items[1:-1]]
    return [first, *more, Statement(again, view.start_of(items[-1][0]), part.end)]


def _may_follow(view: View, at: int, last: int) -> bool:
    """Whether what comes after the last name belongs to that name, or can be left out."""
    words = view.words[at:last]
    plain = not any(word.verb or word.gap for word in words)
    return not words or (plain and words[0].lower in _AFTER_LIST)


def _introduces(view: View, first: int, at: int) -> bool:
    """Whether the preposition at word `at` rules all names of the list behind it."""
    word, before = view.words[at], view.words[at - 1]
    if at <= first or word.lower not in _BEFORE_LIST:
        return False
    return before.verb if word.lower in ("in", "from", "at", "to") else not before.name


def _run(view: View, at: int, last: int) -> tuple[int, int] | None:
    """The words of the name that begins at `at`, "the" included."""
    words = view.words
    begin = at
    if at < last and words[at].lower == "the":
        at += 1
    end = at
    while end < last and words[end].name and not words[end].value:
        if end > begin and words[end].gap:
            break
        end += 1
    goes_on = end < last and words[end].lower in ("of", "de", "and", "or") and not words[end].gap
    return None if end == at or goes_on else (begin, end)


def _items_before(view: View, first: int, joint: int) -> list[tuple[int, int]]:
    """The names that stand before "and", in order: "A, B" in "by A, B and C"."""
    words = view.words
    items: list[tuple[int, int]] = []
    end = joint
    while end > first:
        begin = end
        while begin > first and words[begin - 1].name and not words[begin - 1].value:
            begin -= 1
            if words[begin].gap:
                break
        if begin == end:
            return []
        if begin > first and not words[begin].gap and words[begin - 1].lower == "the":
            begin -= 1
        items.insert(0, (begin, end))
        if words[begin].gap != ",":
            items[0] = (_with_of(view, first, begin), end)
            break
        end = begin
    return items if len(items) < 12 else []


def _with_of(view: View, first: int, begin: int) -> int:
    """Where "Erasmus of Rotterdam" begins when "Rotterdam" begins at word `begin`."""
    words = view.words
    if begin - 2 < first or words[begin - 1].lower not in ("of", "de", "von", "van", "da", "di"):
        return begin
    if not words[begin - 2].name:
        return begin
    begin -= 2
    while begin > first and words[begin - 1].name and not words[begin].gap:
        begin -= 1
    return begin


def _separate(view: View, items: list[tuple[int, int]]) -> bool:
    """Whether these are surely several names and no single one ("Smith and Wesson")."""
    a, b = items[-1]
    if len(items) == 2 and among(view.words[b - 1].lower, "body") and view.words[a].lower != "the":
        return False  # "the Food and Drug Administration"
    sizes = [sum(word.name for word in view.words[a:b]) for a, b in items]
    return len(items) > 2 or (len(items) == 2 and min(sizes) > 1)


def things(view: View, head: str, part: Range, begin: int) -> list[Statement] | None:
    """ "includes a park, a lake and two schools" → one statement for each thing."""
    words = view.words
    near = range(part.first, min(part.last, part.first + 6))
    opening = next((i for i in near if _opens_things(view, i)), None)
    if opening is None or part.last - opening < 5 or is_ordered(words[part.first : part.last]):
        return None
    if any(word.doubt for word in (*words[part.first : opening - 1], *words[opening : part.last])):
        return None
    cuts = [opening + 1]
    for i in range(opening + 2, part.last):
        if words[i].lower == "and":
            if i + 1 >= part.last or len(cuts) < 2:
                return None
            cuts.append(i + 1)
            break
        if words[i].gap == ",":
            cuts.append(i)
        elif words[i].gap:
            return None
    else:
        return None
    items = list(zip(cuts, [*cuts[1:], part.last], strict=True))
    items[-2] = (items[-2][0], items[-2][1] - 1)
    if items[-2][0] == items[-2][1]:
        items.pop(-2)
    if len(items) < 3 or not all(_is_thing(view, a, b) for a, b in items):
        return None
    return _one_by_one(view, head, items, part, begin)


def _opens_things(view: View, at: int) -> bool:
    word = view.words[at]
    if word.lower == "by":
        return view.words[at - 1].verb and not view.words[at - 1].doubt
    if word.lower == "include":
        return at > 0 and view.words[at - 1].lower in ("may", "can", "might", "could", "will")
    return word.verb and among(word.lower, "lister") and not view.words[at - 1].doubt


def _is_thing(view: View, first: int, last: int) -> bool:
    """Whether words `first` to `last` are surely a whole noun phrase and no shared adjective."""
    words = view.words[first:last]
    if not 0 < len(words) < 6 or any(word.gap for word in words[1:]):
        return False
    lowers = [word.lower for word in words]
    if any(w.verb or among(w.lower, "preposition|stop") for w in words):
        return False
    if lowers[0] == "other":
        return True
    last_word = lowers[-1]
    plural = last_word.endswith("s") and not last_word.endswith(("ss", "ous", "us"))
    counted = lowers[0] in ("a", "an", "the", "one") and len(words) > 1
    named = all(word.name for word in words)
    return not {"and", "or"} & set(lowers) and (
        plural or counted or named or _ABSTRACT.search(last_word) is not None
    )


def subject_list(view: View, first: int, last: int) -> list[Statement] | None:
    """ "A B, C D and E F were born in Leeds" → one statement for each name."""
    words = view.words
    limit = min(last, first + 24)
    joint = next((i for i in range(first + 1, limit - 2) if words[i].spelling == "and"), None)
    if joint is None:
        return None
    after = _run(view, joint + 1, limit)
    items = _items_before(view, first, joint)
    if after is None or not items or items[0][0] != first:
        return None
    items.append(after)
    verb = after[1]
    part = Range(verb, last, view.end_of(last - 1))
    if verb >= last - 1 or words[verb].gap or not words[verb].verb or not _separate(view, items):
        return None
    collective = among(words[first].lower, "collective") or holds(words[first:last], "collective")
    if collective or is_hedged(view, part):
        return None
    ruling, following = words[verb].lower, words[verb + 1].lower
    if ruling in ("are", "were"):
        participle = among(following, "event participle|state participle")
        if not (participle or following in ("in", "from", "at")):
            return None
    elif not among(ruling, "distributive"):
        return None
    end = len(view.text) if last == len(words) else part.end
    rest = view.text[words[verb].end : end]
    tail = f" {_SINGULAR.get(ruling, words[verb].spelling)}{rest}"
    return [Statement("", view.start_of(a), view.end_of(b - 1), tail) for a, b in items]


def roles(view: View, name: str, head: str, part: Range, begin: int) -> list[Statement] | None:
    """ "is an American singer and actress" → "is an American singer", "is an American actress"."""
    words = view.words
    at = skip_adverbs(words, part.first, part.last)
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
            while end < min(last, i + 5) and not (words[end].gap or _ends_role(words[end].lower)):
                end += 1
            items.append((i + 1, end))
            fits = all(0 < b - a < 5 and b > a for a, b in items)
            return items if fits else None
        if word.gap == "," and i > begin:
            items.append((begin, i))
            begin = i
        elif word.gap or among(word.lower, "preposition|stop"):
            return None
    return None


def _ends_role(word: str) -> bool:
    return among(word, "preposition|stop") or word in ("and", "or", "born", "best")


def _article(word: str) -> str:
    lower = word.lower()
    vowel = lower[0] in "aeiou" and not lower.startswith(("eu", "uni", "one", "us", "uk"))
    return "an " if vowel else "a "


def is_ordered(words: Sequence[Word]) -> bool:
    """Whether a list gives an order, which its members alone would lose."""
    return any(word.lower in _ORDERED and not word.name for word in words)
