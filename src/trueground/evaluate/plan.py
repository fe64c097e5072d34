"""What a run computes: metrics, who judges, breakdowns, seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Self

import msgspec
import numpy as np
from numpy.typing import NDArray

from trueground.components import ResultKey
from trueground.errors import UsageError, user_messages
from trueground.evaluate.components import Components
from trueground.metrics import METRICS, AnswerVerdict, ClaimCheck, Spec
from trueground.records import Check
from trueground.runs import MetricSummary
from trueground.stats import Bootstrap

if TYPE_CHECKING:
    from trueground.types import PromptFile


Entries = dict[str, MetricSummary]
Draws = dict[str, NDArray[np.float64]]


class RunLevel:
    """The run-level numbers that these metrics have.

    `hidden` are the columns that they need beside the metrics' own, `keys` all names in the
    summary, in order. Raises UsageError where two numbers have one name.
    """

    # Behind a metric's key: the columns that sum up to its totals.
    TOTAL_NAMES: ClassVar = ("#hits", "#units")

    def __init__(self, specs: Sequence[Spec]) -> None:
        own = {spec.key for spec in specs}
        harmonic = [spec for spec in specs if spec.metric.aggregation.harmonic]
        self._parts = {spec.key: METRICS.harmonic_parts(spec) for spec in harmonic}
        parts = [part for pair in self._parts.values() for part in pair]
        self._counted = {s.key: s for s in (*specs, *parts) if s.metric.aggregation.totals}
        wanted = {part.key: part for part in parts if part.key not in own}
        for spec in self._counted.values():
            for total in (spec.hits(self.TOTAL_NAMES[0]), spec.units(self.TOTAL_NAMES[1])):
                wanted[total.key] = total
        self.hidden = tuple(wanted.values())
        self.keys = []
        for spec in specs:
            pair: Sequence[Spec] = self._parts.get(spec.key) or ()
            counted = any(one.key in self._counted for one in (spec, *pair))
            self.keys += [spec.key, METRICS.micro_key(spec.key)] if counted else [spec.key]
        for key in own:
            if self.keys.count(key) > 1:
                raise UsageError(
                    f"{key} is a metric and the micro value of {METRICS.macro_key(key)}; leave "
                    "one of the two metrics out of this run"
                )

    def added(
        self, entries: Entries, sums: dict[str, float], draws: Draws, level: float
    ) -> tuple[Entries, Draws]:
        """The same with the run-level numbers.

        `entries` are the means of all columns, `sums` their sums over the items, `draws` their
        means in each resample, shape (resamples,).
        """
        entries, draws = dict(entries), dict(draws)
        bootstrap = Bootstrap(level=level)

        def add(
            key: str, like: str, mean: float | None, drawn: NDArray[np.float64], *parts: str
        ) -> None:
            # Without an interval of its own, or of a part, there are too few items to draw from.
            if mean is None or any(entries[one].ci is None for one in (like, *parts)):
                drawn = np.full_like(drawn, np.nan)
            ci = bootstrap.interval(drawn)
            entries[key] = msgspec.structs.replace(entries[like], mean=mean, ci=ci)
            draws[key] = drawn

        for key in self._counted:
            units, hits = sums[f"{key}{self.TOTAL_NAMES[1]}"], sums[f"{key}{self.TOTAL_NAMES[0]}"]
            a, b = (draws[f"{key}{name}"] for name in self.TOTAL_NAMES)
            drawn = np.divide(a, b, out=np.full_like(a, np.nan), where=b > 0)
            add(METRICS.micro_key(key), key, hits / units if units else None, drawn)
        for key, parts in self._parts.items():
            p, r = parts
            for name in (
                (lambda k: k, METRICS.micro_key) if p.key in self._counted else (lambda k: k,)
            ):
                one, other = name(p.key), name(r.key)
                # Without any citation there is no precision, and F1 is 0 where recall is defined.
                precision, mean = entries[one].mean or 0.0, entries[other].mean
                if mean is not None:
                    mean = float(parts.combine(np.array(precision), np.array(mean)))
                drawn = parts.combine(np.nan_to_num(draws[one]), draws[other])
                add(name(key), key, mean, drawn, one, other)
        return entries, draws


ABSTAINED = "abstained"


@dataclass(frozen=True)
class Plan:
    """A run's choices.

    `chosen` are the metrics as they were asked for; `specs` has those that read verdicts once more
    for every judge but the first. `hidden` metrics are computed for the summary but not written.
    `verdicts` is the metric that gives each answer its verdict, None where no claims are checked.
    `run_level` are the numbers of the whole run that are no means over items. `repeats_of` is how
    the question of an answer is told (see `QuestionRule`), None where each has one answer.
    `missing` says what no record has and a metric needs.
    """

    chosen: tuple[Spec, ...]
    components: Components
    by: tuple[str, ...] = ()
    seed: int = 0
    resamples: int = 2_000
    level: float = 0.95
    keep_records: bool = True
    repeats_of: str | None = None
    missing: str | None = None
    specs: tuple[Spec, ...] = field(init=False)
    hidden: tuple[Spec, ...] = field(init=False)
    verdicts: Spec | None = field(init=False)
    run_level: RunLevel = field(init=False)

    def __post_init__(self) -> None:
        again = [
            spec.by_judge(number, label)
            for number, label in enumerate(self.components.labels)
            for spec in self.chosen
            if number and spec.checks
        ]
        object.__setattr__(self, "specs", (*self.chosen, *again))
        known = any(spec.key == ABSTAINED for spec in self.specs)
        hidden = [] if known else [METRICS.parse(ABSTAINED)]
        verdicts = AnswerVerdict.choose_metric(self.chosen)
        if verdicts is not None and verdicts not in self.specs:
            hidden.append(verdicts)
        object.__setattr__(self, "verdicts", verdicts)
        object.__setattr__(self, "run_level", RunLevel(self.specs))
        object.__setattr__(self, "hidden", (*hidden, *self.run_level.hidden))
        for spec in self.chosen:  # made now: a name that cannot be used is told before any work
            if spec.comparer:
                self.components.comparer(spec.comparer)
        unrated = [spec.key for spec in self.chosen if spec.rating]
        if unrated and self.components.rater is None:
            raise UsageError(
                f"{unrated[0]} is rated by a language model, and none is named; add "
                '--rater "llm:MODEL(base_url=URL)"'
            )

    @classmethod
    def make(
        cls,
        fields: Sequence[str],
        metrics: str | Sequence[str | Spec] | None,
        components: Components,
        **choices: object,
    ) -> Self:
        """Return the plan for metrics by name.

        Args:
            fields: The record fields that occur.
            metrics: Names or specs; None for the default set.
            components: Who judges, splits and rates.
            choices: Other fields of the plan.

        Raises:
            UsageError: A name or option is unknown.
        """
        return cls(tuple(METRICS.parse_all(metrics, fields)), components, **choices)  # type: ignore[arg-type]

    @property
    def width(self) -> int:
        """Number of metrics that are computed, the hidden ones too."""
        return len(self.specs) + len(self.hidden)

    @property
    def abstained_at(self) -> int:
        """The column that tells which responses declined."""
        return self.keys.index(ABSTAINED) if ABSTAINED in self.keys else len(self.specs)

    @property
    def verdicts_at(self) -> int | None:
        """The column that gives each answer its verdict; None where there is none."""
        columns = (*self.specs, *self.hidden)
        return None if self.verdicts is None else columns.index(self.verdicts)

    @cached_property
    def keys(self) -> list[str]:
        """Names of the metrics that items have."""
        return [spec.key for spec in self.specs]

    @cached_property
    def summary_keys(self) -> list[str]:
        """The same with the numbers that only a whole run has, each behind its metric."""
        return self.run_level.keys

    @cached_property
    def checks(self) -> tuple[ClaimCheck, ...]:
        """The claim checks that the metrics read."""
        return tuple(dict.fromkeys(check for spec in self.chosen for check in spec.checks))

    @property
    def judge_signatures(self) -> list[str]:
        """Those of the judges that are asked; none where no metric reads verdicts."""
        return [judge.signature for judge in self.components.judges] if self.checks else []

    @property
    def decomposer_signature(self) -> str | None:
        """That of who splits answers into claims; None where nobody does."""
        return self.components.decomposer.signature if any(c.splits for c in self.checks) else None

    def prepare(self) -> None:
        """Raises MissingExtraError and InputError for what a metric needs."""
        for spec in self.specs:
            spec.metric.requires.check(spec.options)

    @property
    def unused(self) -> str | None:
        """What was given and has no use here: calibrations where no metric asks a judge."""
        if self.checks or not self.components.calibrations:
            return None
        files = ", ".join(self.components.calibrations)
        return f"--judge-calibration {files} was not used: none of the metrics asks a judge"

    @property
    def note(self) -> str | None:
        """What the user should know beside the numbers."""
        return (
            user_messages.word("; ".join(filter(None, (self.unused, self.components.note)))) or None
        )

    @cached_property
    def spare(self) -> frozenset[ClaimCheck]:
        """The checks of which no metric has a use where the response declines to answer.

        Empty where asking costs nothing: then the verdicts are shown all the same.
        """
        if self.components.spent is None:
            return frozenset()
        used = (s.checks for s in self.chosen if s.options.get("abstain") != "exclude")
        return frozenset(self.checks).difference(*used)

    @cached_property
    def rubrics(self) -> dict[str, PromptFile]:
        """Key → the rubric that a rater is asked with. Raises UsageError and InputError."""
        rated = [(spec, spec.rating.rubric) for spec in self.chosen if spec.rating]
        if not rated:
            return {}
        from trueground.judges import Rater

        return {spec.key: Rater.find_rubric(*rubric()).file for spec, rubric in rated}

    @property
    def prompts(self) -> list[PromptFile]:
        """Everything that language models are asked with in judging and rating."""
        return list(dict.fromkeys((*self.components.prompts, *self.rubrics.values())))

    @property
    def signatures(self) -> dict[str, str]:
        """Key → signature; with judge and decomposer, or rater, where they are asked."""
        return {spec.key: self.signature_of(spec) for spec in self.specs}

    def signature_of(self, spec: Spec) -> str:
        """The signature of a metric of this plan."""
        components, tail = self.components, ""
        if spec.checks:
            tail = f"|judge:{components.judges[spec.judge].signature}"
            if any(check.splits for check in spec.checks):
                tail += f"|claims:{components.decomposer.signature}"
        if spec.key in self.rubrics and components.rater is not None:
            rubric = self.rubrics[spec.key]
            tail = f"|rubric:{rubric.id}@{rubric.sha256[:16]}|rater:{components.rater.signature}"
        if spec.comparer:
            tail = f"|comparer:{components.comparer(spec.comparer).signature}"
        return spec.signature + tail


def check_breakdowns(by: Sequence[str], check: Check) -> None:
    """Breakdowns must name something that is there. Raises UsageError."""
    for name in by:
        if not check.has_breakdown(name):
            known = ", ".join(check.breakdowns) or "none"
            raise UsageError(
                f"--by {name}: no record has this field; fields to break down by: {known}"
            )


def describe_missing(plan: Plan, check: Check, *, by_name: bool) -> str | None:
    """What no record has and a metric needs, and the column that may be it; None: nothing.

    Without metrics chosen `by_name` this is the contexts, since all that tells whether an answer is
    grounded needs them (or the graphs that stand in their place).
    """
    lost = [spec.key for spec in plan.specs if "contexts" in spec.needs]
    if not check.fields["contexts"] and (lost or not (by_name or check.fields["knowledge"])):
        field, what = "contexts", f"{', '.join(lost)} cannot be scored"
        if not by_name:
            what = "whether the answers are grounded in anything cannot be scored"
    else:
        missing = {
            need: [spec.key for spec in plan.specs if need in spec.needs]
            for need in ("references", "gold_facts")
            if by_name and not check.fields[need]
        }
        field = next((need for need, keys in missing.items() if keys), "")
        what = f"{', '.join(missing.get(field, ()))} cannot be scored"
    if not field:
        return None
    hint = check.hints.get(field, f"name the column with --map {field}=COLUMN")
    return f"no record has {field}: {what}. {hint[:1].upper()}{hint[1:]}"


def check_names(plan: Plan, check: Check, require: Sequence[str]) -> None:
    """Breakdowns and gates must name something that is there. Raises UsageError."""
    check_breakdowns(plan.by, check)
    for name in require:
        known = plan.summary_keys
        if name in AnswerVerdict.NAMES:
            # `abstained` is also a metric.
            if plan.verdicts is None and name not in known:
                advice = "name one that does with --metrics, such as support"
                if name == "abstained":
                    advice += ", or the metric abstained"
                if plan.missing and "contexts" in plan.missing:
                    advice = plan.missing
                raise UsageError(
                    f"--fail-under or --fail-over {name}: no metric of this run checks the claims "
                    f"of the answers; {advice}"
                )
            continue
        if len(ResultKey.find(name, known)) != 1:
            raise UsageError(
                f"--fail-under or --fail-over {name}: this metric is not in the run, which has "
                f"{', '.join(known)}"
            )
