"""Is a generated pair of question and answer good, and what class? (Lee et al. 2024, A.2.)"""

from __future__ import annotations

from trueground.annotation.base import Field, TaskKind
from trueground.annotation.kinds.common import yes_no

_KEPT = ("keep", "yes")

_INSTRUCTIONS = """\
You see a question, an answer, and the numbered contexts that they were made of.

`keep`: is it a good question? Answer `no`, and leave the other fields empty, if it joins two
unrelated questions with "and", if nobody would ask it, if it cannot be understood without the
contexts ("What does the passage say?"), or if the answer needs something that no context says.

If `yes`:
- `minimal`: the numbers of the contexts without which the answer cannot be given, and no more. Of
  two contexts that say the same, name one.
- `documents`: `multi` if `minimal` has more than one number, else `single`.
- `form`: `definite` if the answer is a name, a number, a date, yes or no, or a short list of these;
  `free-form` if it has to be told in sentences.
- `span`: the words of the contexts from which the answer was taken, copied as they stand.
- `answers`: for `definite`, all forms in which the answer could be given, one a line: the full
  name, the short name, the number in figures and in words.

Example. Question: "Who founded the mill at Tarn Bridge?" Answer: "Edda Rowe". Contexts: [1] "The
mill at Tarn Bridge was founded in 1840 by the weaver Edda Rowe." [2] "Tarn Bridge has 900
inhabitants." `keep` yes, `minimal` 1, `documents` single, `form` definite, `span` "founded in 1840
by the weaver Edda Rowe", `answers` "Edda Rowe" and "Rowe".

Example. Question: "Who founded the mill and how many people live in Tarn Bridge?" `keep` no: two
questions that have nothing to do with each other.
"""

KIND = TaskKind(
    name="candidate",
    doc="is the question good, which contexts does it need, and what is its class?",
    instructions=_INSTRUCTIONS,
    shows={
        "question": "the question",
        "answer": "the answer",
        "contexts": "the contexts, numbered",
    },
    fields=(
        yes_no("keep", "it is a good question"),
        Field(
            "minimal",
            "the contexts that are needed",
            "choices",
            (),
            "contexts",
            measure="set",
            when=_KEPT,
        ),
        Field("documents", "how many contexts it needs", "choice", ("single", "multi"), when=_KEPT),
        Field("form", "what the answer is like", "choice", ("definite", "free-form"), when=_KEPT),
        Field("span", "the words that the answer is from", "text", measure=None, when=_KEPT),
        Field(
            "answers",
            "all forms of a definite answer",
            "texts",
            measure=None,
            needed=False,
            when=_KEPT,
        ),
    ),
    made_of="build",
    source="Lee et al. 2024, appendix A.2, figure 7",
    keeps=("keep",),
)
