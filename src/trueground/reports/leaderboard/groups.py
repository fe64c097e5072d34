"""Which columns of a board stand in one table of a study: those that were asked alike."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from trueground.benchmarks.studies import Delta, Mean, Scatter, Study, Sweep, Where, fits, value_of
from trueground.plugins import split_key
from trueground.reports.leaderboard.board import BoardColumn
from trueground.reports.leaderboard.names import short_checksums, short_names

_NUMBER = re.compile(r"[0-9]+(\.[0-9]+)?")
Rest = Mapping[str, Any]


@dataclass(frozen=True)
class Group:
    """Columns that were asked alike, each at its place of the study's dimension, in order."""

    title: str
    columns: list[tuple[str, BoardColumn]]

    def at(self, place: str) -> list[BoardColumn]:
        """The columns at one place; mostly one."""
        return [column for label, column in self.columns if label == place]


def group_columns(
    study: Study, columns: Sequence[BoardColumn], bound: frozenset[str]
) -> list[Group]:
    """The groups in the order of the columns; a study without a dimension has one for each column.

    A group is made by its fullest column: with it stand all whose options are the same wherever
    both have them. So the tasks without distractors stand beside those with every kind of them.
    """
    order, place, moved = _dimension(study, columns)
    known = [
        (label, column)
        for column in columns
        if fits(study.where, column.task, column.options) and (label := place(column)) is not None
    ]
    moved |= set(study.free)
    rests = {column.id: _rest(column, moved, bound) for _, column in known}
    found: list[tuple[BoardColumn, list[tuple[str, BoardColumn]]]] = []
    taken: set[str] = set()
    for _, seed in sorted(known, key=lambda one: -len(rests[one[1].id])):
        if seed.id in taken:
            continue
        members = [
            (label, column)
            for label, column in known
            if column is seed or (order and _alike(rests[column.id], rests[seed.id]))
        ]
        taken |= {column.id for _, column in members}
        members.sort(key=lambda one: order.index(one[0]) if order else 0)
        if not order or len({label for label, _ in members}) > 1:
            found.append((seed, members))
    found.sort(key=lambda one: columns.index(one[0]))
    titles = _titles([seed for seed, _ in found], rests, study)
    return [Group(title, own) for title, (_, own) in zip(titles, found, strict=True)]


def _dimension(
    study: Study, columns: Sequence[BoardColumn]
) -> tuple[list[str], Callable[[BoardColumn], str | None], set[str]]:
    """Its places in order, where a column stands, and the options that move along it."""
    if isinstance(study, Sweep):
        by = study.by
        return _values(study, columns), lambda column: _option(column, by), {by}
    places: Mapping[str, Where] = {}
    if isinstance(study, Delta | Mean):
        places = study.places
    elif isinstance(study, Scatter) and study.at is not None:
        places = {"0": study.at[0], "1": study.at[1]}

    def place(column: BoardColumn) -> str | None:
        fitting = (p for p, where in places.items() if fits(where, column.task, column.options))
        return next(fitting, None) if places else ""

    return list(places), place, {name for where in places.values() for name in where}


def _values(study: Sweep, columns: Sequence[BoardColumn]) -> list[str]:
    """Numbers by size, then the values of `order`, then others by name."""
    known = list(study.order)

    def place(value: str) -> tuple[bool, float, str]:
        if value in known or not _NUMBER.fullmatch(value):
            return True, known.index(value) if value in known else len(known), value
        return False, float(value) * (-1 if study.falling else 1), value

    return sorted({v for c in columns if (v := _option(c, study.by)) is not None}, key=place)


def _option(column: BoardColumn, name: str) -> str | None:
    return value_of(name, column.task, column.options)


def _rest(column: BoardColumn, moved: set[str], bound: frozenset[str]) -> Rest:
    """What tells a column from others, without the study's dimension."""
    rest = {"task": column.task, **column.options, "judge": split_key(column.metric).judge}
    return {
        name: value
        for name, value in rest.items()
        if name not in moved and not (value is None and name in bound)
    }


def _alike(one: Rest, other: Rest) -> bool:
    return all(one[name] == other[name] for name in one.keys() & other.keys())


def _titles(seeds: Sequence[BoardColumn], rests: Mapping[str, Rest], study: Study) -> list[str]:
    """The values of `named`, and the options by which a group differs from its like."""
    heads = [[_option(seed, name) or "" for name in study.named] for seed in seeds]
    titles = []
    for seed, head in zip(seeds, heads, strict=True):
        like = [rests[s.id] for s, other in zip(seeds, heads, strict=True) if other == head]
        names = sorted({name for rest in like for name in rest} - {*study.named, "task"})
        own = rests[seed.id]
        told = []
        for name in names:
            known = {orjson.dumps(rest[name]) for rest in like if name in rest}
            if len(known) > 1 and own.get(name):
                short = short_names(str(rest.get(name)) for rest in like)
                told.append(f"{name}={short[str(own[name])]}")
        titles.append(short_checksums(", ".join([*filter(None, head), *told])))
    return titles
