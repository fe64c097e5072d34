"""How good is a question that was made of a graph? (Li et al. 2024, appendix C.1.)"""

from __future__ import annotations

from trueground.annotation.base import Field, TaskKind
from trueground.annotation.kinds.common import yes_no

_INSTRUCTIONS = """\
You see a question, the paragraph that it was made of, and the numbered pieces of knowledge that an
answer is meant to need. Look the people or things up before you begin, to know their
story.

- `authenticity`: does the question fit what is known of them? `no` if it contradicts it.
- `relevance`: the numbers of the pieces of knowledge that an answer needs. Leave out those that are
  superfluous. If none is needed, write `none`.
- `naturalness`, 1 to 5: 5 is a question that is short and understood at once; 1 is no natural
  English, or very tedious to read.
- `significance`, 1 to 5: 5 means that you, or people that you can think of, might want to know
  this; 1 means that nobody would.

Example. Question: "Where did the sisters Ona and Ilse Garrel learn to make violins?" Knowledge: [1]
"Ona Garrel: educated at: Breck workshop" [2] "Ilse Garrel: educated at: Breck workshop" [3] "Ona
Garrel: given name: Ona". `authenticity` yes, `relevance` 1 2, `naturalness` 5, `significance` 4.

Example. The same with the question "What is it that is the place of education of Ona Garrel, whose
sibling is Ilse Garrel, whose place of education it is?" `naturalness` 1.
"""

KIND = TaskKind(
    name="quality",
    doc="authenticity, relevance, naturalness and significance of a generated question",
    instructions=_INSTRUCTIONS,
    shows={
        "question": "the question",
        "paragraph": "the paragraph that it was made of",
        "knowledge": "the knowledge, numbered",
    },
    fields=(
        yes_no("authenticity", "it fits the story behind it"),
        Field(
            "relevance", "the knowledge that is needed", "choices", (), "knowledge", measure="set"
        ),
        Field("naturalness", "how natural the question is", "scale", measure="interval"),
        Field("significance", "how much one may want to know it", "scale", measure="interval"),
    ),
    made_of="build",
    source="Li et al. 2024, appendix C.1",
    keeps=("authenticity",),
)
