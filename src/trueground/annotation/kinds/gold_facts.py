"""Which facts must a complete answer state? (Lee et al. 2024, appendix A.4.)"""

from __future__ import annotations

from trueground.annotation.base import Field, TaskKind

_INSTRUCTIONS = """\
You see a question, its answer, the contexts, and a numbered list of facts that were taken out of
the contexts.

`gold`: the numbers of the facts that are needed to answer the question completely and correctly. A
fact is needed if the answer would be wrong, incomplete or without ground if it were not so. A fact
that only tells more about the same subject is not needed. Where two facts say the same, name the
one that says it more fully. If no fact is needed, write `none`.

Example. Question: "Which two rivers meet at Halden?" Answer: "The Orm and the Liss". Facts: [1]
"The Orm meets the Liss at Halden." [2] "Halden has a stone bridge." [3] "The Liss is 80 km long."
`gold` 1.

Example. Question: "How old was Ina Brandt when she opened the school?" Answer: "27". Facts: [1]
"Ina Brandt was born in 1883." [2] "Ina Brandt opened the school in 1910." [3] "Ina Brandt was a
painter." `gold` 1 2: neither of them gives the age alone.
"""

KIND = TaskKind(
    name="gold-facts",
    doc="which of the facts does a complete answer need?",
    instructions=_INSTRUCTIONS,
    shows={
        "question": "the question",
        "answer": "the answer",
        "contexts": "the contexts",
        "facts": "the facts, numbered",
    },
    fields=(Field("gold", "the facts that are needed", "choices", (), "facts", measure="set"),),
    made_of="build",
    source="Lee et al. 2024, appendix A.4, figure 8",
)
