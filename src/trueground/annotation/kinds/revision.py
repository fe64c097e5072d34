"""What was changed in a conflicting version, and is it right? (Lee et al. 2024, A.5.)"""

from __future__ import annotations

from trueground.annotation.base import Field, TaskKind
from trueground.annotation.kinds.common import yes_no

_INSTRUCTIONS = """\
You see a question with its answer, contexts and gold facts, and a new version of all four in which
something well known was changed on purpose. Whoever answers the new question from memory, and not
from the new contexts, should be wrong.

`types`: what was changed; name all that apply.
- `number`: a quantity. `date`: a day, a year, a period. `name`: a person, group or thing.
- `place`: where something is or happened. `negation`: what was so is not so, or the other way.
- `relation`: who did it to whom, what belongs to what. `other`: anything else.

`right`: answer `yes` if all of this holds:
- the new contexts give the new answer, and the old answer is wrong by them;
- the change was made everywhere: no old value is left in question, contexts or gold facts;
- the new gold facts are stated by the new contexts;
- nothing that stayed as it was contradicts the change.

Example. Old context: "The Velm tunnel was opened in 1962. Four years later, in 1966, it was
widened." Now: "The Velm tunnel was opened in 1978. Four years later, in 1982, it was widened."
`types` date, `right` yes.

Example. The same with "opened in 1978. Four years later, in 1966": `types` date, `right` no, as
1966 does not come after 1978.
"""

_TYPES = ("number", "date", "name", "place", "negation", "relation", "other")

KIND = TaskKind(
    name="revision",
    doc="what was changed in the conflicting version, and is it right everywhere?",
    instructions=_INSTRUCTIONS,
    shows={
        "question": "the question",
        "answer": "the answer",
        "contexts": "the contexts",
        "gold_facts": "the gold facts",
        "new_question": "the question now",
        "new_answer": "the answer now",
        "new_contexts": "the contexts now",
        "new_gold_facts": "the gold facts now",
    },
    fields=(
        Field("types", "what was changed", "choices", _TYPES, measure="set"),
        yes_no("right", "changed everywhere, without a contradiction"),
    ),
    made_of="build",
    source="Lee et al. 2024, appendix A.5, figure 9",
    keeps=("right",),
)
