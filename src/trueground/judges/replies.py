"""Reading a verdict out of a language model's reply: a closed set of forms, and nothing guessed.

A verdict is one of the words true, false, yes, no (in any case), quoted, in bold or with a full
stop, or behind a label such as "Answer:". It is looked for

1. on the first and on the last line, where such a line holds nothing else;
2. at the beginning of the first line, where a full stop, comma, colon, semicolon or dash ends it
   ("No, it contradicts the context.") or a clause about the answer begins ("Yes the response is
   correct"), unless what follows takes it back ("Yes, but …", "True, partly");
3. at the end of the last line, as a sentence "The answer (statement, verdict) is …", or behind what
   it rests on ("Based on the context, yes.").

All that are found must agree, with each other and with every true and false in the reply, where
"not true" says false; and a verdict of the form 2 with what its line says of the answer: "No, the
response is correct." is none.
"""

from __future__ import annotations

import re

_VERDICTS = {"true": True, "yes": True, "false": False, "no": False}
_VERDICT = r"(true|false|yes|no)"
_LABEL = (
    r"(?:(?:the\s+)?(?:final\s+|correct\s+)?(?:answer|verdict|judge?ment|output|result)\s*[:=]\s*)?"
)
_ALONE = re.compile(rf"{_LABEL}{_VERDICT}[.!]?")
_BEGINS = re.compile(
    rf"{_LABEL}{_VERDICT}(?:\s*(?:[.:;,]|\s[-–—]|[–—])(?=\s|$)|(?=\s(?:the|it|this|that|because)\s))"
)
_TAKEN_BACK = re.compile(
    r"\W*(?:(?:but|however|although|though|except|partly|partially|mostly|somewhat|in part|only)\b"
    r"|(?:and |or )?(?:yes|no)\b(?! \w))"
)
_OF_THE_ANSWER = re.compile(
    r"\b(?:response|answer|statement|claim|it|this|that) (?:is|was)(nt| not)?(?: \w+ly)? "
    r"(?:(correct|accurate|supported|true)|incorrect|inaccurate|unsupported|wrong|false)\b"
)
_ENDS = re.compile(
    r"(?:.*[.:;!?]\s+)?(?:(?:so|therefore|thus|hence|overall|in conclusion),?\s+)?"
    r"(?:the\s+(?:final\s+|correct\s+)?(?:answer|statement|verdict|judge?ment)\s+is\s*:?\s+"
    rf"|(?:based on|according to|given)\s[^.:;,]*,\s+){_VERDICT}[.!]?"
)
# What dresses a word up: tags, emphasis, code, quotes, brackets, and the boxes of mathematics.
_DRESS = re.compile(r"</?[A-Za-z_]+>|\\boxed|\\text(?:bf)?|[*_`#\"'“”‘’«»()\[\]{}<>$]")
_WORD = re.compile(r"(?:\b(?P<not>not|isnt)(?: \w+ly)? )?\b(?P<word>true|false)\b")


def read_verdict(reply: str) -> bool | None:
    """Whether the reply says True or False; None where it says neither, or both."""
    text = _DRESS.sub("", reply).strip().lower()
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        return None
    first, last = lines[0], lines[-1]
    found = [_ALONE.fullmatch(first), _ALONE.fullmatch(last), _ENDS.fullmatch(last)]
    begins = None if found[0] else _BEGINS.match(first)
    if begins and _TAKEN_BACK.match(first, begins.end()):
        return None
    said = {_VERDICTS[match[1]] for match in (*found, begins) if match}
    said_there = said.copy()
    if begins:
        said |= {(m[1] is None) == bool(m[2]) for m in _OF_THE_ANSWER.finditer(first, begins.end())}
    said |= {(m["word"] == "true") == (m["not"] is None) for m in _WORD.finditer(text)}
    return said.pop() if said_there and len(said) == 1 else None
