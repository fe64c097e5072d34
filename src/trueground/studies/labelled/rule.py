"""What people said of a record: one label, or several annotators' that become one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from statistics import fmean

from trueground.errors import InputError, UsageError, unknown_name
from trueground.types import Record

DEFAULT_LABEL = "faithful"
NO_LABEL = "no_label"
TIED = "tied"
_BY = ":"  # between a label and who gave it
Votes = Mapping[str, float]


@dataclass(frozen=True)
class Told:
    """A record's label.

    `value` is what the statistics get: 1 or 0, or the label as it is where labels are ordinal.
    `shown` is what stands in the record, or what annotators make of it together: their mean, or the
    share of them that is positive. `votes` are theirs, one by one.
    """

    value: float
    shown: float
    votes: Votes = field(default_factory=dict)


@dataclass(frozen=True)
class LabelRule:
    """How the label of a record is found.

    Several annotators stand as LABEL:ANNOTATOR. Where LABEL itself is absent, more than half of
    them decide; with `ordinal` the label is their mean. With `graded` (preferences) it is their
    mean too, and never tied.
    """

    label: str
    positive_above: float = 0.5
    ordinal: bool = False
    graded: bool = False

    def read(self, record: Record) -> Told | str:
        """The label, or why there is none: `no_label`, or `tied` where annotators are."""
        votes = self.votes(record)
        own = (record.human or {}).get(self.label)
        if own is None and not votes:
            return NO_LABEL
        if self.ordinal or self.graded:
            value = fmean(votes.values()) if own is None else own
            return Told(value, value, votes)
        if own is not None:
            return Told(float(own > self.positive_above), own, votes)
        share = fmean(vote > self.positive_above for vote in votes.values())
        return TIED if share == 0.5 else Told(float(share > 0.5), share, votes)

    def votes(self, record: Record) -> Votes:
        """What each annotator said, also where they are tied."""
        start = self.label + _BY
        given = (record.human or {}).items()
        return {name[len(start) :]: value for name, value in given if name.startswith(start)}

    def is_positive(self, value: float) -> bool:
        """Whether a label, as the statistics get it, is a positive one."""
        return value > (self.positive_above if self.ordinal else 0.5)


def parse_keep(texts: Iterable[str]) -> dict[str, float]:
    """`relevant=1` → {"relevant": 1}. UsageError: no label, or no number."""
    found: dict[str, float] = {}
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition("="))
        try:
            found[name] = {"yes": 1.0, "no": 0.0}[value] if value in ("yes", "no") else float(value)
        except ValueError:
            equals = ""
        if not (name and equals):
            raise UsageError(
                f"--keep {text!r} cannot be read; write LABEL=VALUE, as in relevant=1 (yes is 1)"
            )
    return found


def dropped(record: Record, keep: Mapping[str, float]) -> str | None:
    """Which of the wanted labels a record does not have, or has otherwise; None: it stays.

    Of several annotators more than half must say so, as for the label that is measured.
    """
    for name, wanted in keep.items():
        own = (record.human or {}).get(name)
        votes = [own] if own is not None else list(LabelRule(name).votes(record).values())
        if 2 * sum(vote == wanted for vote in votes) <= len(votes):
            return f"not_{name}={wanted:g}"
    return None


def cluster_key(record: Record, number: int) -> str:
    """Equal for records of one group, in whichever set; a record without group is alone.

    `number` is that of its set.
    """
    return f"i{number}:{record.id}" if record.group is None else f"g{record.group}"


def label_names(names: Iterable[str]) -> Counter[str]:
    """Labels by name, those of annotators under the name of the label that they give."""
    return Counter(name.partition(_BY)[0] for name in names)


def choose_label(wanted: str | None, names: Mapping[str, int], where: str, default: str) -> str:
    """The label that is meant. InputError: there is none. UsageError: it is unknown, or unclear."""
    if not names:
        raise InputError(
            f'{where}: no record has a human label; expected a field such as "human": '
            f'{{"{default}": 1}}, or a column of your own, named with --map human.{default}=COLUMN'
        )
    if wanted is not None:
        if wanted not in names:
            raise unknown_name("label", wanted, names)
        return wanted
    if default in names:
        return default
    if len(names) > 1:
        raise UsageError(
            f"{where}: there are several human labels: {', '.join(sorted(names))}; choose one with "
            "--label"
        )
    return next(iter(names))
