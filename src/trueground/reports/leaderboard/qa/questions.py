"""Whether two runs asked the same questions, and what both of them hold of a metric each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from trueground.errors import InputError
from trueground.reports.leaderboard.qa.settings import StudyRun
from trueground.runs.directory import ITEMS

_SHOWN = 12  # characters of a checksum


@dataclass(frozen=True)
class Common:
    """The scores of the questions (`n`) that two runs have in common, without the unscored."""

    n: int
    first: list[float]
    second: list[float]


class _ScoredItem(msgspec.Struct):
    """What is needed of a line of items.jsonl."""

    id: str
    scores: dict[str, float | None] = {}


def difference(one: StudyRun, other: StudyRun) -> str | None:
    """How the questions of two runs differ, in words; None where they are the same.

    A file of gold passages that one run alone has read makes no other questions; a paper's numbers
    are all over the same.
    """
    if one.run is other.run or one.run.source is not None or other.run.source is not None:
        return None
    a, b = one.run.manifest, other.run.manifest
    found = []
    if not same_files(one, other):
        found.append(f"data (sha256) {_files(one)} and {_files(other)}")
    if a.limit != b.limit:
        found.append(f"limit {a.limit or 'none'} and {b.limit or 'none'}")
    if a.repeats != b.repeats:
        found.append(f"answers to each question {a.repeats:,} and {b.repeats:,}")
    if not found and one.run.summary.n != other.run.summary.n:
        found.append(f"number of answers {one.run.summary.n:,} and {other.run.summary.n:,}")
    return "; ".join(found) or None


def same_files(one: StudyRun, other: StudyRun) -> bool:
    """Whether an id means the same question in both: one read the other's files, perhaps more."""
    a, b = ({file.sha256 for file in asked.run.manifest.input} for asked in (one, other))
    return None not in a | b and bool(a & b) and (a <= b or b <= a)


def _files(one: StudyRun) -> str:
    told = sorted((file.sha256 or "unknown")[:_SHOWN] for file in one.run.manifest.input)
    return ", ".join(told) or "none"


def in_common(one: StudyRun, other: StudyRun, metrics: tuple[str, str]) -> Common:
    """The first metric of one run and the second of the other, over the ids that both have.

    Streams the items; answers to a repeated question have ids of their own. Raises InputError for
    items that cannot be read.
    """
    known = {item.id: item.scores.get(metrics[0]) for item in _items(one)}
    shared = [(known[i.id], i.scores.get(metrics[1])) for i in _items(other) if i.id in known]
    return Common(
        len(shared),
        [a for a, _ in shared if a is not None],
        [b for _, b in shared if b is not None],
    )


def _items(one: StudyRun) -> Iterator[_ScoredItem]:
    if one.folder is None:
        raise InputError(f"{one.run.label}: its folder is not known; name it, not one above it")
    path = one.folder / ITEMS
    decoder = msgspec.json.Decoder(_ScoredItem)
    try:
        with path.open("rb") as lines:
            yield from map(decoder.decode, lines)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        why = (error.strerror or error) if isinstance(error, OSError) else error
        raise InputError(f"{path} cannot be read ({why}); run it again") from error
