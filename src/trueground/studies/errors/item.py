"""One item as the rules for error categories see it, and what a rule says of it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from trueground.studies.errors.text import Text, coarser, same_value


@dataclass(frozen=True)
class Proposal:
    """A category, why, and the words of the response that show it."""

    category: str
    reason: str
    evidence: str | None = None


@dataclass(frozen=True)
class Item:
    """What the rules read."""

    question: Text
    references: tuple[Text, ...]
    response: Text

    @cached_property
    def different(self) -> list[list[Text]]:
        """The references in groups: those in one group name the same."""
        groups: list[list[Text]] = []
        for reference in self.references:
            if not reference.words:
                continue
            for group in groups:
                if any(_alike(reference, other) for other in group):
                    group.append(reference)
                    break
            else:
                groups.append([reference])
        return groups

    @cached_property
    def named(self) -> list[str]:
        """One reference of each group that stands in the response.

        A last word that all groups have ("River") need not stand there.
        """
        last = {r.words[-1] for group in self.different for r in group if len(r.words) > 1}
        single = any(len(r.words) == 1 for group in self.different for r in group)
        cut = -1 if len(self.different) > 1 and len(last) == 1 and not single else None
        found = ([r.raw for r in g if self.response.find(r.words[:cut])] for g in self.different)
        return [names[0] for names in found if names]

    def new(self, text: Text) -> list[str]:
        """The telling words that the question does not have."""
        return text.content(self.question.words)


def _alike(a: Text, b: Text) -> bool:
    """Whether two references name the same: one holds the other, or they are written apart."""
    left, right = set(a.words), set(b.words)
    if left <= right or right <= left:
        return True
    if initials(a) == b.raw.replace(".", "") or initials(b) == a.raw.replace(".", ""):
        return True
    if a.is_name and b.is_name and a.content()[-1:] == b.content()[-1:]:
        return len(left) == 1 or len(right) == 1
    pairs = [(v, o) for v in a.values for o in b.values]
    return any(same_value(v, o) or coarser(v, o) is not None for v, o in pairs)


def initials(name: Text) -> str | None:
    """The first letters of a name of several words, as in an abbreviation."""
    words = [w for w in name.raw.replace(",", " ").split() if w[0].isupper()]
    return "".join(word[0] for word in words) if len(words) > 1 else None
