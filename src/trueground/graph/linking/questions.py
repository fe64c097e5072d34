"""Questions of a file, and how well linking finds what they are about (KaLMA, section 5.3)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from trueground.errors import InputError
from trueground.graph.items import PAIR, begins_array, decoded, items
from trueground.graph.linking.linker import LinkedQuestion
from trueground.records.files import data_files, inner_ending, open_unpacked
from trueground.records.problems import describe
from trueground.records.reading import plain_rows

_FIELDS = ("gold", "knowledge", "gold_knowledge")
_EXPECTED = f"{PAIR} or an object with the field 'question'"


class LinkingQuestion(msgspec.Struct, frozen=True):
    """`gold` holds ids, and is None where the file says nothing of them."""

    text: str
    gold: tuple[str, ...] | None = None


def read_questions(path: Path) -> list[LinkingQuestion]:
    """Questions of a file, in its order.

    A .json file in the form of KaLMA, `[[question, [graph, …]], …]`, whose graphs' ids are gold
    (triples `[qid, property, value]` likewise); rows with `question` and, if they have it, `gold`
    (ids), `knowledge` or `gold_knowledge`, as JSON lines, a JSON array, CSV or Parquet; a .txt file
    with one question a line. Also packed, but for .txt. Raises InputError that names the place.
    """
    if path.suffix.lower() == ".txt":
        found = [LinkingQuestion(line) for line in _lines(path)]
    elif (found_items := _array(path)) is not None:
        found = [_item(place, item) for place, item in found_items]
    else:
        found = [_row(place, row) for place, row in plain_rows(path)]
    if not found:
        raise InputError(f"{path} holds no question; expected {_EXPECTED}, or one a line in .txt")
    return found


def _array(path: Path) -> list[tuple[str, Any]] | None:
    """The items of a file that is a JSON array; None where it is none."""
    if inner_ending(path) != ".json" or not path.is_file():
        return None
    with open_unpacked(path) as stream:
        return list(items(stream, str(path), _EXPECTED)) if begins_array(stream) else None


def _lines(path: Path) -> Iterator[str]:
    for file in data_files(path):
        try:
            # Not splitlines(): it also cuts at signs that may stand within a line, such as U+2028.
            lines = file.read_text(encoding="utf-8-sig").split("\n")
        except OSError as error:
            raise InputError(
                f"{file} cannot be read: {error.strerror or error}; fix that, or name another"
            ) from error
        except UnicodeDecodeError as error:
            raise InputError(f"{file} cannot be read: {error}; save it as UTF-8 text") from error
        yield from (line.strip() for line in lines if line.strip())


def _item(place: str, item: Any) -> LinkingQuestion:
    if isinstance(item, dict):
        return _row(place, item)
    if not isinstance(item, list) or len(item) != 2:
        raise _refused(place, item, _EXPECTED)
    return LinkingQuestion(_text(place, item[0]), _ids(place, item[1]))


def _row(place: str, row: dict[str, Any]) -> LinkingQuestion:
    text = _text(f"{place}, field 'question'", row.get("question"))
    named = next((name for name in _FIELDS if row.get(name) is not None), None)
    if named is None:
        return LinkingQuestion(text)
    place = f"{place}, field {named!r}"
    value = row[named]
    if isinstance(value, str) and value.lstrip().startswith("["):  # a cell of a table
        value = decoded(place, value.encode(), _EXPECTED)
    return LinkingQuestion(text, _ids(place, value))


def _text(place: str, value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise _refused(place, value, "a question, as text")
    return value


def _ids(place: str, values: Any) -> tuple[str, ...]:
    """The different ids of a list of ids, graphs or triples."""
    if not isinstance(values, list):
        raise _refused(place, values, "a list of ids, graphs or triples")
    ids: dict[str, None] = {}
    for number, value in enumerate(values, 1):
        one = value.get("qid") if isinstance(value, dict) else value
        one = one[0] if isinstance(one, list) and one else one
        if not isinstance(one, str) or not one.strip():
            expected = "an id, a graph with 'qid', or [qid, property, value]"
            raise _refused(f"{place}, number {number}", value, expected)
        ids[one.strip()] = None
    return tuple(ids)


def _refused(place: str, found: Any, expected: str) -> InputError:
    return InputError(f"{place}: found {describe(found)}; expected {expected}. Fix the file")


class Retrieval(msgspec.Struct, frozen=True):
    """Entities found against gold ones; a share is None where it has no denominator.

    `correct`, `found` and `gold` count entities; precision = correct / found, recall = correct /
    gold, F1 their harmonic mean. The macro values are means over the questions for which anything
    was found (precision) or that have gold entities (recall), and the harmonic mean of the two.
    `exact` counts the questions with just the gold entities, none included.
    """

    questions: int
    correct: int
    found: int
    gold: int
    exact: int
    precision: float | None
    recall: float | None
    f1: float | None
    macro_precision: float | None
    macro_recall: float | None
    macro_f1: float | None


class LinkedQuestions(msgspec.Struct, frozen=True):
    """The questions of a file, as they stand there, with their entities.

    `graph` and `signature` name the graph; `retrieval` is None where the file has no gold ids.
    """

    graph: str
    signature: str
    recognizer: str
    types: tuple[str, ...]
    texts: tuple[str, ...]
    linked: tuple[LinkedQuestion, ...]
    retrieval: Retrieval | None

    def as_dict(self) -> dict[str, Any]:
        """All but the subgraphs, for JSON."""
        links = [
            {
                "question": one.question,
                "found": [
                    {
                        "name": found.name,
                        "start": found.start,
                        "end": found.end,
                        "qid": found.qid,
                        "label": found.entity.name,
                        "matched": found.matched,
                        "candidates": found.candidates,
                    }
                    for found in one.found
                ],
                "unlinked": one.unlinked,
            }
            for one in self.linked
        ]
        return {
            "graph": self.graph,
            "signature": self.signature,
            "recognizer": self.recognizer,
            "types": self.types,
            "links": links,
            "retrieval": None if self.retrieval is None else msgspec.to_builtins(self.retrieval),
        }


def retrieval(
    linked: Sequence[LinkedQuestion], gold: Sequence[Collection[str] | None]
) -> Retrieval:
    """Precision and recall of entities. A question whose gold is None is left out.

    Each question counts an id once. ValueError where the two are not equally many.
    """
    pairs = [
        (set(one.qids), set(wanted))
        for one, wanted in zip(linked, gold, strict=True)
        if wanted is not None
    ]
    correct = sum(len(got & wanted) for got, wanted in pairs)
    found = sum(len(got) for got, _ in pairs)
    wanted_all = sum(len(wanted) for _, wanted in pairs)
    precision, recall = _share(correct, found), _share(correct, wanted_all)
    macro_precision = _mean([len(got & wanted) / len(got) for got, wanted in pairs if got])
    macro_recall = _mean([len(got & wanted) / len(wanted) for got, wanted in pairs if wanted])
    return Retrieval(
        questions=len(pairs),
        correct=correct,
        found=found,
        gold=wanted_all,
        exact=sum(got == wanted for got, wanted in pairs),
        precision=precision,
        recall=recall,
        f1=_harmonic(precision, recall),
        macro_precision=macro_precision,
        macro_recall=macro_recall,
        macro_f1=_harmonic(macro_precision, macro_recall),
    )


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _harmonic(a: float | None, b: float | None) -> float | None:
    if a is None or b is None:
        return None
    return 2 * a * b / (a + b) if a + b else 0.0
