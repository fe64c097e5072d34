"""Rules that propose an error category for a correct response with a low F1.

Source of the categories: Adlakha et al. 2023, section 4.2; the rules are our own. They are tried in
the order of RULES, the first that speaks decides, and none speaks without something to show for it.
They know no facts: whether Paris lies in France they cannot tell.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from trueground.judges.comparing.error_category import NONE
from trueground.studies.errors import exactness, lists, wording
from trueground.studies.errors.item import Item, Proposal
from trueground.studies.errors.text import Text

RULES_NAME = "rules-2"
RULES: tuple[Callable[[Item], Proposal | None], ...] = (
    lists.enumeration,
    lists.subset,
    lists.names,
    exactness.temporal,
    exactness.chain_of_places,
    wording.yes_no,
    wording.contained,
    wording.symbolic,
    wording.multinominal,
    wording.nearly_contained,
    wording.open_ended,
    exactness.other_places,
    wording.ambiguous,
    wording.synonymous,
)


def propose(question: str, references: Sequence[str], response: str) -> Proposal:
    """The category that the rules see; `none` where no rule speaks."""
    item = Item(Text(question), tuple(Text(r) for r in references), Text(response))
    if item.response.words:
        for rule in RULES:
            if found := rule(item):
                return found
    return Proposal(NONE, "no rule speaks")
