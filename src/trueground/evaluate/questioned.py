"""Which question an answer is of, where questions have several answers."""

from __future__ import annotations

import hashlib

from trueground.errors import UsageError
from trueground.records import Check
from trueground.records.columns import field_text, is_known
from trueground.types import Answered, Record

REPEAT = "repeat"  # in `meta`, where a question was asked several times: which time it was
BY_ID = "id"  # an answer's id is that of its question, `#` and the repeat
QUESTION = "question"
NO_ANSWER = 0


def question_of(record: Record, of: str) -> str:
    """The name of the question that a record answers; its own id where none is told.

    `of` is BY_ID, `question` for its words, or a field as for --by.
    """
    if of == BY_ID:
        again = field_text(record, f"meta.{REPEAT}")
        return record.id.removesuffix(f"#{again}") if again else record.id
    told = record.question if of == QUESTION else field_text(record, of)
    return record.id if told is None else told


def answer_hash(record: Record) -> int:
    """64 bits of the response; 0 where there is no whole answer."""
    if isinstance(record, Answered) and record.failure is not None:
        return NO_ANSWER
    if record.response is None:
        return NO_ANSWER
    text = record.response.encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little", signed=True)


def repeats_of(given: str | None, check: Check) -> str | None:
    """How questions are told in a file: as given, else by ids where records say `meta.repeat`.

    Raises UsageError for a field that no record has.
    """
    if given is None:
        return BY_ID if is_known(f"meta.{REPEAT}", check.breakdowns) else None
    known = (BY_ID, QUESTION, *check.breakdowns)
    if given not in known and not is_known(given, check.breakdowns):
        raise UsageError(
            f"--repeats-of {given}: no record has this field; expected the field that tells which "
            f"question is answered, one of {', '.join(known)}"
        )
    return given
