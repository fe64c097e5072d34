"""Does a passage help to answer a question? (Adlakha et al. 2023, section 5.2.)"""

from __future__ import annotations

from trueground.annotation.base import TaskKind
from trueground.annotation.kinds.common import yes_no

_INSTRUCTIONS = """\
You see a question (with what was said before it, if anything) and one passage.

`relevant`: does the passage hold something that helps to answer the question? It need not hold the
whole answer. A passage that is only about the same subject, and says nothing towards an answer, is
not relevant.

Example. Question: "Who designed the clock tower of Senn?" Passage: "The tower was put up in 1877 to
drawings by Klara Voss." `relevant` yes.

Example. The same question. Passage: "Senn lies on the lake and has a market on Fridays." `relevant`
no.
"""

KIND = TaskKind(
    name="relevance",
    doc="does the passage help to answer the question?",
    instructions=_INSTRUCTIONS,
    shows={"question": "the question", "passage": "the passage"},
    fields=(yes_no("relevant", "the passage helps to answer"),),
    made_of="records",
    source="Adlakha et al. 2023, section 5.2",
)
