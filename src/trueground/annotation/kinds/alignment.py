"""Does a sentence say what it cites? (Li et al. 2024, appendix C.2, table 8.)"""

from __future__ import annotations

from trueground.annotation.base import TaskKind
from trueground.annotation.kinds.common import yes_no

_INSTRUCTIONS = """\
You see a sentence of an answer, and one piece of knowledge or one passage that it cites.

`aligned`: does what is cited support the sentence? Answer `yes` if the sentence tells what the
cited knowledge says, among other things perhaps, and tells it rightly. Answer `no` if the sentence
does not speak of it, or says it otherwise. Of a date, the part that is given must be right.

Example. Sentence: "Ansa Mirel, a cellist, was born in Port Eddy on 4 May 1922." Cited: "Ansa Mirel:
date of birth: 1922-05-04". `aligned` yes.

Example. The same sentence. Cited: "Ansa Mirel: place of death: Lorne". `aligned` no: the sentence
does not say where she died.
"""

KIND = TaskKind(
    name="alignment",
    doc="does the sentence say what it cites?",
    instructions=_INSTRUCTIONS,
    shows={"sentence": "the sentence", "citation": "what it cites"},
    fields=(yes_no("aligned", "what is cited supports the sentence"),),
    made_of="both",
    source="Li et al. 2024, appendix C.2, table 8",
)
