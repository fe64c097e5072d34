"""Tasks for people, their answers, and how well these agree, as blocks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from trueground.records import shorten
from trueground.reports import (
    Block,
    Bullets,
    Entries,
    Entry,
    Estimate,
    Head,
    Page,
    Part,
    Rich,
    Row,
    Span,
    Table,
    Text,
)
from trueground.text import several

if TYPE_CHECKING:
    from trueground.wings.labeling.agreement import (
        Agreement,
        AgreementEstimate,
        FieldAgreement,
        HardTask,
        KindAgreement,
        PairAgreement,
    )
    from trueground.wings.labeling.answers import Annotator, Imported
    from trueground.wings.labeling.export import Exported


MARK = "trueground-agreement-1"
TaskName = tuple[str, str]  # kind and id
_UNITS = {"part": "each option", "word": "each word"}
_TIES = {
    "open": "left open",
    "drop": "left out",
    "first": "decided by the first file",
    "lowest": "decided by the lowest answer",
}


def show_export(done: Exported) -> list[Block]:
    """Return how many tasks there are, what was skipped, and where the files are."""
    of = "" if done.tasks == done.found else f" of {done.found:,}"
    people = several(len(done.files), "annotator")
    lines = [f"{done.kind}: {several(done.tasks, 'task')}{of} for {people}"]
    for field, n in done.skipped.items():
        lines.append(f"skipped: {several(n, 'record')} without {field}")
    if len(done.sources) > 1:
        lines += [f"{number}:  {source}" for number, source in done.sources.items()]
    lines += [f"warning: {warning}" for warning in done.warnings]
    files = [Row([who, str(file)]) for who, paths in done.files.items() for file in paths]
    return [
        Text("\n".join(lines)),
        Table([Head("annotator"), Head("file", "code")], files),
        Text(f"instructions   {done.instructions}"),
    ]


def show_import(done: Imported) -> list[Block]:
    """Return how many tasks are agreed on, what is open, and how long they took."""
    fate = f"--tie {done.tie}: {_TIES[done.tie]}" if done.disputed else ""
    if fate and done.tie in ("first", "lowest") and done.open:
        fate += f"; {done.open:,} left open, without an order"
    rows = [
        Row(["  by one person only", done.single, ""]),
        Row(["  agreed", done.agreed, ""]),
        Row(["  by majority", done.majority, ""]),
        Row(["  disputed", done.disputed, fate]),
    ]
    n_tasks = done.tasks + done.unanswered
    counts = [Row(["tasks", n_tasks, ""]), Row(["answered", done.tasks, ""]), *rows]
    files = [f"labels   {done.labels}"]
    if done.third_file is not None:
        files.append(
            f"third    {done.third_file}: {several(done.third, 'task')} for one more annotator; "
            "import it with the other files"
        )
    return [
        Table([Head(""), Head("", "number"), Head("")], counts),
        _people(done.annotators),
        *_edited(done.edited),
        Text("\n".join(files)),
    ]


# ---- how well annotators agree ----

Pairs = Mapping[str, "Sequence[PairAgreement]"]


def agreement_page(
    found: Agreement,
    pairs: Mapping[str, Pairs] | None = None,
    *,
    notices: Sequence[str] = (),
    titles: Mapping[TaskName, Span] | None = None,
) -> Page:
    """Return for each kind of task its fields, its annotators and its hardest tasks.

    Args:
        found: What was measured.
        pairs: How far every two people agree, by kind of task and field.
        notices: What can't be shown.
        titles: Links to the hardest tasks. None: They are shown by their ids.
    """
    pairs = {} if pairs is None else pairs
    blocks: list[Block] = [Text(notice, "note") for notice in notices]
    if not found.kinds:
        blocks.append(Text("No tasks are labeled yet."))
    for name, kind in found.kinds.items():
        own = {one.id: titles[name, one.id] for one in kind.hardest} if titles else {}
        blocks.append(Part(name, [*_of_kind(kind, found.level, pairs.get(name, {}), own)], name))
    blocks += _edited(found.edited)
    blocks.append(Text(_settings(found), "quiet"))
    lead = "How often people give the same answer to the same task, and how far above chance."
    return Page("agreement", MARK, "Agreement", blocks, lead)


def _settings(found: Agreement) -> str:
    return f"{found.level:.0%} intervals over tasks, {found.resamples:,} samples"


def _of_kind(
    kind: KindAgreement, level: float, pairs: Pairs, titles: Mapping[str, Span]
) -> Iterator[Block]:
    yield Text(f"{several(kind.tasks, 'task')}, {kind.answered_by_two:,} answered by two or more")
    if kind.fields:
        columns = [Head("field"), Head("value", "estimate", digits=4, low=-1.0)]
        columns += [Head("tasks", "number"), Head("of")]
        rows = [row for name, field in kind.fields.items() for row in _field(name, field)]
        yield Table(columns, rows, f"Each field, with {level:.0%} intervals")
    yield _people(kind.annotators)
    for name, own in pairs.items():
        if len(own) > 1:
            yield _pairs(name, own)
    if kind.hardest:
        hardest = [_hard(one, titles.get(one.id)) for one in kind.hardest]
        yield Part("Hardest tasks", [Entries(hardest, "task")])


def _field(name: str, field: FieldAgreement) -> Iterator[Row]:
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
    yield Row([name, "", field.tasks, ""], "first")
    for title, estimate in statistics.items():
        if estimate is not None:
            of = _UNITS.get(field.unit, "") if title != same else ""
            yield Row([f"  {title}", _estimate(estimate), "", of])


def _estimate(found: AgreementEstimate | None) -> Estimate:
    return Estimate(None) if found is None else Estimate(found.value, *(found.ci or ()))


def _people(people: Mapping[str, Annotator]) -> Table:
    rows = [
        Row([shorten(who), p.done, p.unfinished, _seconds(p.seconds)]) for who, p in people.items()
    ]
    columns = [Head("annotator"), *(Head(name, "number") for name in ("done", "not done"))]
    return Table([*columns, Head("median seconds per task")], rows)


def _pairs(name: str, pairs: Sequence[PairAgreement]) -> Table:
    columns = [Head("people"), Head("tasks of both", "number")]
    columns += [Head("agreement", "estimate", digits=4)]
    columns += [Head("Cohen's kappa", "estimate", digits=4, low=-1.0)]
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


def _hard(hard: HardTask, title: Span | None) -> Entry:
    """Who says what of a task; on a page with the way to its dispute."""
    said: list[Rich] = []
    for who, answers in hard.answers.items():
        answered = ", ".join(f"{name} {_describe_value(value)}" for name, value in answers.items())
        comment = f" ({shorten(hard.comments[who])})" if who in hard.comments else ""
        said.append([Span(shorten(who), "strong"), f": {answered or '–'}", Span(comment, "quiet")])
    blocks: list[Block] = [Bullets(said)]
    took = "" if hard.seconds is None else f"{_seconds(hard.seconds)} seconds"
    values: dict[str, float | None] = {"disagreement": hard.disagreement}
    if title is None:
        return Entry(shorten(hard.id), blocks, took, values)
    blocks.insert(0, Text([Span("Decide", href=title.href)]))
    return Entry(title.text, blocks, ", ".join(filter(None, (hard.id, took))), values)


def _describe_value(value: Any) -> str:
    if not isinstance(value, tuple):
        return str(value)
    # Of a mark its words; of another value itself.
    parts = [f'{one.type} "{shorten(one.text)}"' if hasattr(one, "text") else one for one in value]
    return " ".join(map(str, parts)) or "none"


def _edited(ids: Sequence[str]) -> list[Block]:
    return [Text(f"shown text changed after export: {', '.join(ids)}")] if ids else []


def _seconds(seconds: float | None) -> str:
    return "–" if seconds is None else f"{seconds:,.4g}"
