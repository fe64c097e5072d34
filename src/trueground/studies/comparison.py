"""What a comparison of runs comes to; plain data, as in the JSON of `trueground compare`."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any

from trueground.stats.effects import Effects
from trueground.stats.paired import Paired, SignedRank
from trueground.stats.power import Planning


@dataclass(frozen=True)
class ComparedRun:
    """One of the runs, under the letter by which it is called.

    `notices` are sentences that every page of it must show.
    """

    label: str
    path: str
    n: int
    task: str | None
    model: str | None
    notices: tuple[str, ...] = ()


@dataclass(frozen=True)
class OtherField:
    """`count` ids have something else in this field in b; `first` names some, `readers` metrics."""

    count: int
    first: tuple[str, ...]
    readers: tuple[str, ...]


@dataclass(frozen=True)
class Mismatch:
    """What sets two runs apart; empty when they can be compared as they are.

    `only_a` and `only_b` count ids, `first_only_…` names the first of them. `other_questions`
    counts ids that have another question in b, `other_fields` (field → how many) those that were
    measured against something else, such as other references. `signatures` holds both signatures of
    each metric where they differ, `tasks` both tasks where they differ. `other_groups` counts ids
    that stand in another group in b.
    """

    only_a: int = 0
    only_b: int = 0
    first_only_a: tuple[str, ...] = ()
    first_only_b: tuple[str, ...] = ()
    other_questions: int = 0
    first_other_questions: tuple[str, ...] = ()
    other_fields: dict[str, OtherField] = field(default_factory=dict)
    signatures: dict[str, tuple[str, str]] = field(default_factory=dict)
    tasks: tuple[str | None, str | None] | None = None
    other_groups: int = 0


@dataclass(frozen=True)
class Change:
    """One item whose score differs; the texts are None where the runs kept no records.

    `link_a` and `link_b` lead to the item from the runs' directories, such as
    `report.html#item-q1`; None where there is no page, or the item is not on it.
    """

    id: str
    score_a: float
    score_b: float
    question: str | None
    response_a: str | None
    response_b: str | None
    link_a: str | None = None
    link_b: str | None = None


@dataclass(frozen=True)
class Sizes:
    """What stands beside the test of a metric: none of it is adjusted for the number of metrics.

    `wilcoxon` is None for values 0 and 1, where McNemar's test is the same question. All of it is
    about the items scored in both runs.
    """

    wilcoxon: SignedRank | None
    effects: Effects
    planning: Planning


@dataclass(frozen=True)
class MetricComparison:
    """One metric in two runs: `result` is about the items scored in both, b − a.

    Of a micro value, and of an F1 that is the harmonic mean of two means, it is about the runs as
    wholes, over all items that both have, and there is no test: p and `test` are None. What
    is counted or named item by item goes by the items' own values; items are named for one of both.

    `won` and `lost` count items that are better and worse in b, whichever way is better.
    `only_a` counts, by their status in b, the items that are scored in a alone; `only_b` likewise.
    `changes_lost` and `changes_won` are the items with the largest changes, ties in the order of a.
    `sizes` is None for numbers of whole runs.
    """

    result: Paired
    p_holm: float | None
    higher_is_better: bool
    won: int
    lost: int
    only_a: dict[str, int]
    only_b: dict[str, int]
    changes_lost: tuple[Change, ...]
    changes_won: tuple[Change, ...]
    sizes: Sizes | None = None


@dataclass(frozen=True)
class PairComparison:
    """Run b against run a, by their labels. `items` are those that both have.

    `clusters` is the number of groups, None where no two items are of one group. `notes` tells in
    sentences the mismatch that was allowed, and what else to know. `left_out_a` are metrics of a
    that b lacks, `left_out_b` the other way round.
    """

    a: str
    b: str
    items: int
    clusters: int | None
    mismatch: Mismatch
    notes: tuple[str, ...]
    left_out_a: tuple[str, ...]
    left_out_b: tuple[str, ...]
    metrics: dict[str, MetricComparison]


@dataclass(frozen=True)
class RunComparison:
    """All comparisons. Holm's adjustment is over the one test of every metric of every pair.

    Planning is for a test at `alpha` that finds a difference with probability `power`.
    """

    runs: tuple[ComparedRun, ...]
    pairs: tuple[PairComparison, ...]
    level: float
    resamples: int
    seed: int
    alpha: float
    power: float

    def as_dict(self) -> dict[str, Any]:
        """Plain dicts, lists, strings and numbers."""
        return dataclasses.asdict(self)
