"""`trueground annotate` and `agreement`: tasks for annotators, labels of their answers, and how
well they agree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from trueground.cli._options import Format, FormatOption, Quiet, takes
from trueground.cli._output import echo_json, shorten, table
from trueground.evaluate.options import Columns
from trueground.options import OnBadRow, Resamples, Seed

if TYPE_CHECKING:
    from trueground.annotation.agreement import (
        Agreement,
        AgreementEstimate,
        FieldAgreement,
        KindAgreement,
    )
    from trueground.annotation.export import Exported
    from trueground.annotation.hardest import Hard
    from trueground.annotation.importing import Imported, Person

annotate = typer.Typer(name="annotate", help="Tasks for annotators, and labels of their answers.")


Answers = Annotated[
    list[Path], typer.Argument(help="Filled files of `annotate export`: JSONL or CSV.")
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace files that are there.")]
AllowEdited = Annotated[
    bool,
    typer.Option("--allow-edited", help="Take answers whose shown text was changed after export."),
]
_TIES = {
    "open": "left open",
    "drop": "left out",
    "first": "decided by the first file",
    "lowest": "decided by the lowest answer",
}


@annotate.callback()
def _group() -> None:
    """Tasks for annotators, and labels of their answers."""


@annotate.command("export")
@takes()
def export(
    kind: Annotated[
        str,
        typer.Argument(
            help="validity, candidate, gold-facts, revision, quality (of a build); contains, "
            "contains-list, relevance, correctness, support (of records); alignment (of both)."
        ),
    ],
    sources: Annotated[
        list[str],
        typer.Argument(help="Folders of `trueground build`, run directories, files of records."),
    ],
    out: Annotated[
        Path, typer.Option(help="NAME.jsonl: writes NAME-1.jsonl, NAME-2.jsonl, instructions.")
    ],
    csv: Annotated[
        bool, typer.Option("--csv", help="Also write spreadsheets, NAME-1.csv.")
    ] = False,
    annotators: Annotated[
        int, typer.Option(min=1, max=100, help="How many do each task; a file for each.")
    ] = 2,
    sample: Annotated[
        int | None, typer.Option(min=1, help="Only N tasks, chosen by the seed.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, max=2**63 - 1, help="Seed of sample and order.")] = 0,
    order: Annotated[
        Literal["shuffled", "same"],
        typer.Option(help="shuffled: another order for each annotator. same: all alike."),
    ] = "shuffled",
    facts: Annotated[
        Literal["gold", "response"],
        typer.Option(
            help="contains, contains-list: gold facts in the response, or the response's facts in "
            "its contexts (among the gold facts)."
        ),
    ] = "gold",
    where: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FIELD=VALUE",
            help="Only these: id, model, group, answerable or a key of meta; of a build id or what "
            "is shown. * stands for anything. Repeatable.",
        ),
    ] = None,
    mapping: Columns = None,
    on_bad_row: OnBadRow = "stop",
    overwrite: Annotated[
        bool,
        typer.Option(
            "--overwrite",
            help="Replace files that are there; those of the earlier export that this one does not "
            "have are removed.",
        ),
    ] = False,
    format_: FormatOption = Format.TEXT,
    quiet: Quiet = False,
) -> None:
    """Write a file of tasks for each annotator, and their instructions."""
    from trueground.annotation.export import export as export_tasks
    from trueground.annotation.sources import parse_where

    done = export_tasks(
        kind,
        sources,
        out,
        csv=csv,
        annotators=annotators,
        sample=sample,
        seed=seed,
        order=order,
        pairing=facts,
        where=parse_where(where or ()),
        mapping=mapping,
        on_bad_row=on_bad_row,
        overwrite=overwrite,
    )
    if format_ is Format.JSON:
        _echo(done)
    elif not quiet:
        typer.echo(_format_export(done))


@annotate.command("import")
def import_(
    answers: Answers,
    out: Annotated[Path, typer.Option(help="The labels, JSONL, one task a line.")],
    tie: Annotated[
        Literal["open", "drop", "first", "lowest"],
        typer.Option(
            help="Without a majority: leave the field open, drop the task, take the first file's "
            "answer, or the lowest (no before yes)."
        ),
    ] = "open",
    third: Annotated[
        Path | None,
        typer.Option(help="Write the disputed tasks for one more annotator: FILE.jsonl or .csv."),
    ] = None,
    overwrite: Overwrite = False,
    allow_edited: AllowEdited = False,
    format_: FormatOption = Format.TEXT,
    quiet: Quiet = False,
) -> None:
    """Check the answers of all annotators, and merge them into labels."""
    from trueground.annotation.importing import import_answers

    done = import_answers(
        answers,
        out,
        tie=tie,
        third=third,
        overwrite=overwrite,
        allow_edited=allow_edited,
    )
    if format_ is Format.JSON:
        _echo(done)
    elif not quiet:
        typer.echo(_format_import(done))


@takes()
def agreement(
    answers: Answers,
    resamples: Resamples = 2_000,
    seed: Seed = 0,
    hardest: Annotated[int, typer.Option(min=0, help="Tasks to name, of each kind.")] = 10,
    allow_edited: AllowEdited = False,
    format_: FormatOption = Format.TEXT,
    quiet: Quiet = False,
) -> None:
    """Agreement of annotators in each field, with intervals, and the hardest tasks."""
    from trueground.annotation.agreement import agreement as measure

    found = measure(
        answers, resamples=resamples, seed=seed, hard=hardest, allow_edited=allow_edited
    )
    if format_ is Format.JSON:
        _echo(found)
    elif not quiet:
        typer.echo(_format_agreement(found))


def _echo(result: object) -> None:
    import msgspec

    echo_json(msgspec.to_builtins(result))


def _format_export(done: Exported) -> str:
    """How many tasks, what was passed over, and where the files lie."""
    of = "" if done.tasks == done.found else f" of {done.found:,}"
    lines = [f"{done.kind}: {_tasks(done.tasks)}{of} for {_count(len(done.files), 'annotator')}"]
    lines += [f"passed over: {_count(n, 'record')} without {w}" for w, n in done.skipped.items()]
    if len(done.sources) > 1:
        lines += [f"{number}:  {source}" for number, source in done.sources.items()]
    lines += [f"warning: {warning}" for warning in done.warnings]
    files = [("annotator", "file", "")]
    files += [(who, file, "") for who, paths in done.files.items() for file in paths]
    return "\n".join([*lines, "", table(files), "", f"instructions   {done.instructions}"])


def _format_import(done: Imported) -> str:
    """How many tasks are agreed on, what is open, and how long they took."""
    rows = [
        ("tasks", f"{done.tasks + done.unanswered:,}", ""),
        ("answered", f"{done.tasks:,}", ""),
        ("  by one person only", f"{done.single:,}", ""),
        ("  agreed", f"{done.agreed:,}", ""),
        ("  by majority", f"{done.majority:,}", ""),
        ("  disputed", f"{done.disputed:,}", _fate(done)),
    ]
    blocks = [table(rows), _people(done.annotators)]
    if done.edited:
        blocks.append("shown text changed after export: " + ", ".join(done.edited))
    files = [f"labels   {done.labels}"]
    if done.third_file is not None:
        files.append(
            f"third    {done.third_file}: {_tasks(done.third)} for one more annotator; import it "
            "with the other files"
        )
    return "\n\n".join([*blocks, "\n".join(files)])


def _format_agreement(found: Agreement) -> str:
    """For each kind its fields, its annotators and its hardest tasks."""
    blocks = [block for name, kind in found.kinds.items() for block in _kind(name, kind)]
    if found.edited:
        blocks.append("shown text changed after export: " + ", ".join(found.edited))
    blocks.append(f"{found.level:.0%} intervals over tasks, {found.resamples:,} samples")
    return "\n\n".join(blocks)


def _kind(name: str, kind: KindAgreement) -> Iterator[str]:
    yield f"{name}: {_tasks(kind.tasks)}, {kind.answered_by_two:,} answered by two or more"
    if kind.fields:
        head = ("field", "value", "interval", "tasks", "of")
        rows = [row for field, each in kind.fields.items() for row in _field(field, each)]
        yield table([head, *rows])
    yield _people(kind.annotators)
    if kind.hardest:
        lines = "\n".join(line for hard in kind.hardest for line in _hard(hard))
        yield f"hardest tasks (disagreement, seconds)\n{lines}"


def _field(name: str, field: FieldAgreement) -> Iterator[tuple[str, ...]]:
    average = "mean grade" if field.within_one is not None else "share of yes"
    statistics: dict[str, AgreementEstimate | None] = {
        average: field.mean,
        "agreement": field.agreement,
        "same set": field.same_set,
        "within 1": field.within_one,
        "Cohen's kappa": field.cohen_kappa,
        "Fleiss' kappa": field.fleiss_kappa,
        f"Krippendorff's alpha ({field.measure})": field.krippendorff_alpha,
    }
    yield name, "", "", f"{field.tasks:,}", ""
    for title, estimate in statistics.items():
        if estimate is not None:
            part = field.unit == "part" and title != "same set"
            of = "each option" if part else ""
            yield f"  {title}", _number(estimate.value), _interval(estimate), "", of


def _people(people: Mapping[str, Person]) -> str:
    rows = [("annotator", "done", "not done", "seconds a task (median)")]
    rows += [
        (shorten(who), f"{p.done:,}", f"{p.unfinished:,}", _seconds(p.seconds))
        for who, p in people.items()
    ]
    return table(rows)


def _hard(hard: Hard) -> Iterator[str]:
    yield f"  {shorten(hard.id)}  {hard.disagreement:.2f}, {_seconds(hard.seconds)}"
    for who, answers in hard.answers.items():
        answered = ", ".join(f"{name} {_value(value)}" for name, value in answers.items())
        comment = f"  ({shorten(hard.comments[who])})" if who in hard.comments else ""
        yield f"    {shorten(who)}: {answered or '–'}{comment}"


def _value(value: Any) -> str:
    return (" ".join(map(str, value)) or "none") if isinstance(value, tuple) else str(value)


def _fate(done: Imported) -> str:
    if not done.disputed:
        return ""
    words = [f"--tie {done.tie}: {_TIES[done.tie]}"]
    if done.tie in ("first", "lowest") and done.open:
        words.append(f"{done.open:,} left open, without an order")
    return "; ".join(words)


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"


def _interval(estimate: AgreementEstimate) -> str:
    return "–" if estimate.ci is None else "{:.4f} to {:.4f}".format(*estimate.ci)


def _seconds(seconds: float | None) -> str:
    return "–" if seconds is None else f"{seconds:,.4g}"


def _tasks(n: int) -> str:
    return _count(n, "task")


def _count(n: int, noun: str) -> str:
    return f"{n:,} {noun}{'' if n == 1 else 's'}"
