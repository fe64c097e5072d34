"""The commands `trueground annotate` and `trueground agreement`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from trueground.cli import Screen, takes
from trueground.studies import plan_labels
from trueground.wings.labeling.operations import export_tasks, import_answers, measure_agreement
from trueground.wings.labeling.web import serve_project

annotate = typer.Typer(name="annotate", help="Export annotation tasks, and import or serve labels.")

Answers = Annotated[
    list[Path], typer.Argument(help="Completed files of `annotate export`: JSONL or CSV.")
]


@annotate.callback()
def _group() -> None:
    """Export annotation tasks, and import or serve labels."""


@annotate.command("export")
@takes(export_tasks)
def export(
    kind: Annotated[
        str,
        typer.Argument(
            help=(
                "Kind of task. For builds: gold-facts, validity, candidate, revision, "
                "quality. For records: contains, contains-list, relevance, "
                "correctness, support, span. For both: alignment."
            )
        ),
    ],
    sources: Annotated[
        list[str],
        typer.Argument(help="Build folders, run directories or files of records."),
    ],
    *,
    screen: Screen,
    **options: Any,
) -> None:
    """Write task files and instructions for annotators."""
    from trueground.wings.labeling.pages import show_export

    exported = export_tasks(kind, sources, **options)
    screen.show_page(exported, lambda: show_export(exported))


@annotate.command("plan")
@takes(plan_labels)
def plan(
    run: Annotated[Path, typer.Argument(help="A finished run that includes its records.")],
    *,
    screen: Screen,
    **options: Any,
) -> None:
    """Plan how many answers to label, and sample them."""
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
    """Check and merge annotations into labels."""
    from trueground.wings.labeling.pages import show_import

    imported = import_answers(answers, **options)
    screen.show_page(imported, lambda: show_import(imported))


@annotate.command("serve")
@takes(serve_project)
def serve(
    project: Annotated[
        str,
        typer.Argument(
            help=(
                "Database of the project: a file (created if needed) or "
                "postgresql://USER@HOST/NAME."
            )
        ),
    ],
    tasks: Annotated[
        list[Path] | None, typer.Argument(help="Files of `annotate export`: JSONL.")
    ] = None,
    **options: Any,
) -> None:
    """Serve tasks to annotators in a web browser."""
    serve_project(project, tasks or (), **options)


@takes(measure_agreement)
def agreement(
    answers: Answers,
    *,
    screen: Screen,
    **options: Any,
) -> None:
    """Measure agreement between annotators.

    Reports each field with a confidence interval, and the hardest tasks.
    """
    from trueground.wings.labeling.pages import agreement_page

    measured = measure_agreement(answers, **options)
    screen.show_page(measured, lambda: agreement_page(measured))
