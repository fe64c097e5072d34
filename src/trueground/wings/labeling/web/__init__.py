"""A labeling project: one server, several annotators, a database."""

# No `from __future__ import annotations`: the command line reads the options here as values.
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from trueground.options import Option


def serve_project(
    project: str,
    tasks: Sequence[Path] = (),
    *,
    from_run: Annotated[
        Sequence[str],
        Option(
            ("Label the answers of this run or file of records. Repeatable: mixes several models."),
            type=list[str] | None,
            metavar="RUN",
        ),
    ] = (),
    kind: Annotated[str, Option("With --from-run: kind of task.")] = "support",
    sample: Annotated[
        int | None, Option("With --from-run: use a random sample of N tasks.", min=1)
    ] = None,
    worst: Annotated[
        str | None,
        Option(
            "With --from-run: order tasks by this metric, worst first. With "
            "--sample, use the N worst.",
            metavar="METRIC",
        ),
    ] = None,
    seed: Annotated[int, Option("Random seed.", min=0, max=2**63 - 1)] = 0,
    overlap: Annotated[
        int | None, Option("Number of annotators per task. Default: 2.", min=1, max=100)
    ] = None,
    order: Annotated[
        str | None,
        Option(
            "Order of tasks: random for each annotator, or worst first. Default: "
            "random, or worst with --worst.",
            type=Literal["random", "worst"] | None,
        ),
    ] = None,
    title: Annotated[str | None, Option("Title of the project that annotators see.")] = None,
    host: Annotated[str, Option("Address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int | None,
        Option(
            ("Port; 0 for any free port. Default: the port of the last start, or a free port."),
            min=0,
            max=65_535,
        ),
    ] = None,
    url: Annotated[
        str | None,
        Option(
            "Public URL behind a proxy, such as https://labels.example.org. "
            "Default: the URL of the last start."
        ),
    ] = None,
) -> None:
    """Serve a project until Ctrl-C, and print the link of the lead.

    `project` is a file (created if it is missing), sqlite:///FILE or postgresql://USER@HOST/NAME.
    `tasks` are files of `annotate export`; new tasks are added to the project. The project keeps
    overlap, order and title for the next start.

    Raises:
        UsageError: An option is invalid.
        InputError: The project or a file of tasks can't be read.
        MissingExtraError: The extra `web` isn't installed.
    """
    from trueground.errors import MissingExtraError

    try:
        import sqlalchemy  # noqa: F401
    except ImportError:
        raise MissingExtraError("labeling in the browser", "web") from None
    from trueground.wings.labeling.web.serving import claim_address, open_project, serve

    server = claim_address(project, host, port, url)
    with server:
        opened = open_project(
            project,
            tasks,
            from_run=from_run,
            kind=kind,
            sample=sample,
            worst=worst,
            seed=seed,
            overlap=overlap,
            order=order,
            title=title,
        )
        serve(opened, server)
