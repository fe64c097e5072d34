"""Scores of the same models elsewhere (MMLU, RULES …), from a CSV file, against the runs'."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from trueground.benchmarks.model_table import Models, find_model
from trueground.errors import InputError
from trueground.reports.leaderboard.board import Board
from trueground.reports.leaderboard.results import over_models

_EXAMPLE = "a head line such as `model,MMLU,RULES` and a line such as `my-model,63.1,41.5`"
_MISSING = {"", "-", "–", "na", "n/a", "null", "none"}


Table = dict[str, tuple[str, dict[str, float]]]  # key of a model → its name and scores


def outside_scores(board: Board, file: Path, models: Models) -> dict[str, Any]:
    """Every score of the file against every column that has one of its models, as plain values.

    `unmatched` are its models without a run, `missing` the runs' models that it lacks. Models are
    matched by name in any case, and by the names that the models table knows. Raises InputError
    where the file is no such table.
    """
    scores, table = _read(file, models)
    keys = [(_key(row.model, models), row) for row in board.rows]
    present = {key for key, _ in keys}
    found = []
    for score in scores:
        for column in board.columns:
            known = [
                (row, table[key][1][score], cell.mean)
                for key, row in keys
                if key in table and score in table[key][1]
                if (cell := row.cells.get(column.id)) is not None and cell.mean is not None
            ]
            if known:
                found.append({
                    "score": score,
                    "column": column.id,
                    "title": column.title,
                    "metric": column.metric,
                    "rows": [
                        {"name": row.name, "source": row.source, "outside": x, "mean": y}
                        for row, x, y in known
                    ],
                    "over_models": over_models(
                        (row, row.apart.get(column.id), x, y) for row, x, y in known
                    ),
                })  # fmt: skip
    return {
        "file": file.name,
        "scores": found,
        "unmatched": [shown for key, (shown, _) in table.items() if key not in present],
        "missing": [row.name for key, row in keys if row.source is None and key not in table],
    }


def no_match(outside: Mapping[str, Any]) -> str:
    """The warning for a file that says nothing of these runs."""
    named = ", ".join(outside["unmatched"][:3]) or "no model with a score"
    here = ", ".join(outside["missing"][:3]) or "none"
    file = outside["file"]
    return f"{file}: none of its models ({named}) has a run here; the runs are of {here}."


def _key(name: str, models: Models) -> str:
    """One key for all names of a model."""
    info = find_model(name, models)
    return info.name if info else name.strip().removeprefix("hf:").rpartition("/")[2].casefold()


def _read(file: Path, models: Models) -> tuple[list[str], Table]:
    lines = _lines(file)
    head = [name.strip() for _, row in lines[:1] for name in row]
    good = all(head) and len(set(head)) == len(head)
    if len(head) < 2 or head[0].casefold() != "model" or not good:
        raise InputError(
            f"{file}, line 1: found {', '.join(head) or 'nothing'}; expected `model` and then the "
            f"names of scores, each once, commas between. Write {_EXAMPLE}."
        )
    table: Table = {}
    for number, row in lines[1:]:
        place = f"{file}, line {number}"
        if len(row) != len(head):
            raise InputError(
                f"{place}: found {len(row)} cells, expected {len(head)} as in the head line. Fix "
                "the line; an unknown score is an empty cell."
            )
        name = row[0].strip()
        if not name or not name.isprintable():
            raise InputError(f"{place}: found {row[0]!r}, expected the name of a model")
        key = _key(name, models)
        if key in table:
            raise InputError(
                f"{place}: {name!r} is the same model as {table[key][0]!r} above. Leave one out."
            )
        table[key] = name, dict(_numbers(place, head, row))
    if not table:
        raise InputError(f"{file}: found no model below the head line. Write {_EXAMPLE}.")
    return head[1:], table


def _lines(file: Path) -> list[tuple[int, list[str]]]:
    try:
        with file.open(encoding="utf-8-sig", newline="") as stream:
            reader = csv.reader(stream)
            return [(reader.line_num, row) for row in reader if any(c.strip() for c in row)]
    except OSError as error:
        raise InputError(
            f"{file}: cannot be read ({error.strerror or error}). --outside names a CSV file: "
            f"{_EXAMPLE}."
        ) from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{file}: no CSV in UTF-8 ({error}). Write {_EXAMPLE}.") from error


def _numbers(place: str, head: list[str], row: list[str]) -> Iterator[tuple[str, float]]:
    for name, cell in zip(head[1:], row[1:], strict=True):
        text = cell.strip()
        if text.casefold() in _MISSING:
            continue
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise InputError(
                f"{place}, column {name}: found {text!r}, expected a number. Fix the cell, or "
                "leave it empty where the score is not known."
            )
        yield name, value
