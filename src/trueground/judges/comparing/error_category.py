"""Why does a correct response share so few words with its references? A language model says.

Source: Adlakha et al. 2023, section 4.2, with a prompt in our own words.
"""

from __future__ import annotations

import re

from trueground.judges.comparing.language_model import LanguageModelComparer, read_reply
from trueground.models.base import Reply
from trueground.types import Comparison

NONE = "none"
CATEGORIES = (
    "semantic_equivalence/multinominal_entities",
    "semantic_equivalence/more_elaborate_answers",
    "semantic_equivalence/synonymous_answers",
    "symbolic_equivalence",
    "intrinsic_ambiguity",
    "granularity/temporal",
    "granularity/spatial",
    "incomplete_reference/list_of_named_entities",
    "incomplete_reference/open_ended_questions",
    "enumeration_of_references",
    "satisfactory_subset",
    NONE,
)
VALUE = "category"
_BY_NAME = {name: c for c in CATEGORIES for name in (c, c.rpartition("/")[2])}
_LABEL = re.compile(r"^\s*(?:the\s+)?(?:category|answer)\s*[:=]\s*", re.IGNORECASE)
_DRESS = " \t*`\"'“”.[](){}<>"


class ErrorCategory(LanguageModelComparer):
    """`error-category`: one of CATEGORIES; its place there is the value, its name in `detail`.

    All references are shown together.
    """

    name = "error-category"
    values = (VALUE,)
    file = "error-category-1"
    places = ("response", "reference")

    def _read(self, reply: Reply) -> Comparison:
        found = read_reply(reply, _values, "none of the categories, or several")
        if found.values:
            found.detail = {VALUE: CATEGORIES[int(found.values[VALUE])]}
        return found


def read_category(reply: str) -> str | None:
    """The category that stands alone on the first or the last line; None where they disagree.

    The part behind the slash is enough, and so are its words apart ("More elaborate answers").
    """
    lines = [line for line in reply.splitlines() if line.strip()]
    found = {_category(line) for line in (*lines[:1], *lines[-1:])} - {None}
    return found.pop() if len(found) == 1 else None


def _category(line: str) -> str | None:
    plain = _LABEL.sub("", line.strip(_DRESS)).strip(_DRESS).lower()
    return _BY_NAME.get(re.sub(r"[\s_-]+", "_", plain))


def _values(reply: str) -> dict[str, float] | None:
    category = read_category(reply)
    return None if category is None else {VALUE: float(CATEGORIES.index(category))}
