"""What a row may hold, what is wrong with one, and the record that it becomes.

Refused anywhere in a row: NaN and infinities, NUL characters, lone surrogates. Each wrong value is
reported with its path, what was expected there, and how to write it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import partial
from math import isfinite
from pathlib import PurePath
from typing import Any
from uuid import UUID

import msgspec

from trueground.types import Answered, Choice, Failure, Passage, Record, Turn

# What decoding a line may raise; a RecursionError where brackets stand in brackets without end.
UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_LARGEST_BITS = 10_000  # Python refuses to print integers of more than about 14,000 bits
_MISSING_TYPES = {"NaTType", "NAType"}
FIELDS = frozenset(Record.__struct_fields__)
_AT_MOST = f"an answer of at most {Record.MAX_RESPONSE_CHARS:,} characters"
_Label = float | bool | None
_Value = str | int | float | bool | None
_Property = _Value | list[_Value]
_Part = str | int | float
_TRIPLES = 'a list of [qid, property, value] lists such as ["Q90", "country", "France"]'
NO_FIELD = "no such field"
_ANY_MEMBER = {"human": _Label, "knowledge": _Property}
_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]|(\[\.\.\.\])")
_TEXT_KEYS = ("text", "page_content", "content")
_ID_KEYS = ("id", "id_", "doc_id")


class Problem(Exception):  # noqa: N818 - becomes a BadRow, never reaches the user as an exception
    """One row is no record. `field` is a path such as `contexts[2].text`, None for the whole row.

    `row_id` is the row's id where it is known and the row itself is no longer at hand.
    """

    def __init__(
        self, field: str | None, found: str, expected: str, row_id: str | None = None
    ) -> None:
        super().__init__(found)
        self.field = field or None
        self.found = found
        self.expected = expected
        self.row_id = row_id

    @classmethod
    def of_error(cls, error: Exception) -> Problem:
        """Return the problem behind what decoding raised; see `UNREADABLE`."""
        if isinstance(error, RecursionError):
            return too_deep()
        return cls(None, shorten(str(error), 200), "what can be decoded")

    def message(self, place: str) -> str:
        """The whole sentence: place, field, what was found and what was expected."""
        where = f"{place}, field {self.field!r}" if self.field else place
        return f"{where}: found {self.found}; expected {self.expected}"


def too_deep() -> Problem:
    """The Problem of a row that exceeds the depth of recursion."""
    return Problem(None, "lists or objects nested too deeply to read", "fewer levels")


def shorten(text: str, limit: int = 60) -> str:
    """The text on one line that any terminal and encoding can show, cut at `limit` characters."""
    shown = text.encode("utf-8", "backslashreplace").decode()
    shown = "".join(c if c.isprintable() else repr(c)[1:-1] for c in shown[: limit + 1])
    return shown if len(shown) <= limit else shown[: limit - 1] + "…"


def describe(value: Any) -> str:
    """A found value in a few words: `int 5`, `str "Paris"`, `list of 3`, `null`."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return f"bool {str(value).lower()}"
    if isinstance(value, str):
        return f'str "{shorten(value)}"'
    if isinstance(value, int):
        return f"int {value}" if abs(value) < 10**40 else "an int of more than 40 digits"
    if isinstance(value, float):
        return f"float {value!r}"
    if isinstance(value, list | tuple):
        return f"list of {len(value)}"
    if isinstance(value, dict):
        keys = ", ".join(shorten(str(key), 30) for key in list(value)[:8])
        return f"object {{{keys}{', …' if len(value) > 8 else ''}}}"
    return f"a Python {type(value).__name__}"


def known_id(row: Any) -> str | None:
    """The id of a row that is otherwise wrong, where it has a proper one."""
    value = row.get("id") if isinstance(row, dict) else getattr(row, "id", None)
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else None


def is_absent(value: Any) -> bool:
    """Does a data-frame cell hold nothing: None, NaN, NaT or pandas' NA?"""
    if value is None or type(value).__name__ in _MISSING_TYPES:
        return True
    return isinstance(value, float) and value != value


def clean(value: Any, path: str = "") -> Any:
    """The value as str, int, float, bool, None, list and dict; `path` is where it stands.

    numpy scalars and arrays, dates, decimals and structs are converted; anything else is a Problem.
    """
    if isinstance(value, str):
        return clean_text(value, path)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        if value.bit_length() > _LARGEST_BITS:
            raise Problem(path, "a number of thousands of digits", "a number, or a str")
        return int(value)
    if isinstance(value, float):
        if not isfinite(value):
            found = "NaN" if value != value else f"{'-' if value < 0 else ''}Infinity"
            raise Problem(path, found, "a finite number; leave the field out, or write null")
        return float(value)
    if isinstance(value, dict):
        prefix = f"{path}." if path else ""
        return {clean_text(str(k), path): clean(v, f"{prefix}{k}") for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [clean(item, f"{path}[{i}]") for i, item in enumerate(value)]
    return clean(_as_json(value, path), path)


def clean_text(text: str, path: str) -> str:
    """The text itself; a NUL character or a lone surrogate is a Problem."""
    if "\0" in text:
        raise Problem(
            path, f"a NUL character at character {text.index(chr(0)) + 1}", "text without NUL"
        )
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            code = f"\\u{ord(text[error.start]):04x}"
            raise Problem(
                path,
                f"a lone surrogate {code} at character {error.start + 1}",
                "whole characters (a pair of surrogates was cut in two)",
            ) from None
    return str(text)


def model_fields(value: Any) -> dict[str, Any] | None:
    """The fields of a pydantic model (other tools' documents and samples) or a data class."""
    if isinstance(value, type):
        return None
    if callable(dump := getattr(value, "model_dump", None)):
        fields = dump()
        return fields if isinstance(fields, dict) else None
    return dict(vars(value)) if hasattr(value, "__dataclass_fields__") else None


def _as_json(value: Any, path: str) -> Any:
    if isinstance(value, msgspec.Struct):
        return {k: v for k, v in msgspec.structs.asdict(value).items() if v is not None}
    if type(value).__name__ in _MISSING_TYPES:
        return None
    if hasattr(value, "tolist"):
        return value.tolist()
    if (fields := model_fields(value)) is not None:
        return fields
    if isinstance(value, date | datetime | time):
        return value.isoformat()
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, timedelta | UUID | PurePath):
        return str(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace").replace("\0", "\\x00")
    raise Problem(path, f"a Python {type(value).__name__}", "str, number, bool, list, dict or None")


class _Row(msgspec.Struct, kw_only=True):
    """What a file may say, before texts, turns and labels are brought to one form."""

    response: str
    id: str | int | None = None
    question: str | None = None
    history: list[str | Turn] | None = None
    contexts: str | list[str | Passage] | None = None
    references: str | list[str] | None = None
    gold_facts: list[str] | None = None
    response_facts: list[str | tuple[str, list[str]]] | None = None
    choices: list[Choice] | None = None
    answerable: bool | None = None
    knowledge: list[dict[str, _Property]] | None = None
    gold_knowledge: list[tuple[_Part, _Part, _Part]] | None = None
    absent_knowledge: list[tuple[_Part, _Part, _Part]] | None = None
    human: dict[str, _Label] | None = None
    model: str | None = None
    group: str | None = None
    meta: dict[str, Any] | None = None


def to_record(row: dict[str, Any], displaced: dict[str, Any] | None, ordinal: int) -> Record:
    """The record of a row; `ordinal` is its 0-based number, the id of a row that has none.

    Unknown fields and `displaced` ones go to `meta`, where what the row's own `meta` says wins.
    """
    try:
        r = msgspec.convert(row, _Row)
    except msgspec.ValidationError as error:
        raise _explain(row, str(error)) from None
    if len(r.response) > Record.MAX_RESPONSE_CHARS:
        raise Problem("response", f"a text of {len(r.response):,} characters", _AT_MOST)
    meta = r.meta
    kind: Callable[..., Record] = Record
    if displaced or not row.keys() <= FIELDS:
        unknown = {name: value for name, value in row.items() if name not in FIELDS}
        failure = _failure(unknown.get("failure"))
        if failure is not None:
            del unknown["failure"]
            kind = partial(Answered, failure=failure)
        meta = (unknown | (displaced or {}) | (meta or {})) or None
    contexts = [r.contexts] if isinstance(r.contexts, str) else r.contexts
    return kind(
        id=str(ordinal if r.id is None else r.id),
        response=r.response,
        question=r.question,
        history=r.history and [Turn(t) if isinstance(t, str) else t for t in r.history],
        contexts=contexts and [Passage(c) if isinstance(c, str) else c for c in contexts],
        references=[r.references] if isinstance(r.references, str) else r.references,
        gold_facts=r.gold_facts,
        # FActScore's [sentence, [fact, …]] one after the other.
        response_facts=r.response_facts
        and [one for f in r.response_facts for one in ([f] if isinstance(f, str) else f[1])],
        choices=r.choices,
        answerable=r.answerable,
        knowledge=r.knowledge and [_check_graph(i, g) for i, g in enumerate(r.knowledge)],
        gold_knowledge=r.gold_knowledge and [[str(p) for p in t] for t in r.gold_knowledge],
        absent_knowledge=r.absent_knowledge and [[str(p) for p in t] for t in r.absent_knowledge],
        human=r.human and {n: float(v) for n, v in r.human.items() if v is not None},
        model=r.model,
        group=r.group,
        meta=meta,
    )


def _failure(value: Any) -> Failure | None:
    """Why a model gave no answer, as a run's records say it; anything else is a user's own field.

    Without it, an answer that never came would be scored as an empty one.
    """
    if isinstance(value, Failure):
        return value
    try:
        return msgspec.convert(value, _Failure) if isinstance(value, dict) else None
    except msgspec.ValidationError:
        return None


def _check_graph(i: int, graph: dict[str, _Property]) -> dict[str, Any]:
    if not isinstance(graph.get("qid"), str):
        found = describe(graph["qid"]) if "qid" in graph else f"no qid in {describe(graph)}"
        raise Problem(f"knowledge[{i}].qid", found, 'a str such as "Q90"')
    return {name: v for name, v in graph.items() if v is not None}


class _Failure(Failure, frozen=True, forbid_unknown_fields=True):
    """A failure and nothing else."""


def unquote_remedy(value: Any) -> str:
    """The remedy for a quoted number or truth value: write it without quotes."""
    plain = value.strip().lower() if isinstance(value, str) else str(value)
    if plain in {"true", "yes", "1"}:
        return "; write true"
    return "; write false" if plain in {"false", "no", "0"} else ""


def _list_remedy(value: Any) -> str:
    """The remedy for a lone value where a list belongs: how to write the list."""
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        return f"; write [{json.dumps(shorten(str(value), 30), ensure_ascii=False)}]"
    return "; write [{…}]" if isinstance(value, dict) else ""


def _text_remedy(value: Any) -> str:
    """The remedy for a number where a text belongs: how to write the text."""
    if isinstance(value, bool):
        return f'; write "{str(value).lower()}"'
    if isinstance(value, int | float):
        return f'; write "{shorten(str(value), 30) if abs(value) < 10**40 else "…"}"'
    return ""


def _number_remedy(value: Any) -> str:
    """The remedy for a quoted number."""
    try:
        return f"; write {shorten(str(float(value)))}" if isinstance(value, str) else ""
    except ValueError:
        return unquote_remedy(value)


def _no_remedy(_value: Any) -> str:
    return ""


_EXPECTED = {
    "response": ('a str (the empty string "" is an answer, null is not)', _text_remedy),
    "id": ("a str or an int, unique over all files", _text_remedy),
    "question": ("a str", _text_remedy),
    "history": ('a list of str or of {"role": …, "content": …}', _list_remedy),
    "history[]": ('a str or {"role": …, "content": …}', _text_remedy),
    "history[].content": ("a str", _text_remedy),
    "history[].role": ('a str such as "user", or null', _text_remedy),
    "contexts": ('a list of str or of {"text": …}, or one str', _list_remedy),
    "contexts[]": ('a str or {"text": …}', _text_remedy),
    "contexts[].text": ("a str", _text_remedy),
    "contexts[].id": ("a str, an int or null", _text_remedy),
    "contexts[].title": ("a str or null", _text_remedy),
    "contexts[].source": ("a str or null", _text_remedy),
    "contexts[].gold": ("true, false or null", unquote_remedy),
    "references": ("a list of str, or one str", _list_remedy),
    "gold_facts": ("a list of str", _list_remedy),
    "response_facts": ("a list of str, or of [sentence, [fact, …]]", _list_remedy),
    "response_facts[]": ("a str, or [sentence, [fact, …]]", _text_remedy),
    "response_facts[][]": ("[sentence, [fact, …]]", _no_remedy),
    "choices": ('a list of {"label": …, "text": …}', _list_remedy),
    "choices[]": ('{"label": …, "text": …}', _text_remedy),
    "answerable": ("true or false", unquote_remedy),
    "knowledge": ('a list of graphs such as {"qid": "Q90", "country": "France"}', _list_remedy),
    "knowledge[]": ('a graph such as {"qid": "Q90", "country": "France"}', _text_remedy),
    "knowledge[].*": ("a str, a number, a bool or a list of these", _text_remedy),
    "gold_knowledge": (_TRIPLES, _list_remedy),
    "gold_knowledge[]": ("a list of three: [qid, property, value]", _list_remedy),
    "gold_knowledge[][]": ("a str or a number", _text_remedy),
    "human": (
        'an object of numbers such as {"faithful": 1}; --map human.NAME=COLUMN reads one label '
        "from a column, as in human.faithful=score",
        _no_remedy,
    ),
    "human.*": ("a finite number, or true or false", _number_remedy),
    "model": ("a str", _text_remedy),
    "group": ("a str", _text_remedy),
    "meta": ("an object such as {…}", _no_remedy),
}


def _explain(row: dict[str, Any], message: str) -> Problem:
    """The Problem behind msgspec's message: the exact path, the value found, and the remedy."""
    path, kind, value = "", "", row  # type: str, str, Any
    where = message.rpartition(" - at `$")[2].rstrip("`") if " - at `$" in message else ""
    for name, index, member in _STEP.findall(where):
        if member:
            key = _wrong_member(value, _ANY_MEMBER[path.partition("[")[0]])
            path, kind, value = f"{path}.{key}", f"{kind}.*", value[key]
            break  # what is inside a wrong member is described with it
        if name:
            path, kind = (f"{one}.{name}".lstrip(".") for one in (path, kind))
            value = value[name]
        else:
            path, kind, value = f"{path}[{index}]", f"{kind}[]", value[int(index)]
    found = describe(value)
    if missing := re.match(r"Object missing required field `(\w+)`", message):
        found = f"{NO_FIELD} in {found}"
        path, kind = (f"{one}.{missing[1]}".lstrip(".") for one in (path, kind))
        value = None
    expected, remedy = _EXPECTED.get(kind.replace("absent_", "gold_"), ("a str", _text_remedy))
    hint = "; --map response=COLUMN names another column" if found.startswith("no ") else ""
    return Problem(path, found, expected + remedy(value) + (hint if path == "response" else ""))


def _wrong_member(members: dict[str, Any], wanted: Any) -> str:
    """The first key whose value is not of the wanted type."""
    for key, value in members.items():
        try:
            msgspec.convert(value, wanted)
        except msgspec.ValidationError:
            return key
    raise AssertionError("msgspec refused an object all of whose members are right")


def unwrap_fields(row: dict[str, Any]) -> None:
    """Bring contexts of other tools (documents, nodes), and SQuAD's `answers`, into our form."""
    contexts = row.get("contexts")
    if type(contexts) is list:
        for one in contexts:
            if type(one) is dict and ("text" not in one or "doc_id" in one or "id_" in one):
                row["contexts"] = [unwrap_passage(c) if type(c) is dict else c for c in contexts]
                break
    references = row.get("references")
    if type(references) is dict and isinstance(references.get("text"), list):
        row["references"] = references["text"]


def unwrap_passage(item: dict[str, Any]) -> dict[str, Any]:
    """A LangChain document, a LlamaIndex node, a RAGChecker passage as ours; else the item."""
    node = item["node"] if isinstance(item.get("node"), dict) else item
    inner = node["text_resource"] if isinstance(node.get("text_resource"), dict) else node
    text = next((inner[key] for key in _TEXT_KEYS if isinstance(inner.get(key), str)), None)
    if text is None:
        return item
    metadata = node["metadata"] if isinstance(node.get("metadata"), dict) else {}
    passage: dict[str, Any] = {"text": text}
    ids = (node.get(key) for key in _ID_KEYS)
    if isinstance(known := next((i for i in ids if i is not None), None), str | int):
        passage["id"] = known
    for key in ("title", "source"):
        if isinstance(value := node.get(key, metadata.get(key)), str):
            passage[key] = value
    if isinstance(node.get("gold"), bool):
        passage["gold"] = node["gold"]
    return passage
