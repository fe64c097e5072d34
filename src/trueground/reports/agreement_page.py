"""How well annotators agree, as a page: each field, each pair of people, the hardest tasks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from trueground.annotation.agreement import (
    Agreement,
    AgreementEstimate,
    FieldAgreement,
    HardTask,
    KindAgreement,
    PairAgreement,
)
from trueground.reports.annotation import describe_value
from trueground.reports.blocks import (
    Block,
    Entries,
    Entry,
    Estimate,
    Head,
    Page,
    Part,
    Row,
    Span,
    Table,
    Text,
    several,
)

MARK = "trueground-agreement-1"
Pairs = Mapping[str, Sequence[PairAgreement]]
TaskName = tuple[str, str]  # kind and id


def agreement_page(
    found: Agreement,
    pairs: Mapping[str, Pairs],
    *,
    notices: Sequence[str],
    titles: Mapping[TaskName, Span],
) -> Page:
    """The page; `pairs` are by kind of task and field, `titles` lead to the tasks."""
    blocks: list[Block] = [Text(notice, "note") for notice in notices]
    if not found.kinds:
        blocks.append(Text("Nobody has labelled a task yet."))
    for name, kind in found.kinds.items():
        own = {one.id: titles[name, one.id] for one in kind.hardest}
        blocks.append(Part(name, [*_kind(kind, pairs.get(name, {}), own, found.level)], name))
    settings = f"{found.level:.0%} intervals over tasks, {found.resamples:,} samples."
    blocks.append(Text(settings, "quiet"))
    lead = "How far people say the same of the same task, and by how much that is above chance."
    return Page("agreement", MARK, "Agreement", blocks, lead)


def _kind(
    kind: KindAgreement, pairs: Pairs, titles: Mapping[str, Span], level: float
) -> Iterator[Block]:
    yield Text(
        f"{several(kind.tasks, 'task')} labelled, {kind.answered_by_two:,} by two people or more."
    )
    if kind.fields:
        yield _fields(kind.fields, level)
    for name, own in pairs.items():
        if len(own) > 1:
            yield _pairs(name, own)
    if kind.hardest:
        hardest = [_hard(one, titles[one.id]) for one in kind.hardest]
        yield Part("Hardest tasks", [Entries(hardest, "task")])


def _fields(fields: Mapping[str, FieldAgreement], level: float) -> Table:
    """A column for each statistic that any field has."""
    named: dict[str, list[AgreementEstimate | None]] = {
        "agreement": [field.agreement for field in fields.values()],
        "same set": [field.same_set for field in fields.values()],
        "within 1": [field.within_one for field in fields.values()],
        "Cohen's kappa": [field.cohen_kappa for field in fields.values()],
        "Fleiss' kappa": [field.fleiss_kappa for field in fields.values()],
        "Krippendorff's alpha": [field.krippendorff_alpha for field in fields.values()],
        "mean": [field.mean for field in fields.values()],
    }
    shown = {name: column for name, column in named.items() if any(column)}
    columns = [Head("field"), Head("tasks by two", "number")]
    for name in shown:
        note = "share of yes, of words marked, or mean grade" if name == "mean" else None
        low = -1.0 if "kappa" in name or "alpha" in name else 0.0
        columns.append(Head(name, "estimate", note=note, digits=4, low=low))
    columns += [Head("labels are"), Head("counted over")]
    over = {"task": "tasks", "part": "each option", "word": "each word"}
    rows = [
        Row(
            [
                name,
                field.tasks,
                *(_estimate(column[at]) for column in shown.values()),
                field.measure,
                over[field.unit],
            ]
        )
        for at, (name, field) in enumerate(fields.items())
    ]
    caption = f"Each field, with {level:.0%} intervals"
    return Table(columns, rows, caption)


def _pairs(name: str, pairs: Sequence[PairAgreement]) -> Table:
    columns = [
        Head("people"),
        Head("tasks of both", "number"),
        Head("agreement", "estimate", digits=4),
        Head("Cohen's kappa", "estimate", digits=4, low=-1.0),
    ]
    rows = [
        Row(
            [
                " and ".join(pair.annotators),
                pair.tasks,
                _estimate(pair.agreement),
                _estimate(pair.cohen_kappa),
            ]
        )
        for pair in sorted(pairs, key=lambda one: (one.agreement.value or 0.0, one.annotators))
    ]
    return Table(columns, rows, f"Pairs of people, {name}", sortable=True)


def _hard(hard: HardTask, title: Span) -> Entry:
    columns = [Head("who"), Head("says"), Head("comment")]
    rows = [
        Row(
            [
                who,
                ", ".join(f"{name} {describe_value(value)}" for name, value in said.items()) or "–",
                hard.comments.get(who, ""),
            ]
        )
        for who, said in hard.answers.items()
    ]
    took = "" if hard.seconds is None else f", {hard.seconds:,.4g} seconds"
    blocks: list[Block] = [Text([Span("Decide", href=title.href)]), Table(columns, rows)]
    return Entry(title.text, blocks, f"{hard.id}{took}", {"disagreement": hard.disagreement})


def _estimate(found: AgreementEstimate | None) -> Estimate:
    if found is None:
        return Estimate(None)
    return Estimate(found.value, *(found.ci or ()))
