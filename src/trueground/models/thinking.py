"""Models that think aloud before they answer, between `<think>` and `</think>`."""

from __future__ import annotations

_OPEN = "<think>"
CLOSE = "</think>"


def split_thinking(text: str) -> tuple[str, str | None]:
    """(answer, thoughts); thoughts are None where there are none.

    Only thoughts at the very beginning count. A chat template may have opened them already, so a
    closing tag without an opening one ends them too. Thoughts that were opened and never closed
    are all there is, whether the token limit cut them or the model stopped there: no answer.
    """
    if CLOSE not in text and _OPEN not in text:
        return text, None
    start = text.lstrip()
    opened = start.startswith(_OPEN)
    thoughts, close, answer = start.removeprefix(_OPEN).partition(CLOSE)
    if opened and not close:
        return "", thoughts.strip() or None
    if not close or (not opened and _OPEN in thoughts):
        return text, None
    return answer.lstrip(), thoughts.strip() or None
