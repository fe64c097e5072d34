"""`trueground annotate`: tasks for annotators, and labels from what they filled in."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from trueground.cli.options import Format, FormatOption, MapOption, OnBadRow, OnBadRowOption, Quiet

annotate = typer.Typer(name="annotate", help="Tasks for annotators, and labels of their answers.")


class Order(StrEnum):
    """The order of the tasks."""

    SHUFFLED = "shuffled"
    SAME = "same"


class Facts(StrEnum):
    """Which facts are looked for, in tasks of kind contains and contains-list."""

    GOLD = "gold"
    RESPONSE = "response"


class Tie(StrEnum):
    """What becomes of a field without a majority."""

    OPEN = "open"
    DROP = "drop"
    FIRST = "first"
    LOWEST = "lowest"


Answers = Annotated[
    list[Path], typer.Argument(help="Filled files of `annotate export`: JSONL or CSV.")
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace files that are there.")]
AllowEdited = Annotated[
    bool,
    typer.Option("--allow-edited", help="Take answers whose shown text was changed after export."),
]
Seed = Annotated[int, typer.Option(min=0, max=2**63 - 1, help="Seed of sample and order.")]


@annotate.callback()
def _group() -> None:
    """Tasks for annotators, and labels of their answers."""


@annotate.command("export")
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
    seed: Seed = 0,
    order: Annotated[
        Order, typer.Option(help="shuffled: another order for each annotator. same: all alike.")
    ] = Order.SHUFFLED,
    facts: Annotated[
        Facts,
        typer.Option(
            help="contains, contains-list: gold facts in the response, or the response's facts in "
            "its contexts (among the gold facts)."
        ),
    ] = Facts.GOLD,
    where: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FIELD=VALUE",
            help="Only these: id, model, group, answerable or a key of meta; of a build id or what "
            "is shown. * stands for anything. Repeatable.",
        ),
    ] = None,
    map_: MapOption = None,
    on_bad_row: OnBadRowOption = OnBadRow.STOP,
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
    from trueground.records import parse_mapping

    done = export_tasks(
        kind,
        sources,
        out,
        csv=csv,
        annotators=annotators,
        sample=sample,
        seed=seed,
        order=order.value,
        pairing=facts.value,
        where=parse_where(where or ()),
        mapping={k: v for text in map_ or () for k, v in parse_mapping(text).items()},
        on_bad_row=on_bad_row.value,
        overwrite=overwrite,
    )
    if format_ is Format.JSON:
        _echo_json(done)
    elif not quiet:
        from trueground.cli.annotation_shown import exported

        typer.echo(exported(done))


@annotate.command("import")
def import_(
    answers: Answers,
    out: Annotated[Path, typer.Option(help="The labels, JSONL, one task a line.")],
    tie: Annotated[
        Tie,
        typer.Option(
            help="Without a majority: leave the field open, drop the task, take the first file's "
            "answer, or the lowest (no before yes)."
        ),
    ] = Tie.OPEN,
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
        tie=tie.value,
        third=third,
        overwrite=overwrite,
        allow_edited=allow_edited,
    )
    if format_ is Format.JSON:
        _echo_json(done)
    elif not quiet:
        from trueground.cli.annotation_shown import imported

        typer.echo(imported(done))


def _echo_json(done: object) -> None:
    import msgspec
    import orjson

    typer.echo(orjson.dumps(msgspec.to_builtins(done), option=orjson.OPT_INDENT_2))
