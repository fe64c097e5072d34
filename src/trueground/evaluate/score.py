"""What `tg.score` does: check the rows, plan, map batches, write, summarize.

Its options are declared here, too; `run`, shards and studies share them.
"""

# No `from __future__ import annotations`: options are read from the annotations as values.

from collections.abc import Sequence
from contextlib import closing
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypedDict

from trueground.evaluate.page_writer import PageWriter
from trueground.evaluate.shard import Shard
from trueground.options import (
    Cache,
    DeclaredOption,
    LabelsDrawn,
    OnBadRow,
    Option,
    Overwrite,
    Progress,
    RateLabels,
    Seed,
    Workers,
    declared_options,
    do_nothing,
)
from trueground.records import Columns, SplitContexts

if TYPE_CHECKING:
    from trueground.claims import Decomposer
    from trueground.evaluate.components import Components
    from trueground.evaluate.corrected import LabeledSlice
    from trueground.evaluate.plan import Plan
    from trueground.judges import Judge, Rater
    from trueground.metrics import Spec
    from trueground.records import Check, RecordSource
    from trueground.runs import Result


Judges = Annotated[
    "str | Judge | Sequence[str | Judge] | None",
    Option(
        "Judge that checks claims, such as lexical or llm:gpt-4o. Repeatable; "
        "headline metrics use the first. Default: lexical.",
        "--judge",
        type=list[str] | None,
    ),
]
JudgeCalibrations = Annotated[
    "str | Path | Sequence[str | Path] | None",
    Option(
        "Calibration file written by `judge calibrate`. Repeat once per judge.",
        "--judge-calibration",
        type=list[Path] | None,
    ),
]
KeepRecords = Annotated[
    bool, Option("Don't store the records in the run directory.", "--no-records")
]
By = Annotated[
    str | Sequence[str],
    Option("Break results down by a field. Repeatable.", type=list[str] | None),
]
DecomposerName = Annotated[
    "str | Decomposer",
    Option("How answers are split into claims: rules or llm:MODEL.", type=str),
]
RaterName = Annotated[
    "str | Rater | None",
    Option("Model that rates fluency and other qualities: llm:MODEL.", type=str | None),
]
EngineName = Annotated[
    str | None,
    Option(
        "Where to score shards: local (processes), ray or ray:ADDRESS.",
        "--engine",
    ),
]
ShardCount = Annotated[
    int | None,
    Option("Number of shards. Default: one per 128 MiB.", "--shards", min=1),
]
OneShard = Annotated[
    Shard | str | None,
    Option(
        ("Process only shard I of N, such as 1/4. Then run `trueground merge OUT`."),
        "--shard",
        metavar="I/N",
        type=str | None,
        parse=Shard.parse,
    ),
]


_RESAMPLES = DeclaredOption.of("resamples", int, 1, Option(None, min=1))


class _Reading(TypedDict):
    """How rows are read: arguments of `RecordSource.open`, and a part of a run's identity."""

    split_contexts: str | None
    on_bad_row: Literal["stop", "skip"]
    limit: int | None


@dataclass(frozen=True)
class ScoreRequest:
    """What `tg.score` gets: the records, and each of its options.

    `resamples` is the number of bootstrap samples. For the other fields see `score`.
    """

    records: Any
    _: KW_ONLY
    metrics: Annotated[
        "str | Sequence[str | Spec] | None",
        Option(
            ('Metrics, comma-separated, such as "f1,k_precision(abstain=zero)". Repeatable.'),
            type=list[str] | None,
        ),
    ] = None
    judge: Judges = "lexical"
    judge_calibration: JudgeCalibrations = None
    decomposer: DecomposerName = "rules"
    rater: RaterName = None
    cache: Cache = True
    out: Annotated[
        str | Path | None,
        Option("Run directory. Default: runs/<utc-time>-<name>/", type=str | None, metavar="PATH"),
    ] = None
    overwrite: Overwrite = False
    by: By = ()
    repeats_of: Annotated[
        str | None,
        Option(
            "Field that identifies the question if there are several answers per "
            "question, such as group, question or meta.KEY. Default: ids such as "
            "q7#2, with meta.repeat."
        ),
    ] = None
    labels: RateLabels = ()
    labels_drawn: LabelsDrawn = None
    mapping: Columns = None
    split_contexts: SplitContexts = None
    on_bad_row: OnBadRow = "stop"
    limit: Annotated[int | None, Option("Use only the first N records.", min=1)] = None
    seed: Seed = 0
    resamples: int = 2_000
    workers: Workers = 1
    keep_records: KeepRecords = True
    unique: bool = False
    require: Sequence[str] = ()
    command: Sequence[str] = ()
    progress: Progress | bool = do_nothing

    def __post_init__(self) -> None:
        declared_options(type(self)).check(vars(self))
        check_resamples(self.resamples)

    @property
    def breakdowns(self) -> tuple[str, ...]:
        """The fields of `by`."""
        return (self.by,) if isinstance(self.by, str) else tuple(self.by)

    def score(self, write_page: PageWriter | None = None) -> "Result":
        """Score the records.

        Args:
            write_page: Adds the page of a run directory.

        Returns:
            The result, of a run directory if `out` is set.

        Raises:
            TruegroundError: What `tg.score` raises.
        """
        from trueground.errors import user_messages
        from trueground.evaluate.components import Components
        from trueground.evaluate.scoring import Scoring, identify_score
        from trueground.execution import open_progress
        from trueground.metrics import METRICS
        from trueground.records import RecordSource

        parts = Components.make(
            self.judge,
            self.decomposer,
            self.rater,
            cache=self.cache,
            calibration=self.judge_calibration,
        )
        with closing(parts), open_progress(self.progress) as report:
            # Names are read before the file is: a slip in an option should not cost a pass over it.
            _make_plan(self, parts).prepare()
            if self.metrics is not None and (renamed := METRICS.describe_renamed(self.metrics)):
                user_messages.show(renamed)
            # How rows are read also identifies the run.
            reading: _Reading = {
                "split_contexts": self.split_contexts,
                "on_bad_row": self.on_bad_row,
                "limit": self.limit,
            }
            with RecordSource.open(self.records, mapping=self.mapping, **reading) as source:
                check = source.check(lambda done: report("check", done, None))
                plan = _make_checked_plan(self, parts, check)
                labeled = _read_labels(self, plan, source)
                scoring = Scoring(plan, source, check, self.workers, report, labeled, write_page)
                if self.out is None:
                    return scoring.in_memory()
                labels = None if labeled is None else labeled.files
                identity = identify_score(
                    plan,
                    check,
                    labels=labels,
                    labels_drawn=self.labels_drawn,
                    mapping=dict(self.mapping or {}),
                    **reading,
                )
                return scoring.to_folder(
                    Path(self.out),
                    self.command,
                    identity=identity,
                    overwrite=self.overwrite,
                    unique=self.unique,
                )


def check_resamples(resamples: int) -> None:
    """Check a number of bootstrap samples, which is no option of a command. Raises UsageError."""
    _RESAMPLES.check(resamples)


def _make_plan(
    request: ScoreRequest,
    parts: "Components",
    fields: Sequence[str] = (),
    *,
    keep_records: bool = True,
) -> "Plan":
    """The plan for records with these fields."""
    from trueground.evaluate.plan import Plan

    return Plan.make(
        fields,
        metrics=request.metrics,
        components=parts,
        by=request.breakdowns,
        seed=request.seed,
        resamples=request.resamples,
        keep_records=keep_records,
    )


def _make_checked_plan(request: ScoreRequest, parts: "Components", check: "Check") -> "Plan":
    """The plan for the records that were checked. Warns if something of the request is missing."""
    from trueground.errors import user_messages
    from trueground.evaluate.plan import check_names, describe_missing
    from trueground.evaluate.table import find_repeats

    fields = [name for name, count in check.fields.items() if count]
    keep_records = request.keep_records and request.out is not None
    plan = _make_plan(request, parts, fields, keep_records=keep_records)
    missing = describe_missing(plan, check, by_name=request.metrics is not None)
    plan = replace(plan, repeats_of=find_repeats(request.repeats_of, check), missing=missing)
    check_names(plan, check, request.require)
    if missing:
        user_messages.show(f"WARNING: {missing}")
    return plan


def _read_labels(
    request: ScoreRequest, plan: "Plan", source: "RecordSource"
) -> "LabeledSlice | None":
    """People's labels of some of the records; None if the request names none."""
    if not request.labels:
        return None
    from trueground.evaluate.corrected import LabeledSlice, check_predicted

    runs = [] if request.out is None else [Path(request.out).name]
    labels = LabeledSlice.read(request.labels, request.labels_drawn, source.batches(), runs=runs)
    return check_predicted(plan, labels)
