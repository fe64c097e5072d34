"""What kind of answer a question asks for, as far as its words show."""

from __future__ import annotations

import re

_PLURAL = r"(?!is\b|was\b|does\b|has\b|this\b|its\b|his\b)\w+(?<!s)(?<!u)(?<!i)s"
_LIST = re.compile(
    r"\bwho\s+(?:are|were|else)\b|\bwhat\s+(?:are|were)\s+(?:some|the|other)\b"
    rf"|\bwhat\s+(?:are|were)\s+(?:\w+\s+){{0,2}}{_PLURAL}\b"
    r"|\b(?:list|name)\s+(?:of|all|some|a\s+few|two|three|four|five|the)\b|^(?:list|all|name)\b"
    rf"|\b(?:which|what)\s+(?:other\s+|are\s+|were\s+|some\s+|two\s+|three\s+)*{_PLURAL}\b"
    r"|\bcast\s+of\b|\bmembers?\s+of\b|\bstar(?:s|red|ring)?\s+in\b|\bexamples?\s+of\b"
    r"|\bwho\s+(?:all\s+)?(?:plays?|played|sings?|sang)\s+(?:in|on)\b",
    re.IGNORECASE,
)
_OPEN = re.compile(
    r"\bwhy\b|^(?:and\s+|so\s+|but\s+)?how\s+(?!many|much|old|long|far|tall|big|often|fast|high|deep"
    r"|large|heavy|wide|soon|likely)\w+|\bexplain\b|\bdescribe\b|\btell\s+me\b|\bwhat\s+happened\b",
    re.IGNORECASE,
)
_WHERE = re.compile(
    r"\bwhere\b|\b(?:which|what)\s+(?:\w+\s+)?(?:city|country|state|county|town|place|continent"
    r"|region|island|province|village|location|area|part)\b",
    re.IGNORECASE,
)
_CHANGING = re.compile(
    r"\b(?:current|currently|now|today|latest|last|newest|recent|recently|next|new|this\s+year"
    r"|won|wins?|winner|champions?|of\s+the\s+year|population|richest|highest[- ]paid|ever"
    r"|records?|best[- ]selling|president|prime\s+minister|ceo|manager|coach|captain"
    r"|all\s+time|highest|who\s+(?:plays?|played|voiced|voices)|how\s+old)\b"
    r"|^when\s+(?:does|is|will)\b",
    re.IGNORECASE,
)
_YEAR = re.compile(r"\b(?:1[0-9]|20)\d\d\b")


def asks_for_a_list(question: str) -> bool:
    """Whether several names are asked for: the cast of a film, the members of a band."""
    return bool(_LIST.search(question))


def is_open(question: str) -> bool:
    """Whether it asks why, how, or what happened, so that no short answer is the only one."""
    return bool(_OPEN.search(question))


def asks_for_a_place(question: str) -> bool:
    """Whether it asks where something is, or for a city, a country and the like."""
    return bool(_WHERE.search(question))


def changes_with_time(question: str) -> bool:
    """Whether the answer depends on when it is asked, and no year says when."""
    return bool(_CHANGING.search(question)) and not _YEAR.search(question)
