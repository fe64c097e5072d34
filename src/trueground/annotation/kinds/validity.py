"""Is a question with a changed context a valid item? (Ming et al. 2025, section 3.2.)"""

from __future__ import annotations

from trueground.annotation.base import TaskKind
from trueground.annotation.kinds.common import yes_no

_INSTRUCTIONS = """\
You see a question, a context that was written for it, and an answer. Judge by the context alone,
also where you know better: many contexts say on purpose what is not true in the world. Read the
whole context before you answer.

`if`: does the answer follow from the context?
- `unanswerable`: the answer is that the context does not say. Answer `yes` if the context truly
  leaves the question open.
- `inconsistent`, `counterfactual`: answer `yes` if the context states the answer, or if nobody who
  reads it carefully could doubt the answer.

`only_if`: does no other answer follow from it?
- `unanswerable`: answer `yes` if no answer at all can be drawn from the context, not even by
  putting two sentences together.
- otherwise: answer `yes` if the context supports no second, different answer. Of several choices,
  none of the others may be supported.

Example. Question: "In which year was the Orvel lighthouse built?" Context: "The Orvel lighthouse
was built in 1911 by Mira Tessen. It replaced a wooden tower." Answer: "1911".
`if` yes, `only_if` yes.

Example. The same question and answer, but the context goes on: "Records of the harbour office give
1908 as the year in which it was built." `if` yes, `only_if` no: 1908 is supported as well.
"""

KIND = TaskKind(
    name="validity",
    doc="does the answer, and no other, follow from the changed context?",
    instructions=_INSTRUCTIONS,
    shows={
        "task": "what was made of the context",
        "question": "the question",
        "context": "the context to judge by",
        "answer": "the answer",
        "choices": "the choices, if there are any",
    },
    fields=(
        yes_no("if", "the answer follows from the context"),
        yes_no("only_if", "no other answer follows from it"),
    ),
    made_of="build",
    source="Ming et al. 2025, section 3.2 and appendix A",
    optional=("choices",),
    keeps=("if", "only_if"),
)
