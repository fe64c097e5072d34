"""Columns that become a member of a field: `human.NAME` a label, `response_b` a text in `meta`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import isfinite
from typing import Any

from trueground.records.problems import Problem, as_value, describe, shorten

HUMAN = "human."
OTHER = "response_b"  # the second response of a pair
_EXPECTED = "a finite number, or true or false (an empty cell is no label)"
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)
_FLAGS = {"true": 1.0, "false": 0.0}


def is_member(name: str) -> bool:
    """Is this, in a mapping, no field but a member of one?"""
    return name == OTHER or name.startswith(HUMAN)


def place_members(
    row: dict[str, Any], members: Mapping[str, Any], columns: Mapping[str, str]
) -> dict[str, Any]:
    """Puts the mapped values of a row where they belong; gives the labels that they displace.

    `columns` names the column of each member. Problem: a label that is no number.
    """
    displaced: dict[str, Any] = {}
    for name, value in members.items():
        if name == OTHER:
            # What a row's own meta says wins over unknown fields, and the mapping over both.
            if isinstance(row.get("meta") or {}, dict):
                row["meta"] = (row.get("meta") or {}) | {OTHER: value}
            continue
        label = read_label(value, name, columns[name])
        human = row.get("human")
        if human is not None and not isinstance(human, dict):
            continue  # the shape of the record says what is wrong with it
        human = dict(human or {})
        old = human.pop(name.removeprefix(HUMAN), None)
        if old is not None and old != label:
            displaced[name] = old
        if label is not None:
            human[name.removeprefix(HUMAN)] = label
        row["human"] = human or None
    return displaced


def read_label(value: Any, name: str, column: str) -> float | None:
    """A cell as a number, None where it is empty. Problem: anything else."""
    if isinstance(value, str):
        text = value.strip()
        if not text:
            return None
        number = _FLAGS.get(text.lower())
        if number is None and _NUMBER.fullmatch(text):
            number = float(text)
    elif value is None:
        return None
    else:
        number = _as_float(value)
    if number is None or not isfinite(number):
        found = f"{describe(value)} in the column {shorten(column)!r}"
        raise Problem(name, found, f"{_EXPECTED}; {_next_step(value, name, column)}")
    return number


def _as_float(value: Any) -> float | None:
    try:
        return float(value) if isinstance(value, bool | int | float) else None
    except OverflowError:
        return None


def _next_step(value: Any, name: str, column: str) -> str:
    if isinstance(value, dict):
        key = shorten(str(next(iter(value), "KEY")), 30)
        return f"name what is in it with a dot: --map {name}={shorten(column)}.{key}"
    if isinstance(value, str):
        if told := as_value(value):
            return told.removeprefix("; ")
        if _NUMBER.fullmatch(value.strip().replace(",", ".", 1)):
            return f"write {shorten(value.strip().replace(',', '.', 1))}"
    return "write 1 for yes and 0 for no, or leave the cell empty"
