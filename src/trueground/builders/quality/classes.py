"""What is counted by class: factors, numbers, what a judge said."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Any

from trueground.builders.quality.base import Piece
from trueground.builders.quality.spread import spread

# A table with more rows or columns than this is none that anybody reads.
_WIDEST = 20


def factors(pieces: Sequence[Piece], names: Iterable[str]) -> dict[str, dict[str, int]]:
    """Factor → value → number of items; the empty value where an item has none."""
    return {name: counted(piece.factors.get(name, "") for piece in pieces) for name in names}


def crossed(pieces: Sequence[Piece], names: Sequence[str]) -> list[dict[str, Any]]:
    """A table of counts for every two factors with at most twenty values each."""
    found = factors(pieces, names)
    few = [name for name in names if 1 < len(found[name]) <= _WIDEST]
    return [
        {
            "rows": first,
            "columns": second,
            "counts": _table((p.factors.get(first, ""), p.factors.get(second, "")) for p in pieces),
        }
        for first, second in combinations(few, 2)
    ]


def answerable(pieces: Sequence[Piece], names: Iterable[str]) -> dict[str, Any] | None:
    """How many items a judge called answerable, in all and by factor; None if nobody was asked."""
    asked = [piece for piece in pieces if piece.answerable is not None]
    if not asked:
        return None
    by: dict[str, dict[str, dict[str, int]]] = {}
    for name in names:
        groups: dict[str, list[Piece]] = defaultdict(list)
        for piece in asked:
            groups[piece.factors.get(name, "")].append(piece)
        by[name] = {value: _said_yes(groups[value]) for value in sorted(groups)}
    return {**_said_yes(asked), "by": by}


def numbers(pieces: Sequence[Piece]) -> dict[str, Any]:
    """Name → how the items' numbers of that name spread."""
    found: dict[str, list[float]] = defaultdict(list)
    for piece in pieces:
        for name, value in piece.numbers.items():
            found[name].append(value)
    return {name: spread(found[name]) for name in sorted(found)}


def counted(values: Iterable[str]) -> dict[str, int]:
    """Value → how often it occurs, in the order of the values."""
    return dict(sorted(Counter(values).items()))


def _table(pairs: Iterable[tuple[str, str]]) -> dict[str, dict[str, int]]:
    counts = Counter(pairs)
    rows, columns = (sorted({pair[k] for pair in counts}) for k in (0, 1))
    return {row: {column: counts[row, column] for column in columns} for row in rows}


def _said_yes(pieces: Sequence[Piece]) -> dict[str, int]:
    return {"asked": len(pieces), "yes": sum(piece.answerable is True for piece in pieces)}
