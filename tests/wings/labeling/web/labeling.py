"""For tests of the label server: projects of a few tasks, a running server, and who asks it."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import msgspec
from tests.leaks import check_page
from tests.view.in_thread import answering

from trueground.view import server
from trueground.wings.labeling.web.app import LabelServer
from trueground.wings.labeling.web.people import People
from trueground.wings.labeling.web.serving import OpenProject, open_project

SAYS = ("fully", "partially", "not")


def write_records(path: Path, n: int = 6, **more: Any) -> Path:
    """Records with a context and a response of two sentences each."""
    rows = [
        {
            "id": f"q{k}",
            "question": f"What of bridge {k}?",
            "contexts": [
                {"title": f"Bridge {k}", "text": f"It is wet. Bridge {k} was built in {1800 + k}."},
                f"The ferry {k} is older than all bridges.",
            ],
            "response": f"Bridge {k} was built in {1800 + k}. It has seven arches.",
            **more,
        }
        for k in range(n)
    ]
    path.write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in rows))
    return path


def make_project(place: str, folder: Path, n: int = 6, **options: Any) -> OpenProject:
    """A project of n support tasks."""
    records = write_records(folder / f"records-{n}.jsonl", n)
    return open_project(place, from_run=[str(records)], **options)


class Reply(NamedTuple):
    """What a server answered; `json` is None where it is none."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Browser:
    """Somebody who asks a server, with their cookie and their CSRF token."""

    def __init__(self, address: server.Address) -> None:
        self.address = address
        self.cookie = self.csrf = ""
        self.set_cookie = ""
        self._keys = count(1)

    def ask(
        self, method: str, path: str, body: Any = None, *, raw: bytes | None = None, **headers: str
    ) -> Reply:
        """One request; headers are named with underscores, "" leaves one out."""
        connection = http.client.HTTPConnection(server.LOOPBACK, self.address.port, timeout=30)
        told = {"Host": urlsplit(self.address.url).netloc, "Cookie": self.cookie}
        told |= {"X-CSRF-Token": self.csrf}
        told |= {name.replace("_", "-"): value for name, value in headers.items()}
        sent = raw if raw is not None else None if body is None else json.dumps(body).encode()
        try:
            named = {name: value for name, value in told.items() if value}
            connection.putrequest(method, path, skip_host=True)
            if sent is not None:
                named["Content-Length"] = str(len(sent))
            for name, value in named.items():
                connection.putheader(name, value)
            connection.endheaders(sent)
            reply = connection.getresponse()
            found = Reply(reply.status, dict(reply.getheaders()), reply.read())
        finally:
            connection.close()
        return found

    def get(self, path: str) -> Any:
        """The JSON of a page that must be there."""
        reply = self.ask("GET", path)
        assert reply.status == 200, (path, reply.status, reply.body[:500])
        found = reply.json
        if isinstance(found, dict) and "blocks" in found:
            check_page(found)
        return found

    def post(self, path: str, body: Any = None) -> Any:
        """What comes of a change that must succeed."""
        reply = self.ask("POST", path, {} if body is None else body)
        assert reply.status == 200, (path, reply.status, reply.body[:500])
        return reply.json

    def enter(self, token: str) -> Any:
        """Use a link's token."""
        reply = self.ask("POST", "/api/enter", {"token": token})
        assert reply.status == 200, reply.body
        self.set_cookie = reply.headers["Set-Cookie"]
        self.cookie = self.set_cookie.partition(";")[0]
        self.csrf = reply.json["csrf"]
        return reply.json

    def save(self, task: int, said: str | None, **more: Any) -> Reply:
        """Label a task of kind support."""
        body = {"task": task, "key": f"save-{id(self)}-{next(self._keys)}", "state": "done"}
        body |= {"values": {} if said is None else {"support": said}, "seconds": 2, **more}
        return self.ask("POST", "/api/label", body)

    def label_all(self, say: Any, most: int = 10_000) -> list[int]:
        """Label what there is: `say` gives the answer of a task's number; their numbers."""
        done: list[int] = []
        while len(done) < most and (task := self.post("/api/next")["task"]) is not None:
            reply = self.save(task["task"], say(task))
            assert reply.status == 200, reply.body
            done.append(task["task"])
        return done


class Served(NamedTuple):
    """A running server, its project and its first lead."""

    address: server.Address
    opened: OpenProject
    lead: Browser

    def browser(self) -> Browser:
        """Somebody without a session."""
        return Browser(self.address)

    def invite(self, name: str, role: str = "annotator") -> Browser:
        """Somebody new, with a session."""
        link = self.lead.post("/api/lead/people", {"name": name, "role": role})["link"]
        browser = self.browser()
        browser.enter(link.partition("#token=")[2])
        return browser


@contextmanager
def serving(opened: OpenProject, url: str | None = None) -> Iterator[Served]:
    """The project's server in a thread; the database is closed with it."""
    with opened.database as database:
        bound = server.WebServer.bind(server.LOOPBACK, 0, url)
        bound.listening.listen(64)
        address = bound.address
        app = LabelServer(database, opened.project, bound).make_app()
        with answering(bound.listening, app):
            lead = Browser(address)
            lead.enter(People(database).open_for_lead())
            yield Served(address, opened, lead)
