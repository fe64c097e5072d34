"""Does a text say a fact? (Lee et al. 2024, appendix B.1, tasks 1 and 2.)"""

from __future__ import annotations

from trueground.annotation.base import TaskKind
from trueground.annotation.kinds.common import yes_no

_INSTRUCTIONS = """\
You see a text and a fact.

`contains`: does the text say everything that the fact says? Other words for the same are fine, and
so is a conclusion that needs no knowledge from outside. If any part of the fact is missing, or the
text says it otherwise, answer `no`. Whether the fact is true in the world does not matter.

Example. Text: "The ferry Alba, which was launched at Corran in 1954, carries 40 cars." Fact: "The
Alba was launched in 1954." `contains` yes.

Example. The same text. Fact: "The Alba was launched in 1954 by a shipyard of Corran's harbour
board." `contains` no: the text does not say whose shipyard it was.
"""

KIND = TaskKind(
    name="contains",
    doc="does the text say the fact?",
    instructions=_INSTRUCTIONS,
    shows={"text": "the text", "fact": "the fact"},
    fields=(yes_no("contains", "the text says all of the fact"),),
    made_of="records",
    source="Lee et al. 2024, appendix B.1, figure 10",
)
