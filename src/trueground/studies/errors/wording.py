"""Rules about the same answer in other words, and about questions with several right answers."""

from __future__ import annotations

from trueground.studies.errors.item import Item, Proposal, initials
from trueground.studies.errors.questions import changes_with_time, is_open
from trueground.studies.errors.text import Text, same_value

_YES_NO = ("yes", "no")
_SHORT = 4  # telling words of an answer that is no sentence
_LONG = 6  # words of an answer that explains
_EXPLAINS = 3  # … where the question asks why or how
_NEAR = 0.8  # the share of a reference's words that is as good as all
_PREFIX = 4  # letters that words of one family begin with …
_ALIKE = 0.6  # … and the share of the shorter word that they make
_MORE = "semantic_equivalence/more_elaborate_answers"
_SYNONYM = "semantic_equivalence/synonymous_answers"


def yes_no(item: Item) -> Proposal | None:
    """The reference is yes or no."""
    for reference in item.references:
        if len(reference.words) > 2 or not reference.words or reference.words[0] not in _YES_NO:
            continue
        if item.response.find(reference.words[:1]) or len(item.response.words) > _SHORT:
            why = f"a sentence that says {reference.words[0]}"
            return Proposal(_MORE, why, item.response.find(reference.words[:1]))
        return Proposal(_SYNONYM, f"{reference.words[0]} in another word", item.response.raw)
    return None


def contained(item: Item) -> Proposal | None:
    """The reference stands in the response word for word."""
    for reference in item.references:
        if whole := item.response.find(reference.words):
            added = len(item.response.words) - len(reference.words)
            return Proposal(_MORE, f"the reference, and {added} words more", whole)
    return None


def symbolic(item: Item) -> Proposal | None:
    """The numbers and dates of the reference stand in the response, written otherwise."""
    said = item.response.values
    words = set(item.response.words)
    for reference in item.references:
        pairs = [(v, o) for v in reference.values for o in said if same_value(v, o)]
        written = [item.response.raw[o.start : o.end] for _, o in pairs]
        if len({v for v, _ in pairs}) < len(reference.values) or not pairs:
            continue
        if all(shown in reference.raw for shown in written):
            continue
        if all(word in words for word in reference.beside_values) or len(words) < 2 * _LONG:
            why = f"another way to write {reference.raw!r}"
            return Proposal("symbolic_equivalence", why, " | ".join(written))
    return None


def multinominal(item: Item) -> Proposal | None:
    """The reference is a name, and the response has another form of it."""
    asked = set(item.question.words)
    for reference in item.references:
        if not reference.is_name or reference.is_value:
            continue
        for start, end in item.response.names:
            name = Text(item.response.raw[start:end])
            if _same_name(reference, name, asked):
                why = f"another name of {reference.raw!r}"
                return Proposal("semantic_equivalence/multinominal_entities", why, name.raw)
    return None


def _same_name(a: Text, b: Text, asked: set[str]) -> bool:
    """Whether one name is the other's initials, or shares half of the shorter one's words."""
    if initials(a) == b.raw.replace(".", "") or initials(b) == a.raw.replace(".", ""):
        return True
    left, right = a.content(), b.content()
    shared = set(left) & set(right)
    if not shared - asked:
        return False
    return 2 * len(shared) >= min(len(set(left)), len(set(right)))


def nearly_contained(item: Item) -> Proposal | None:
    """Nearly all telling words of the reference stand in the response, in whatever order."""
    there = {_stem(word) for word in item.response.words}
    for reference in item.references:
        words = item.new(reference) or reference.content()
        found = [word for word in words if _stem(word) in there]
        if words and len(found) >= _NEAR * len(words):
            why = f"{len(found)} of {len(words)} telling words of the reference, among others"
            return Proposal(_MORE, why, " ".join(found))
    return None


def _stem(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") else word


def open_ended(item: Item) -> Proposal | None:
    """Both explain something at length, and in other words."""
    least = _EXPLAINS if is_open(item.question.raw) else _LONG
    longest = max((len(r.words) for r in item.references if not r.is_name), default=0)
    if longest < least or len(item.response.words) < least:
        return None
    why = f"an answer of {longest} words is one of many that are right"
    return Proposal("incomplete_reference/open_ended_questions", why, item.response.raw)


def ambiguous(item: Item) -> Proposal | None:
    """The right answer changes with time, and the two give different ones."""
    if not changes_with_time(item.question.raw):
        return None
    numbers = item.response.values and any(r.values for r in item.references)
    names = [item.response.raw[a:b] for a, b in item.response.names if b > a]
    people = names and any(r.is_name and not r.is_value for r in item.references)
    if not numbers and not people:
        return None
    why = "the answer changes with time, the question does not say when, and the two differ"
    return Proposal("intrinsic_ambiguity", why, ", ".join(names) or item.response.raw)


def synonymous(item: Item) -> Proposal | None:
    """Words of one family, or two short answers that are no names."""
    said = item.new(item.response)
    for reference in item.references:
        meant = item.new(reference)
        family = [(a, b) for a in meant for b in said if _related(a, b)]
        if family:
            why = f"{family[0][1]!r} is of one family with {family[0][0]!r}"
            return Proposal(_SYNONYM, why, family[0][1])
        short = 0 < len(meant) <= _SHORT and 0 < len(said) <= _SHORT
        if short and not reference.is_name and not reference.values:
            return Proposal(_SYNONYM, f"{reference.raw!r} in other words", item.response.raw)
    return None


def _related(a: str, b: str) -> bool:
    """Whether two words that are not the same begin alike for most of the shorter one."""
    same = 0
    while same < min(len(a), len(b)) and a[same] == b[same]:
        same += 1
    alike = same >= _PREFIX and same >= _ALIKE * min(len(a), len(b))
    return alike and a != b and a.isalpha() and b.isalpha()
