"""What is known before anything is asked: questions, minimum sets, what to say of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from trueground.benchmarks.base import Sources
from trueground.benchmarks.kalma import KalmaOptions
from trueground.benchmarks.kalma.minimum import Sets, drawn_sets, read_sets
from trueground.benchmarks.kalma.source import GraphQuestion, read_own, read_published
from trueground.errors import InputError, UsageError
from trueground.records import FileInfo
from trueground.types import Triple


@dataclass(frozen=True)
class KnownQuestions:
    """The questions with their minimum sets.

    `minimum` says where the sets come from: a checksum, "synthetic" or "none". `first_round` maps
    ids of questions to that round's knowledge.
    """

    entries: Sequence[GraphQuestion]
    files: Sequence[Path]
    minimum: str
    notices: Sequence[str] = ()
    first_round: Mapping[str, tuple[Triple, ...]] = field(default_factory=dict)
    first_round_sha256: str | None = None

    @property
    def has_minimum(self) -> bool:
        """Whether any question has a minimum set."""
        return self.minimum != "none"

    @property
    def has_absent(self) -> bool:
        """Whether a file says what knowledge is absent."""
        return any(entry.absent is not None for entry in self.entries)


def know(settings: KalmaOptions, sources: Sources) -> KnownQuestions:
    """Read the files that the settings name. UsageError, InputError."""
    entries, files = _entries(settings, sources)
    _check_meta(settings, entries)
    if settings.synthetic_minimum is not None:
        sets = drawn_sets(entries, settings.synthetic_minimum, settings.minimum_seed)
        _check_drawn(sets)
        minimum, notices = (
            "synthetic",
            [_made_up(settings.synthetic_minimum, settings.minimum_seed)],
        )
        notices += _mixed("drawn", entries, sets)
        entries = _with(entries, sets)
    elif settings.minimum is not None:
        sets = read_sets(settings.minimum, entries)
        notices = _mixed(f"of {settings.minimum.name}", entries, sets)
        entries, minimum = _with(entries, sets), _sha256(settings.minimum)
    elif any(entry.minimum is not None for entry in entries):
        minimum, notices = _sha256(files[0]), []
    else:
        _check_needed(settings)
        minimum, notices = "none", [_NONE]
    files = [*files, settings.minimum] if settings.minimum else files
    known = KnownQuestions(entries, files, minimum, [*_misspelt(entries), *notices])
    return known if settings.first_round is None else _first_round(known, settings.first_round)


_NONE = (
    "No minimum knowledge sets are given: citations are scored for correctness and alignment only. "
    "Precision, recall and F1 need --minimum FILE."
)


def _made_up(size: int, seed: int) -> str:
    return (
        f"The minimum knowledge sets are synthetic: up to {size} triples of each question's "
        f"graphs, drawn with seed {seed}. Precision, recall and F1 of citations cannot be compared "
        "with published ones."
    )


def _mixed(what: str, entries: Sequence[GraphQuestion], sets: Sets) -> list[str]:
    """That some questions keep the set that stands with them, as there is no other for them."""
    pairs = list(zip(entries, sets, strict=True))
    kept = sum(own is None and entry.minimum is not None for entry, own in pairs)
    if not kept:
        return []
    other = sum(own is not None for own in sets)
    return [
        f"The minimum knowledge sets are of two sources: {other:,} of {len(sets):,} questions have "
        f"the one {what}, {kept:,} the gold_knowledge that stands with them."
    ]


def _misspelt(entries: Sequence[GraphQuestion]) -> list[str]:
    counts = Counter(pair for entry in entries for pair in entry.misspelt)
    return [
        f"{number:,} of {len(entries):,} questions have a field {name!r}, which is not read; did "
        f"you mean {meant!r}?"
        for (name, meant), number in counts.items()
    ]


def _check_meta(settings: KalmaOptions, entries: Sequence[GraphQuestion]) -> None:
    """InputError: a question has in `meta` what an option writes there, and metrics read."""
    for option, given, name in (
        ("--rated", settings.rated, "sampled"),
        ("--first-round", settings.first_round, "first_round_knowledge"),
    ):
        for entry in entries if given else ():
            if name in entry.meta:
                raise InputError(
                    f"question {entry.id!r}: found meta.{name}, which {option} writes; expected a "
                    f"question without it. Rename it, or leave {option} out"
                )


def _check_drawn(sets: Sets) -> None:
    if all(one is None for one in sets):
        raise UsageError(
            "--synthetic-minimum draws from the graphs that come with the questions, and these "
            "have no triple that could be needed; name a file with --minimum"
        )


def _check_needed(settings: KalmaOptions) -> None:
    for wanted, told in (
        (settings.remove is not None, "--remove takes pieces of the minimum sets away"),
        (
            settings.retrieval_accuracy is not None,
            "--retrieval-accuracy starts from the gold graphs",
        ),
        (settings.shown == "gold", "--knowledge gold shows what the minimum sets name"),
    ):
        if wanted:
            own = ", gold_knowledge with the questions" if (settings.task == "questions") else ""
            raise UsageError(
                f"{told}, and there are none: name a file with --minimum{own}, or draw sets with "
                "--synthetic-minimum N"
            )


def _entries(settings: KalmaOptions, sources: Sources) -> tuple[list[GraphQuestion], list[Path]]:
    """The questions; several runs of one command read a file once.

    Files of minimum sets may name a published entry by its other question.
    """
    both = settings.minimum is not None
    key = ("kalma", settings.task, sources.data, both)
    if key not in sources.shared:
        sources.shared[key] = (
            read_own(sources.data)
            if (settings.task == "questions")
            else read_published(settings.task, sources.data, both=both)
        )
    entries, files = sources.shared[key]
    return list(entries), list(files)


def _with(entries: Sequence[GraphQuestion], sets: Sets) -> list[GraphQuestion]:
    pairs = zip(entries, sets, strict=True)
    return [e if own is None else replace(e, minimum=own) for e, own in pairs]


def _first_round(known: KnownQuestions, path: Path) -> KnownQuestions:
    sets = read_sets(path, known.entries)
    pairs = list(zip(known.entries, sets, strict=True))
    needed = [own for entry, own in pairs if entry.minimum is not None]
    notices = list(known.notices)
    if without := sum(own is None for own in needed):
        notices.append(
            f"The file of the first round has nothing for {without:,} of {len(needed):,} questions "
            "with a minimum set: all of it counts as found later."
        )
    return replace(
        known,
        files=[*known.files, path],
        notices=notices,
        first_round={entry.id: own for entry, own in pairs if own is not None},
        first_round_sha256=_sha256(path),
    )


def _sha256(path: Path) -> str:
    return FileInfo.of(str(path), path).sha256
