"""Tasks for people and their answers, as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from trueground.annotation.agreement import (
    Agreement,
    AgreementEstimate,
    FieldAgreement,
    HardTask,
    KindAgreement,
    PairAgreement,
)
from trueground.records.problems import shorten
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
    number,
    several,
)
from trueground.reports.text import table

if TYPE_CHECKING:
    from trueground.annotation.agreement import (
        Agreement,
        AgreementEstimate,
        FieldAgreement,
        HardTask,
        KindAgreement,
    )
    from trueground.annotation.answers import Annotator, Imported
    from trueground.annotation.base import PlannedLabels
    from trueground.annotation.export import Exported

_UNITS = {"part": "each option", "word": "each word"}
_TIES = {
    "open": "left open",
    "drop": "left out",
    "first": "decided by the first file",
    "lowest": "decided by the lowest answer",
}


def render_export(done: Exported) -> str:
    """How many tasks, what was passed over, and where the files lie."""
    of = "" if done.tasks == done.found else f" of {done.found:,}"
    people = several(len(done.files), "annotator")
    lines = [f"{done.kind}: {several(done.tasks, 'task')}{of} for {people}"]
    lines += [f"passed over: {several(n, 'record')} without {w}" for w, n in done.skipped.items()]
    if len(done.sources) > 1:
        lines += [f"{number}:  {source}" for number, source in done.sources.items()]
    lines += [f"warning: {warning}" for warning in done.warnings]
    files = [("annotator", "file", "")]
    files += [(who, file, "") for who, paths in done.files.items() for file in paths]
    return "\n".join([*lines, "", table(files), "", f"instructions   {done.instructions}"])


def render_plan(done: PlannedLabels) -> str:
    """How many labels, which answers they are of, and what to do next."""
    known = {
        "pilot": f"measured on the {done.pilot:,} labels of the pilot",
        "labelled sets": "taken from labelled sets (docs/trust.md)",
        "nothing": "not measured, so it is taken to know nothing. Label a pilot of 50 (`annotate "
        "export --sample 50`), and name it with --labels",
    }[done.basis]
    rate = f"the share of {done.label} answers ± {100 * done.half_width:.3g} points"
    lines = [
        f"{done.labels:,} of {done.answers:,} answers to label, for {rate} ({done.level:.0%})",
        f"expected of these labels with the judge's scores: ± {100 * done.expected:.2g} points",
        f"labels that it would take without its scores: {done.alone:,}",
        f"what the judge is worth: {known}",
    ]
    if done.unscored:
        lines.append(f"{several(done.unscored, 'answer')} without {done.metric} left out")
    rows = [(done.metric, "answers", "to label", "probability", "")]
    rows += [
        (
            f"{one.low:.2f} to {one.high:.2f}",
            f"{one.answers:,}",
            f"{one.labels:,}",
            f"{one.labels / one.answers:.3f}",
            "",
        )
        for one in done.strata
    ]
    kind = "support" if done.label == "faithful" else "correctness"
    steps = [
        f"file   {done.file}",
        f"next   trueground annotate export {kind} {done.file} --out tasks.jsonl",
        "       then label all of them: the number is fixed before anybody looks",
    ]
    return "\n".join([*lines, "", table(rows), "", *steps])


def render_import(done: Imported) -> str:
    """How many tasks are agreed on, what is open, and how long they took."""
    fate = f"--tie {done.tie}: {_TIES[done.tie]}" if done.disputed else ""
    if fate and done.tie in ("first", "lowest") and done.open:
        fate += f"; {done.open:,} left open, without an order"
    rows = [
        ("tasks", f"{done.tasks + done.unanswered:,}", ""),
        ("answered", f"{done.tasks:,}", ""),
        ("  by one person only", f"{done.single:,}", ""),
        ("  agreed", f"{done.agreed:,}", ""),
        ("  by majority", f"{done.majority:,}", ""),
        ("  disputed", f"{done.disputed:,}", fate),
    ]
    files = [f"labels   {done.labels}"]
    if done.third_file is not None:
        files.append(
            f"third    {done.third_file}: {several(done.third, 'task')} for one more annotator; "
            "import it with the other files"
        )
    return "\n\n".join(
        [table(rows), _people(done.annotators), *_edited(done.edited), "\n".join(files)]
    )


def render_agreement(found: Agreement) -> str:
    """For each kind its fields, its annotators and its hardest tasks."""
    blocks = [block for name, kind in found.kinds.items() for block in _kind(name, kind)]
    level = f"{found.level:.0%} intervals over tasks, {found.resamples:,} samples"
    return "\n\n".join([*blocks, *_edited(found.edited), level])


def _kind(name: str, kind: KindAgreement) -> Iterator[str]:
    yield f"{name}: {several(kind.tasks, 'task')}, {kind.answered_by_two:,} answered by two or more"
    if kind.fields:
        head = ("field", "value", "interval", "tasks", "of")
        yield table([head, *(row for field in kind.fields.items() for row in _field(*field))])
    yield _people(kind.annotators)
    if kind.hardest:
        lines = "\n".join(line for hard in kind.hardest for line in _hard(hard))
        yield f"hardest tasks (disagreement, seconds)\n{lines}"


def _field(name: str, field: FieldAgreement) -> Iterator[tuple[str, ...]]:
    average = "mean grade" if field.within_one is not None else "share of yes"
    average, same = (
        ("share of words marked", "same marks") if field.unit == "word" else (average, "same set")
    )
    statistics: dict[str, AgreementEstimate | None] = {
        average: field.mean,
        "agreement": field.agreement,
        same: field.same_set,
        "within 1": field.within_one,
        "Cohen's kappa": field.cohen_kappa,
        "Fleiss' kappa": field.fleiss_kappa,
        f"Krippendorff's alpha ({field.measure})": field.krippendorff_alpha,
    }
    yield name, "", "", f"{field.tasks:,}", ""
    for title, estimate in statistics.items():
        if estimate is not None:
            of = _UNITS.get(field.unit, "") if title != same else ""
            ends = "–" if estimate.ci is None else "{:.4f} to {:.4f}".format(*estimate.ci)
            yield f"  {title}", number(estimate.value), ends, "", of


def _people(people: Mapping[str, Annotator]) -> str:
    head = ("annotator", "done", "not done", "seconds a task (median)")
    rows = [
        (shorten(who), f"{p.done:,}", f"{p.unfinished:,}", _seconds(p.seconds))
        for who, p in people.items()
    ]
    return table([head, *rows])


def _hard(hard: HardTask) -> Iterator[str]:
    yield f"  {shorten(hard.id)}  {hard.disagreement:.2f}, {_seconds(hard.seconds)}"
    for who, answers in hard.answers.items():
        answered = ", ".join(f"{name} {describe_value(value)}" for name, value in answers.items())
        comment = f"  ({shorten(hard.comments[who])})" if who in hard.comments else ""
        yield f"    {shorten(who)}: {answered or '–'}{comment}"


def describe_value(value: Any) -> str:
    if not isinstance(value, tuple):
        return str(value)
    # Of a mark its words; of another value itself.
    parts = [f'{one.type} "{shorten(one.text)}"' if hasattr(one, "text") else one for one in value]
    return " ".join(map(str, parts)) or "none"


def _edited(ids: list[str]) -> list[str]:
    return ["shown text changed after export: " + ", ".join(ids)] if ids else []


def _seconds(seconds: float | None) -> str:
    return "–" if seconds is None else f"{seconds:,.4g}"


# ---- agreement_page ----

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
        blocks.append(Part(name, [*_page_kind(kind, pairs.get(name, {}), own, found.level)], name))
    settings = f"{found.level:.0%} intervals over tasks, {found.resamples:,} samples."
    blocks.append(Text(settings, "quiet"))
    lead = "How far people say the same of the same task, and by how much that is above chance."
    return Page("agreement", MARK, "Agreement", blocks, lead)


def _page_kind(
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
        hardest = [_page_hard(one, titles[one.id]) for one in kind.hardest]
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


def _page_hard(hard: HardTask, title: Span) -> Entry:
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
