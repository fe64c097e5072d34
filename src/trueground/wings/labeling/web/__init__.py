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
            "Tasks of this run's answers, or of a file of records. Repeatable: several models, "
            "mixed.",
            type=list[str] | None,
            metavar="RUN",
        ),
    ] = (),
    kind: Annotated[str, Option("With --from-run: the kind of task.")] = "support",
    sample: Annotated[
        int | None, Option("With --from-run: only N tasks, chosen by the seed.", min=1)
    ] = None,
    worst: Annotated[
        str | None,
        Option(
            "With --from-run: rank by this metric, the worst first, and with --sample take the N "
            "worst instead of drawing them.",
            metavar="METRIC",
        ),
    ] = None,
    seed: Annotated[int, Option("Seed of sample and order.", min=0, max=2**63 - 1)] = 0,
    overlap: Annotated[
        int | None, Option("How many people do each task. Default: 2.", min=1, max=100)
    ] = None,
    order: Annotated[
        str | None,
        Option(
            "random: an order for each person. worst: by --worst, for all alike. Default: random, "
            "with --worst worst.",
            type=Literal["random", "worst"] | None,
        ),
    ] = None,
    title: Annotated[str | None, Option("The project's name, as annotators see it.")] = None,
    host: Annotated[str, Option("Address to listen on. Default: this machine only.")] = "127.0.0.1",
    port: Annotated[
        int | None,
        Option(
            "0 is any free one. Default: that of the project's last start, at first a free one.",
            min=0,
            max=65_535,
        ),
    ] = None,
    url: Annotated[
        str | None,
        Option(
            "Where browsers reach the server, of a proxy with TLS: https://labels.example.org. "
            "Default: as at the last start."
        ),
    ] = None,
) -> None:
    """Serve a project until Ctrl-C; print a link for the lead, with which all else is done.

    `project` is a file (made if it is not there), sqlite:///FILE or postgresql://USER@HOST/NAME.
    `tasks` are files of `annotate export`; those that the project does not have are added. What is
    given of overlap, order and title holds from now on; else it stays as it was.

    Raises UsageError, InputError, MissingExtraError.
    """
    from trueground.errors import MissingExtraError

    try:
        import sqlalchemy  # noqa: F401
    except ImportError:
        raise MissingExtraError("labeling on the web", "web") from None
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
