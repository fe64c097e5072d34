"""How many responses declined in two runs, with irrelevant passages and with gold ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trueground.errors import InputError
from trueground.reports.leaderboard.board import BoardCell
from trueground.reports.leaderboard.qa.questions import difference, in_common, same_files
from trueground.reports.leaderboard.qa.settings import StudyRun


@dataclass(frozen=True)
class AbstentionCounts:
    """How many responses declined, and how many answered."""

    abstained: int
    answered: int


@dataclass(frozen=True)
class Confusion:
    """Abstaining against `answerable`, as summary.json has it, over the answers of two runs."""

    unanswerable: AbstentionCounts
    answerable: AbstentionCounts


@dataclass(frozen=True)
class AbstentionTable:
    """Counts over the `common` answers alone if `unlike` says how the runs' questions differ."""

    confusion: Confusion | None
    unlike: str | None = None
    common: int | None = None


def unlike(irrelevant: StudyRun, gold: StudyRun) -> str | None:
    """How the questions differ; those without a gold passage may be left out before a limit."""
    found = difference(irrelevant, gold)
    limit = gold.run.manifest.limit
    if found is None and limit is not None and gold.option("without-gold") == "skip":
        return f"the first {limit:,} of all and the first {limit:,} with a gold passage"
    return found


def counted(
    pair: tuple[StudyRun, StudyRun], metrics: tuple[str, str], p_ir: BoardCell, p_g: BoardCell
) -> AbstentionTable:
    """The counts of both runs, over all that they asked if that is the same."""
    how = unlike(*pair)
    if how is None:
        unanswerable, answerable = _counts(p_ir), _counts(p_g)
        known = Confusion(unanswerable, answerable) if unanswerable and answerable else None
        return AbstentionTable(known)
    if not same_files(*pair):  # equal ids may be other questions
        return AbstentionTable(None, how)
    try:
        common = in_common(*pair, metrics)
    except InputError as error:
        return AbstentionTable(None, f"{how}; {error}")
    if not common.n:
        return AbstentionTable(None, f"{how}; no id is in both", 0)
    found = Confusion(_tally(common.first), _tally(common.second))
    if {common.n} == {one.run.summary.n for one in pair}:  # a limit that cut nothing off
        return AbstentionTable(found)
    return AbstentionTable(found, how, common.n)


def rates(found: Confusion | None) -> tuple[float | None, float | None, float | None]:
    """Precision, recall and F1."""
    if found is None:
        return None, None, None
    right, wrong, missed = (
        found.unanswerable.abstained, found.answerable.abstained, found.unanswerable.answered
    )  # fmt: skip
    return (
        _share(right, right + wrong),
        _share(right, right + missed),
        _share(2 * right, 2 * right + wrong + missed),
    )


def _tally(scores: Sequence[float]) -> AbstentionCounts:
    abstained = round(sum(scores))
    return AbstentionCounts(abstained, len(scores) - abstained)


def _counts(rate: BoardCell) -> AbstentionCounts | None:
    """A rate is a mean of zeros and ones, so that its counts follow."""
    if rate.mean is None or rate.scored is None:
        return None
    abstained = round(rate.mean * rate.scored)
    return AbstentionCounts(abstained, rate.scored - abstained)


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
