"""`trueground annotate` and `agreement`: tasks for annotators, labels of their answers, and how
well they agree."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from trueground.annotation import export_tasks, import_answers, measure_agreement
from trueground.cli._options import Format, FormatOption, Quiet, takes
from trueground.cli._output import echo_result
from trueground.studies.label_plan import plan_labels
from trueground.web.labels import serve_project

annotate = typer.Typer(name="annotate", help="Tasks for annotators, and labels of their answers.")

Answers = Annotated[
    list[Path], typer.Argument(help="Filled files of `annotate export`: JSONL or CSV.")
]


@annotate.callback()
def _group() -> None:
    """Tasks for annotators, and labels of their answers."""


@annotate.command("export")
@takes(export_tasks)
def export(
    kind: Annotated[
        str,
        typer.Argument(
            help="validity, candidate, gold-facts, revision, quality (of a build); contains, "
            "contains-list, relevance, correctness, support, span (of records); "
            "alignment (of both)."
        ),
    ],
    sources: Annotated[
        list[str],
        typer.Argument(help="Folders of `trueground build`, run directories, files of records."),
    ],
    *,
    format_: FormatOption = Format.TEXT,
    quiet: Quiet = False,
    **options: Any,
) -> None:
    """Write a file of tasks for each annotator, and their instructions."""
    from trueground.reports.annotation import render_export

    echo_result(export_tasks(kind, sources, **options), render_export, format_, quiet)


@annotate.command("plan")
@takes(plan_labels)
def plan(
    run: Annotated[Path, typer.Argument(help="A finished run that kept its records.")],
    *,
    format_: FormatOption = Format.TEXT,
    quiet: Quiet = False,
    **options: Any,
) -> None:
    """How many answers to label for a rate that people would confirm, and which: they are drawn."""
    from trueground.reports.annotation import render_plan

    echo_result(plan_labels(run, **options), render_plan, format_, quiet)


@annotate.command("import")
@takes(import_answers)
def import_(
    answers: Answers,
    *,
    format_: FormatOption = Format.TEXT,
    quiet: Quiet = False,
    **options: Any,
) -> None:
    """Check the answers of all annotators, and merge them into labels."""
    from trueground.reports.annotation import render_import

    echo_result(import_answers(answers, **options), render_import, format_, quiet)


@annotate.command("serve")
@takes(serve_project)
def serve(
    project: Annotated[
        str,
        typer.Argument(help="The labels: FILE (made if new), or postgresql://USER@HOST/NAME."),
    ],
    tasks: Annotated[
        list[Path] | None, typer.Argument(help="Files of `annotate export`: JSONL.")
    ] = None,
    **options: Any,
) -> None:
    """Label tasks in a browser, with several people: links, a queue, agreement, export."""
    serve_project(project, tasks or (), **options)


@takes(measure_agreement)
def agreement(
    answers: Answers,
    *,
    format_: FormatOption = Format.TEXT,
    quiet: Quiet = False,
    **options: Any,
) -> None:
    """Agreement of annotators in each field, with intervals, and the hardest tasks."""
    from trueground.reports.annotation import render_agreement

    echo_result(measure_agreement(answers, **options), render_agreement, format_, quiet)
