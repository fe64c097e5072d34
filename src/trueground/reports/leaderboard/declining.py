"""How many responses declined in two runs: where nothing can be answered, and where it can."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from trueground.errors import InputError
from trueground.reports.leaderboard.board import BoardCell, same_files
from trueground.reports.leaderboard.runs import Run
from trueground.runs.directory import ITEMS

_SHOWN = 12  # characters of a checksum


@dataclass(frozen=True)
class Declining:
    """Counts of two runs; to decline where nothing can be answered is the positive class.

    `common`: over so many answers that the runs share, as their questions differ; None: over all.
    Rates are None where there is nothing to divide by.
    """

    declined: int
    missed: int
    declined_wrongly: int
    answered: int
    precision: float | None
    recall: float | None
    f1: float | None
    common: int | None = None


class _ScoredItem(msgspec.Struct):
    """What is needed of a line of items.jsonl."""

    id: str
    scores: dict[str, float | None] = {}


def difference(one: Run, other: Run) -> str | None:
    """How the questions of two runs differ, in words; None where they are the same.

    A file that one run alone has read makes no other questions; a paper's numbers are all over the
    same.
    """
    if one is other or one.source is not None or other.source is not None:
        return None
    a, b = one.manifest, other.manifest
    found = []
    if not same_files(one, other):
        found.append(f"data (sha256) {_files(one)} and {_files(other)}")
    if a.limit != b.limit:
        found.append(f"limit {a.limit or 'none'} and {b.limit or 'none'}")
    if a.repeats != b.repeats:
        found.append(f"answers to each question {a.repeats:,} and {b.repeats:,}")
    if not found and one.summary.n != other.summary.n:
        found.append(f"number of answers {one.summary.n:,} and {other.summary.n:,}")
    skips = [r.manifest.benchmark for r in (one, other) if r.manifest.benchmark]
    if not found and a.limit is not None:
        # Questions without a gold passage may be left out before the limit.
        ways = {str(part.options.get("without-gold")) for part in skips}
        if "skip" in ways and len(ways) > 1:
            found.append(
                f"the first {a.limit:,} of all and the first {a.limit:,} with what it needs"
            )
    return "; ".join(found) or None


def _files(run: Run) -> str:
    told = sorted((file.sha256 or "unknown")[:_SHOWN] for file in run.manifest.input)
    return ", ".join(told) or "none"


def count_declining(
    runs: tuple[Run, Run],
    folders: tuple[Path | None, Path | None],
    keys: tuple[str, str],
    rates: tuple[BoardCell, BoardCell],
) -> tuple[Declining | None, str | None]:
    """The counts, and how the questions differ where they do; no counts where none can be had."""
    unlike = difference(*runs)
    if unlike is None:
        return _declining(_counts(rates[0]), _counts(rates[1])), None
    if not same_files(*runs):  # equal ids may be other questions
        return None, unlike
    try:
        n, first, second = _in_common(runs, folders, keys)
    except InputError as error:
        return None, f"{unlike}; {error}"
    if not n:
        return None, f"{unlike}; no id is in both"
    if {n} == {run.summary.n for run in runs}:  # a limit that cut nothing off
        return _declining(_tally(first), _tally(second)), None
    return _declining(_tally(first), _tally(second), n), unlike


def _declining(
    nothing: tuple[int, int] | None, gold: tuple[int, int] | None, common: int | None = None
) -> Declining | None:
    if nothing is None or gold is None:
        return None
    (right, missed), (wrong, answered) = nothing, gold
    return Declining(
        right, missed, wrong, answered,
        _share(right, right + wrong),
        _share(right, right + missed),
        _share(2 * right, 2 * right + wrong + missed),
        common,
    )  # fmt: skip


def _tally(scores: Sequence[float]) -> tuple[int, int]:
    declined = round(sum(scores))
    return declined, len(scores) - declined


def _counts(rate: BoardCell) -> tuple[int, int] | None:
    """A rate is a mean of zeros and ones, so that its counts follow."""
    if rate.mean is None or rate.scored is None:
        return None
    declined = round(rate.mean * rate.scored)
    return declined, rate.scored - declined


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _in_common(
    runs: tuple[Run, Run], folders: tuple[Path | None, Path | None], keys: tuple[str, str]
) -> tuple[int, list[float], list[float]]:
    """How many ids both runs have, and the known scores of these; items are streamed.

    Raises InputError for items that cannot be read.
    """
    known = {item.id: item.scores.get(keys[0]) for item in _items(runs[0], folders[0])}
    shared = [
        (known[item.id], item.scores.get(keys[1]))
        for item in _items(runs[1], folders[1])
        if item.id in known
    ]
    first, second = ([pair[k] for pair in shared] for k in (0, 1))
    return (
        len(shared),
        [score for score in first if score is not None],
        [score for score in second if score is not None],
    )


def _items(run: Run, folder: Path | None) -> Iterator[_ScoredItem]:
    if folder is None:
        raise InputError(f"{run.label}: its folder is not known; name it, not one above it")
    path = folder / ITEMS
    decoder = msgspec.json.Decoder(_ScoredItem)
    try:
        with path.open("rb") as lines:
            yield from map(decoder.decode, lines)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        why = (error.strerror or error) if isinstance(error, OSError) else error
        raise InputError(f"{path} cannot be read ({why}); run it again") from error
