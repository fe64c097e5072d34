"""Gold passages of Natural Questions, from a file that the user names.

DPR's `nq-test_gold_info.json` is {"data": [{"question", "title", "context", "short_answers",
"example_id", …}]}; rows of question, title and context (or text) in any data file do too.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson

from trueground.benchmarks.instruct_qa.fields import QaFields
from trueground.benchmarks.instruct_qa.items import Gold, QaQuestion
from trueground.errors import InputError
from trueground.records.reading import plain_rows

_HINT = '; a row is {"question": "…", "title": "…", "context": "…"}, as in DPR\'s file'


def with_gold(items: Iterable[QaQuestion], path: Path) -> list[QaQuestion]:
    """The items with the gold passages that the file has for their questions.

    InputError: a broken row, or no question of the file among the items.
    """
    found: dict[str, list[Gold]] = {}
    for place, row in _rows(path):
        fields = QaFields(place, row, _HINT)
        gold = Gold(fields.text("context", "text"), title=fields.maybe("title"))
        known = found.setdefault(question_key(fields.text("question")), [])
        if gold not in known:
            known.append(gold)
    made = [replace(item, gold=tuple(found.get(question_key(item.question), ()))) for item in items]
    if not any(item.gold for item in made):
        raise InputError(
            f"--gold {path}: none of its {len(found):,} questions is among the {len(made):,} that "
            "are asked; name the file of the same split (DPR's nq-test_gold_info.json)"
        )
    return made


def question_key(question: str) -> str:
    """A question as the two files are joined by: case, white space and "?" make no difference."""
    return " ".join(question.replace("’", "'").casefold().split()).rstrip("?").rstrip()


def _rows(path: Path) -> Iterable[tuple[str, dict[str, Any]]]:
    data = _whole(path) if path.is_file() and ".json" in path.suffixes else None
    if not isinstance(data, dict) or not isinstance(data.get("data"), list):
        return plain_rows(path)
    rows = []
    for number, row in enumerate(data["data"], start=1):
        place = f"{path}, data[{number - 1}]"
        if not isinstance(row, dict):
            raise InputError(f"{place}: found no object; expected one{_HINT}")
        rows.append((place, row))
    return rows


def _whole(path: Path) -> Any:
    """The file as one JSON value; None where it is none (JSON lines)."""
    try:
        raw = path.read_bytes()
        return orjson.loads(gzip.decompress(raw) if path.suffix == ".gz" else raw)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"--gold {path} cannot be read: {error}; fetch it again") from error
    except orjson.JSONDecodeError:
        return None
