"""`trueground annotate` and `agreement`: tasks for annotators, labels of their answers, and how
well they agree."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from trueground.cli import Screen, takes
from trueground.studies import plan_labels
from trueground.wings.labeling.operations import export_tasks, import_answers, measure_agreement
from trueground.wings.labeling.web import serve_project

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
    screen: Screen,
    **options: Any,
) -> None:
    """Write a file of tasks for each annotator, and their instructions."""
    from trueground.wings.labeling.pages import show_export

    exported = export_tasks(kind, sources, **options)
    screen.show_page(exported, lambda: show_export(exported))


@annotate.command("plan")
@takes(plan_labels)
def plan(
    run: Annotated[Path, typer.Argument(help="A finished run that kept its records.")],
    *,
    screen: Screen,
    **options: Any,
) -> None:
    """How many answers to label for a rate that people would confirm, and which: they are drawn."""
    planned = plan_labels(run, **options)
    screen.show_page(planned, planned.blocks)


@annotate.command("import")
@takes(import_answers)
def import_(
    answers: Answers,
    *,
    screen: Screen,
    **options: Any,
) -> None:
    """Check the answers of all annotators, and merge them into labels."""
    from trueground.wings.labeling.pages import show_import

    imported = import_answers(answers, **options)
    screen.show_page(imported, lambda: show_import(imported))


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
    screen: Screen,
    **options: Any,
) -> None:
    """Agreement of annotators in each field, with intervals, and the hardest tasks."""
    from trueground.wings.labeling.pages import agreement_page

    measured = measure_agreement(answers, **options)
    screen.show_page(measured, lambda: agreement_page(measured))
