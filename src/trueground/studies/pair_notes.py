"""What two runs do not have in common, and what else to know of them, in sentences."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from trueground.errors import UsageError
from trueground.studies.finished import FinishedRun
from trueground.studies.pairing import Aligned


@dataclass(frozen=True)
class Named:
    """A run under the letter by which it is called."""

    label: str
    run: FinishedRun


def check_alike(a: Named, b: Named, aligned: Aligned, allow_mismatch: bool) -> tuple[str, ...]:
    """What does not match, and what else to know. UsageError where it is not allowed."""
    mismatch = aligned.mismatch
    told = mismatch.sentences(a.label, b.label)
    others = mismatch.of_fields(a.label, b.label)
    names = f"{a.label} = {a.run.path}, {b.label} = {b.run.path}"
    if not len(aligned.rows_a):
        raise UsageError(f"{names}: the runs have no item in common; compare runs over one set")
    if not _asked_otherwise(a.run, b.run):
        told, others = told + others, []
    if told and not allow_mismatch:
        raise UsageError(
            "; ".join([f"{names}: these runs do not match", *told])
            + ". Pass --allow-mismatch to compare what both have."
        )
    return (*told, *others, *_of_groups(a, b, aligned), *_of_repeats(a, b), *_of_runs(a, b))


def _asked_otherwise(a: FinishedRun, b: FinishedRun) -> bool:
    """Whether both are of one benchmark task with other options, which may give other texts."""
    return a.task is not None and a.task == b.task and a.options != b.options


def _of_groups(a: Named, b: Named, aligned: Aligned) -> Iterator[str]:
    if count := aligned.mismatch.other_groups:
        yield (
            f"other groups in {b.label} than in {a.label} under {count:,} of the ids; the clusters "
            f"are the groups of {a.label}"
        )
    unknown = [n.label for n in (a, b) if n.run.has_groups and not n.run.has_records]
    if aligned.clusters is None and unknown:
        yield (
            f"{' and '.join(unknown)} had groups, but these stand in the records, which were not "
            "kept: every item counts by itself, so intervals and p values may be too narrow and "
            "too small"
        )


def _of_repeats(a: Named, b: Named) -> Iterator[str]:
    for label, run in ((a.label, a.run), (b.label, b.run)):
        if run.questions is None:
            if run.repeats_of is not None:
                yield (
                    f"{label} has several answers to a question, but which ones (by "
                    f"{run.repeats_of}) stands in the records, which not all runs kept: every "
                    "answer counts by itself, so intervals and p values may be too narrow and too "
                    "small"
                )
        elif (counts := run.questions.answer_counts)[1] > 1:
            most = f"{counts[1]:,}" if counts[0] == counts[1] else f"up to {counts[1]:,}"
            yield (
                f"{label} has {most} answers to each question: each question counts once, by the "
                "mean over its answers; texts and links are those of the first"
            )


def _of_runs(a: Named, b: Named) -> Iterator[str]:
    if not (a.run.has_records and b.run.has_records):
        yield (
            "not both runs kept their records: whether questions, contexts and references are the "
            "same was not seen"
        )
    in_a, in_b = a.run.options, b.run.options
    for name in sorted(in_a.keys() | in_b.keys()):
        if in_a.get(name) != in_b.get(name):
            yield f"{name} is {in_a.get(name)!r} in {a.label}, {in_b.get(name)!r} in {b.label}"
