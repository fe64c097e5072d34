"""Models that think aloud before they answer, between `<think>` and `</think>`."""

from __future__ import annotations

import re

_OPEN = "<think>"
CLOSE = "</think>"
# What a tag that is spoken of has on its line before and behind it: a blank or a quotation mark.
_APART_BEFORE = re.compile(r"(?:\S\s+|[`\"'“‘(])\Z")
_APART_BEHIND = re.compile(r"\s+\S|[`\"'”’).,;:?!]")


def split_thinking(text: str, may_be_open: bool = True) -> tuple[str, str | None]:
    """(answer, thoughts); thoughts are None where there are none.

    Only thoughts at the very beginning count. Where `may_be_open`, a chat template that is not seen
    here may have opened them already, so that a closing tag without an opening one ends them too,
    unless it is only spoken of. Thoughts that were opened and never closed are all there is,
    whether the token limit cut them or the model stopped there: no answer.
    """
    if CLOSE not in text and _OPEN not in text:
        return text, None
    start = text.lstrip()
    opened = start.startswith(_OPEN)
    thoughts, close, answer = start.removeprefix(_OPEN).partition(CLOSE)
    if opened and not close:
        return "", thoughts.strip() or None
    if not close or (not opened and (not may_be_open or _spoken_of(thoughts, answer))):
        return text, None
    return answer.lstrip(), thoughts.strip() or None


def _spoken_of(before: str, behind: str) -> bool:
    """Whether the tag between the two is no end of thoughts: quoted, or a word in a line."""
    if _OPEN in before or before.count("```") % 2:
        return True
    lead, rest = before.rpartition("\n")[2], behind.partition("\n")[0]
    return bool(_APART_BEFORE.search(lead) and _APART_BEHIND.match(rest))
