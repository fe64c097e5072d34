"""A user's own questions: records without responses, and gold passages by their names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trueground.benchmarks.instruct_qa.fields import QaFields
from trueground.benchmarks.instruct_qa.items import QaQuestion
from trueground.benchmarks.instruct_qa.readers import Rows
from trueground.errors import InputError
from trueground.records.problems import Problem
from trueground.records.schema import to_record
from trueground.retrieval.gold import read_gold
from trueground.retrieval.questions import own_query
from trueground.types import Record

# What is said of an answer that another model gave.
_OF_ANSWERS = ("response", "response_facts", "model", "human", "failure")
_HINT = '; a row is {"question": "…", "references": ["…"], "gold": ["id or title"]}'


def read_own(rows: Rows) -> Iterator[QaQuestion]:
    """Every row in its order; one without an id has its number, from 0."""
    for number, (place, row) in enumerate(rows):
        fields = QaFields(place, row, _HINT)
        question = fields.text("question")
        record = _record(place, row, number)
        for i, one in enumerate(record.references or ()):
            fields.as_text(f"references[{i}]", one)
        yield QaQuestion(
            place,
            record.id,
            question,
            tuple(record.references or ()),
            tuple(record.history or ()),
            read_gold(place, row),
            record.group,
            record.answerable,
            own_query(place, row),
            record.meta or {},
        )


def _record(place: str, row: dict[str, Any], number: int) -> Record:
    asked = {k: v for k, v in row.items() if k not in (*_OF_ANSWERS, "gold")}
    try:
        return to_record({**asked, "response": ""}, None, number)
    except Problem as problem:
        raise InputError(
            f"{place}, field {problem.field!r}: found {problem.found}; expected {problem.expected}"
        ) from None
