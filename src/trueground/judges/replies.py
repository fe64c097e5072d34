"""Reading a verdict out of a language model's reply: a closed set of forms, and nothing guessed.

A verdict is one of the words true, false, yes, no (in any case), quoted, in bold or with a full
stop, or behind a label such as "Answer:". It is looked for

1. on the first and on the last line, where such a line holds nothing else;
2. at the beginning of the first line, where a full stop, colon, semicolon or dash ends it
   ("False. The context names no date.");
3. at the end of the last line, as a sentence "The answer (statement, verdict) is …".

All that are found must agree, and the other one of true and false may stand nowhere in the reply.
"""

from __future__ import annotations

import re

_VERDICTS = {"true": True, "yes": True, "false": False, "no": False}
_VERDICT = r"(true|false|yes|no)"
_LABEL = (
    r"(?:(?:the\s+)?(?:final\s+|correct\s+)?(?:answer|verdict|judge?ment|output|result)\s*[:=]\s*)?"
)
_ALONE = re.compile(rf"{_LABEL}{_VERDICT}[.!]?")
_BEGINS = re.compile(rf"{_LABEL}{_VERDICT}\s*(?:[.:;]|\s[-–—]|[–—])(?=\s|$)")
_ENDS = re.compile(
    r"(?:.*[.:;!?]\s+)?(?:(?:so|therefore|thus|hence|overall|in conclusion),?\s+)?"
    r"the\s+(?:final\s+|correct\s+)?(?:answer|statement|verdict|judge?ment)\s+is\s*:?"
    rf"\s+{_VERDICT}[.!]?"
)
# What dresses a word up: tags, emphasis, code, quotes, brackets, and the boxes of mathematics.
_DRESS = re.compile(r"</?[A-Za-z_]+>|\\boxed|\\text(?:bf)?|[*_`#\"'“”‘’«»()\[\]{}<>$]")
_WORD = re.compile(r"\b(true|false)\b")


def read_verdict(reply: str) -> bool | None:
    """Whether the reply says True or False; None where it says neither, or both."""
    text = _DRESS.sub("", reply).strip().lower()
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        return None
    first, last = lines[0], lines[-1]
    found = [
        _ALONE.fullmatch(first),
        _ALONE.fullmatch(last),
        _BEGINS.match(first),
        _ENDS.fullmatch(last),
    ]
    said = {_VERDICTS[match[1]] for match in found if match}
    said_there = said.copy()
    said.update(_VERDICTS[word] for word in _WORD.findall(text))
    return said.pop() if said_there and len(said) == 1 else None
