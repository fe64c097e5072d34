"""Is a fact among other facts? (Lee et al. 2024, appendix B.1, tasks 3 and 4.)"""

from __future__ import annotations

from trueground.annotation.base import TaskKind
from trueground.annotation.kinds.common import yes_no

_INSTRUCTIONS = """\
You see a numbered list of facts, and one more fact.

`contains`: does the list say this fact? One entry may say it in other words, or several entries may
say it together. If a part of it is in none of them, answer `no`. Whether the fact is true in the
world does not matter.

Example. List: [1] "Pell Quarry was closed in 1931." [2] "Pell Quarry gave slate." Fact: "Slate was
cut at Pell Quarry until 1931." `contains` yes, by both together.

Example. The same list. Fact: "Pell Quarry was closed because of a flood." `contains` no.
"""

KIND = TaskKind(
    name="contains-list",
    doc="is the fact among the listed facts?",
    instructions=_INSTRUCTIONS,
    shows={"facts": "the list, numbered", "fact": "the fact"},
    fields=(yes_no("contains", "the list says all of the fact"),),
    made_of="records",
    source="Lee et al. 2024, appendix B.1, figure 10",
)
