"""How far do the passages support a response? (Adlakha et al. 2023, section 5.2.)"""

from __future__ import annotations

from trueground.annotation.base import Field, TaskKind

_INSTRUCTIONS = """\
You see a question (with what was said before it, if anything), numbered passages, and a response.
You are not told who wrote the response.

`support`: how much of what the response claims is said by the passages? Judge by the passages
alone; something that is true but not in them is not supported.
- `fully`: all of it.
- `partially`: some of it, and something else is not in the passages or is said otherwise there.
- `not`: none of it.

Example. Passages: [1] "Lind Hall was built of brick in 1902 for the guild of glaziers." Response:
"It was built in 1902." `support` fully.

Example. The same passages. Response: "It was built in 1902 by the architect Per Holt."
`support` partially: nobody names an architect.

Example. The same passages. Response: "It is a wooden hall of the 17th century." `support` not.
"""

KIND = TaskKind(
    name="support",
    doc="is the response fully, partially or not supported by the passages?",
    instructions=_INSTRUCTIONS,
    shows={
        "question": "the question",
        "contexts": "the passages, numbered",
        "response": "the response",
    },
    fields=(
        Field(
            "support",
            "how far the passages support the response",
            "choice",
            ("fully", "partially", "not"),
            measure="ordinal",
        ),
    ),
    made_of="records",
    source="Adlakha et al. 2023, section 5.2",
)
