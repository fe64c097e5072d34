"""A project is opened, with the tasks that are new to it, and served."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

from trueground.errors import InputError, UsageError, user_messages
from trueground.view import WebServer
from trueground.wings.labeling.web.app import LabelServer
from trueground.wings.labeling.web.database import (
    LabelDatabase,
    is_new,
    read_meta,
    tell_reason,
    write_meta,
)
from trueground.wings.labeling.web.people import People, names_of
from trueground.wings.labeling.web.project import Project, settle_project
from trueground.wings.labeling.web.queue import Queue
from trueground.wings.labeling.web.tasks import (
    find_in_runs,
    find_parts,
    has_ranks,
    read_files,
    take_in,
)


@dataclass(frozen=True)
class OpenProject:
    """An open database and what holds for it; `added` of its `tasks` are new."""

    database: LabelDatabase
    project: Project
    added: int
    tasks: int


def open_project(
    place: str,
    files: Sequence[Path] = (),
    *,
    from_run: Sequence[str] = (),
    kind: str = "support",
    sample: int | None = None,
    worst: str | None = None,
    seed: int = 0,
    overlap: int | None = None,
    order: str | None = None,
    title: str | None = None,
) -> OpenProject:
    """Open or make a project, and take in the tasks that it does not have.

    All of them are taken in, or none. UsageError, InputError.
    """
    if not from_run and (sample is not None or worst is not None):
        given = "--sample" if worst is None else "--worst"
        raise UsageError(f"{given} selects answers of a run, so it needs --from-run")
    found = [read_files(files)] if files else []
    if from_run:
        found.append(find_in_runs(list(from_run), kind, sample, worst, seed))
    parts = [find_parts(new) for new in found]
    if order is None and worst is not None:
        order = "worst"

    def settle(connection: Connection) -> tuple[Project, int, int]:
        project = settle_project(connection, title=title, overlap=overlap, order=order, seed=seed)
        pairs = zip(found, parts, strict=True)
        added = sum(take_in(connection, new, known, project.seed) for new, known in pairs)
        total = Queue.count_tasks(connection)
        if not total:
            raise InputError(
                f"{place}: the project has no tasks; name files of `trueground annotate export`, "
                "or a run with --from-run"
            )
        if order == "worst" and not has_ranks(connection):
            raise UsageError(
                "--order worst: no task of the project has a rank; name a metric with --worst, and "
                "the run with --from-run"
            )
        return project, added, total

    database = LabelDatabase(place)
    try:
        project, added, total = database.write(settle)
    except SQLAlchemyError as error:
        database.discard()
        raise InputError(f"{database.place}: nothing was taken in: {tell_reason(error)}") from None
    except BaseException:
        database.discard()
        raise
    for note in (note for new in found for note in new.notes):
        user_messages.show(f"note: {note}")
    return OpenProject(database, project, added, total)


def claim_address(place: str, host: str, port: int | None, url: str | None) -> WebServer:
    """A server, at the port and URL of the project's last start where none is given.

    People's links, and what their browsers keep, belong to that address. UsageError, InputError.
    """
    known: dict[str, str] = {}
    if (port is None or url is None) and not is_new(place):
        with LabelDatabase(place) as database, database.read() as connection:
            known = read_meta(connection)
    last = known.get("port")
    try:
        return WebServer.bind(
            host, int(last or 0) if port is None else port, url or known.get("url") or None
        )
    except UsageError as error:
        if port is not None or last is None:
            raise
        raise UsageError(
            f"{error}. The project used this port at its last start, and people have links with "
            "it. Stop the program that uses it, or name another --port and send new links"
        ) from None


def serve(opened: OpenProject, server: WebServer) -> None:
    """Serve until Ctrl-C; the lead's link is printed."""
    with opened.database as database:
        token = People(database).open_for_lead()
        project = opened.project
        address = server.address
        links = _keep_address(database, server)
        new = f" ({opened.added:,} new)" if opened.added < opened.tasks else ""
        print(f"{project.title}: {opened.tasks:,} tasks{new} in {database.place}")
        print(f"lead   {address.url}/#token={token}\n{links}", end="", flush=True)
        if not address.is_loopback and not address.is_https:
            user_messages.show(
                "WARNING: connections from other machines are unencrypted. Use a TLS proxy in "
                "front of the server, and pass its address with --url https://…"
            )
        server.run(LabelServer(database, project, server).make_app())


def _keep_address(database: LabelDatabase, server: WebServer) -> str:
    """Keep where the project is served; what is to be said of the links that people have."""

    address = server.address

    def keep(connection: Connection) -> tuple[str | None, int]:
        before = read_meta(connection).get("address")
        behind = not address.url.endswith(f":{address.port}")  # a proxy, whose URL it is
        told = {"address": address.url, "port": str(address.port)}
        write_meta(connection, {**told, "url": address.url if behind else ""})
        return before, len(names_of(connection))

    before, people = database.write(keep)
    if before is None or people < 2:
        return ""
    if before == address.url:
        return f"links to {before} stay valid\n"
    return f"links to {before} do not work any more; create new ones on the page of the lead\n"
