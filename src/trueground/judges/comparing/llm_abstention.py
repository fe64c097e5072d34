"""Does a response decline to answer for lack of information? A language model says yes or no.

Definition: Adlakha et al. 2023, section 5.3; the prompt is our own.
"""

from __future__ import annotations

from trueground.judges.comparing.language_model import LanguageModelComparer

VALUE = "abstained"


class LLMAbstention(LanguageModelComparer):
    """`llm-abstention`: 1 if the response declines to answer. Contexts are not shown."""

    name = "llm-abstention"
    values = (VALUE,)
    file = "abstention-1"
    places = ("response",)
