"""Is a response correct? (Adlakha et al. 2023, section 4.2.)"""

from __future__ import annotations

from trueground.annotation.base import TaskKind
from trueground.annotation.kinds.common import yes_no

_INSTRUCTIONS = """\
You see a question (with what was said before it, if anything), one or more reference answers, and a
response. You are not told who wrote the response.

`correct`: does the response give what the question asks for, and is that right? The reference
answers show what is meant; other words, more detail and a longer answer are fine. What the response
tells beyond the question does not count here. Answer `no` if the answer is missing, wrong, or
contradicted in the same response.

Example. Question: "How many arches has the bridge at Umber?" Reference: "seven". Response: "The
bridge, which is the oldest of the county, has 7 arches." `correct` yes.

Example. The same question. Response: "It has seven or eight arches." `correct` no: it does not
commit itself to an answer.
"""

KIND = TaskKind(
    name="correctness",
    doc="does the response answer the question rightly?",
    instructions=_INSTRUCTIONS,
    shows={
        "question": "the question",
        "references": "reference answers",
        "response": "the response",
    },
    fields=(yes_no("correct", "the response answers the question rightly"),),
    made_of="records",
    source="Adlakha et al. 2023, section 4.2",
)
