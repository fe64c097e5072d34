"""Labels of people: one record's label, how records were sampled for labeling, planned labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any, ClassVar

import msgspec

from trueground.types import Record

Votes = Mapping[str, float]


class LabelDraw(msgspec.Struct, frozen=True, omit_defaults=True):
    """How an item was sampled for labeling: with which probability, and from which stratum."""

    probability: float
    stratum: str = ""

    @classmethod
    def of(cls, value: Any) -> LabelDraw | None:
        """Parse the field `drawn` of a line. Return None if it has no valid probability."""
        try:
            draw = msgspec.convert(value, cls, strict=False)
        except msgspec.ValidationError:
            return None
        return draw if 0 < draw.probability <= 1 else None


@dataclass(frozen=True)
class RecordLabel:
    """The label of a record.

    Attributes:
        value: What the statistics get: 1 or 0, or the label itself if labels are ordinal.
        shown: The label in the record. Without one, the mean of the annotators, or the share of
            annotators whose label is positive.
        votes: The label of each annotator.
    """

    value: float
    shown: float
    votes: Votes = field(default_factory=dict)


@dataclass(frozen=True)
class LabelRule:
    """How to find the label of a record.

    The labels of several annotators are called LABEL:ANNOTATOR. If LABEL itself is absent, more
    than half of the annotators decide. With `ordinal`, the label is their mean. With `graded`
    (preferences), it is their mean too, and never tied.

    Attributes:
        DEFAULT: The label that is read if none is named.
        NO_LABEL: The reason if a record has no label.
        TIED: The reason if as many annotators are for it as against.
    """

    DEFAULT: ClassVar = "faithful"
    NO_LABEL: ClassVar = "no_label"
    TIED: ClassVar = "tied"
    _SEPARATOR: ClassVar = ":"

    label: str
    positive_above: float = 0.5
    ordinal: bool = False
    graded: bool = False

    def read(self, record: Record) -> RecordLabel | str:
        """Return the label, or why there is none: `no_label`, or `tied` annotators."""
        votes = self.votes(record)
        declared = (record.human or {}).get(self.label)
        if declared is None and not votes:
            return self.NO_LABEL
        if self.ordinal or self.graded:
            value = fmean(votes.values()) if declared is None else declared
            return RecordLabel(value, value, votes)
        if declared is not None:
            return RecordLabel(float(declared > self.positive_above), declared, votes)
        share = fmean(vote > self.positive_above for vote in votes.values())
        return self.TIED if share == 0.5 else RecordLabel(float(share > 0.5), share, votes)

    @classmethod
    def name_vote(cls, label: str, annotator: str) -> str:
        """Return the name of an annotator's label, LABEL:ANNOTATOR."""
        return f"{label}{cls._SEPARATOR}{annotator}"

    @classmethod
    def label_of(cls, name: str) -> str:
        """Return the label of LABEL:ANNOTATOR; any other name as it is."""
        return name.partition(cls._SEPARATOR)[0]

    def votes(self, record: Record) -> Votes:
        """Return the label of each annotator, tied or not."""
        start = self.name_vote(self.label, "")
        labels = (record.human or {}).items()
        return {name[len(start) :]: value for name, value in labels if name.startswith(start)}

    def is_positive(self, value: float) -> bool:
        """Return whether a label, as the statistics get it, is positive."""
        return value > (self.positive_above if self.ordinal else 0.5)
