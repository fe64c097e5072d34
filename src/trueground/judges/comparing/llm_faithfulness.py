"""Is all of a response in the texts that it was given? A language model says yes or no.

Source: Adlakha et al. 2023, section 5.1 (LLMCritic), with a prompt in our own words.
"""

from __future__ import annotations

from trueground.judges.comparing.language_model import LanguageModelComparer

VALUE = "faithful"


class LLMFaithfulness(LanguageModelComparer):
    """`llm-faithfulness`: 1 if every piece of information stands in the texts or follows from them.

    All texts are shown together. Where that is too long the status is `too_long`: what the whole
    response needs may lie in several texts, so no part of them can be judged alone.
    """

    name = "llm-faithfulness"
    values = (VALUE,)
    file = "faithfulness-1"
    places = ("response", "context")
