"""The server of a labeling project: which request is answered by what, and who may make it.

Every request but the page itself and `enter` needs a session; every change also the session's
CSRF token; whatever tells of others is for leads. Work on the database is done in threads.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, BinaryIO, Literal, NamedTuple

from aiohttp import web
from sqlalchemy.exc import SQLAlchemyError

from trueground.errors import TruegroundError
from trueground.view import JsonResponse, WebServer
from trueground.wings.labeling.web.counting import Counted, CountingRoom
from trueground.wings.labeling.web.database import LabelDatabase, tell_reason
from trueground.wings.labeling.web.gathered import (
    back_up,
    labeled_records,
    write_labels,
    write_records,
)
from trueground.wings.labeling.web.lead import LeadDesk
from trueground.wings.labeling.web.people import (
    LONGEST,
    People,
    Person,
    UnknownPersonError,
    csrf_of,
    is_csrf_of,
)
from trueground.wings.labeling.web.project import Project, describe_kinds
from trueground.wings.labeling.web.queue import (
    NotYoursError,
    Queue,
    Save,
    State,
    TaskTakenError,
    WrongValuesError,
)
from trueground.wings.labeling.web.requests import (
    BadRequestError,
    DecisionBody,
    InviteBody,
    LabelRequest,
    TaskBody,
    TokenBody,
    check_save,
    check_task,
    read_body,
)
from trueground.wings.labeling.web.throttle import LoginThrottle, TooManyAttemptsError

_ASSET_KINDS = {".js": "text/javascript", ".css": "text/css", ".html": "text/html"}
_QUICK = 3  # threads; more would only wait for each other
_BLOCK = 1 << 20  # bytes of a file that are sent at once
Answer = Callable[[LabelRequest], Any]
Lane = Literal["quick", "slow"] | Counted
_STATUS: Mapping[type[TruegroundError], int] = {
    BadRequestError: 400,
    NotYoursError: 404,
    UnknownPersonError: 404,
    TaskTakenError: 409,
}


class Download(NamedTuple):
    """A file to be kept, not a page; one on disk is removed once it is sent."""

    name: str
    content: bytes | Path
    kind: str = "application/octet-stream"


class Route(NamedTuple):
    """`answer` is called in a thread of a `lane`; those of one lane wait for each other only."""

    method: Literal["GET", "POST"]
    path: str
    answer: Answer
    lane: Lane = "quick"

    @property
    def is_for_leads(self) -> bool:
        return self.path.startswith("lead/")


class LabelServer:
    """The application over one project."""

    def __init__(self, database: LabelDatabase, project: Project, server: WebServer) -> None:
        self._database, self._project, self._server = database, project, server
        self._address = server.address
        self._people, self._queue = People(database), Queue(database, project)
        self._desk = LeadDesk(database, self._queue.board)
        self._throttle = LoginThrottle()
        self._counting = CountingRoom(database)
        self._threads: dict[Lane, ThreadPoolExecutor] = {
            name: ThreadPoolExecutor(_QUICK if name == "quick" else 1, f"labels-{name}")
            for name in ("quick", "slow", "agreement", "judge", "calibrate")
        }
        self._cookie = self._address.cookie_name
        with database.read() as connection:
            self._kinds = describe_kinds(connection)
            self._tasks = Queue.count_tasks(connection)

    def make_app(self) -> web.Application:
        """The application, behind the guard."""
        app = self._server.make_app()
        app.router.add_get("/", self._shell)
        app.router.add_get(r"/assets/{name:[a-z0-9_-]+(?:/[a-z0-9_-]+)?\.(?:js|css)}", self._asset)
        app.router.add_post("/api/enter", self._enter)
        app.router.add_post("/api/leave", self._leave)
        for route in self._routes():
            app.router.add_route(route.method, f"/api/{route.path}", self._handler(route))
        app.on_shutdown.append(self._end_counting)
        app.on_cleanup.append(self._close)
        return app

    def _routes(self) -> list[Route]:
        queue, desk, count = self._queue, self._desk, self._counting.count
        one, person = r"{number:\d+}", r"lead/people/{number:\d+}"
        return [
            Route("GET", "me", lambda _: None),
            Route("POST", "next", lambda ask: queue.next(ask.person)._asdict()),
            Route("POST", "renew", self._renew),
            Route("POST", "label", self._label),
            Route("GET", f"task/{one}", lambda ask: queue.show(ask.number, ask.person)),
            Route("GET", f"history/{one}", self._history),
            Route("GET", "mine", lambda ask: queue.own_labels(ask.person, ask.page)),
            Route("GET", "lead/overview", self._overview, "slow"),
            Route("POST", "lead/people", self._invite),
            Route("POST", f"{person}/link", self._renew_link),
            Route("POST", f"{person}/withdraw", self._withdraw),
            Route("POST", f"{person}/forget", self._forget),
            Route("GET", "lead/agreement", lambda _: self._count("agreement"), "agreement"),
            Route("GET", "lead/judge", lambda _: self._count("judge"), "judge"),
            Route("GET", "lead/disputes", lambda ask: desk.disputes(ask.page), "slow"),
            Route("POST", "lead/decide", self._decide),
            Route("GET", "lead/export", self._export, "slow"),
            Route("POST", "lead/calibrate", lambda _: count("calibrate"), "calibrate"),
            Route("GET", "lead/backup", self._back_up, "slow"),
        ]

    # Who is let in

    def _handler(self, route: Route) -> Callable[[web.Request], Any]:
        async def handle(request: web.Request) -> web.StreamResponse:
            secret = request.cookies.get(self._cookie, "")
            told = request.headers.get("X-CSRF-Token", "")
            sent = await self._server.read_body(request), request.match_info, request.query
            found = await self._call(self._answer, route, secret, told, sent, lane=route.lane)
            response: web.Response = found
            return response

        return handle

    def _answer(
        self, route: Route, secret: str, told: str, sent: tuple[Any, Any, Any]
    ) -> web.Response:
        """The answer to a request, in a thread; whoever may not make it is refused."""
        try:
            person = self._people.find(secret)
            if person is None:
                return JsonResponse.refusal(
                    401, "you are not signed in, or your session has ended; open your link again"
                )
            if route.method != "GET" and not is_csrf_of(told, secret):
                return JsonResponse.refusal(
                    403, "the page's token is missing or another; load it again"
                )
            if route.is_for_leads and not person.is_lead:
                return JsonResponse.refusal(403, "this is for leads")
            if route.path == "me":
                return JsonResponse(self._describe(person, secret))
            return _send(route.answer(LabelRequest(person, *sent)))
        except WrongValuesError as error:
            return JsonResponse.refusal(422, str(error), fields=error.fields)
        except TruegroundError as error:
            return JsonResponse.refusal(_STATUS.get(type(error), 422), str(error))
        except SQLAlchemyError as error:
            return self._unsaved(error)

    async def _enter(self, request: web.Request) -> web.StreamResponse:
        from_ = self._peer(request)
        try:
            token = read_body(await self._server.read_body(request), TokenBody).token
        except BadRequestError as error:
            return JsonResponse.refusal(400, str(error))
        try:
            entered = await self._call(self._open_session, token)
            if entered is None:
                await self._throttle.delay(from_)
        except TooManyAttemptsError as error:
            wait = f"{error.seconds:.0f}"
            refused = JsonResponse.refusal(
                429, f"too many invalid links from your address; try again in {wait} s"
            )
            refused.headers["Retry-After"] = wait
            return refused
        except SQLAlchemyError as error:
            return self._unsaved(error)
        if entered is None:
            return JsonResponse.refusal(
                401, "this link is invalid; it may have been withdrawn or replaced"
            )
        secret, told = entered
        response = JsonResponse(told)
        self._address.set_cookie(response, secret, max_age=int(LONGEST))
        return response

    def _open_session(self, token: str) -> tuple[str, dict[str, Any]] | None:
        """The secret of a new session, and what its page gets first; None: the token is wrong."""
        secret = self._people.enter(token)
        person = None if secret is None else self._people.find(secret)
        return (
            None if person is None or secret is None else (secret, self._describe(person, secret))
        )

    async def _leave(self, request: web.Request) -> web.StreamResponse:
        secret = request.cookies.get(self._cookie, "")
        if not is_csrf_of(request.headers.get("X-CSRF-Token", ""), secret):
            return JsonResponse.refusal(
                403, "the page's token is missing or another; load it again"
            )
        try:
            await self._call(self._people.leave, secret)
        except SQLAlchemyError as error:
            return self._unsaved(error)
        response = JsonResponse({})
        response.del_cookie(self._cookie, path="/")
        return response

    def _peer(self, request: web.Request) -> str:
        """The address that a request comes from; behind a proxy of ours as that one tells it."""
        peer = request.remote or ""
        told = request.headers.get("X-Forwarded-For", "").rpartition(",")[2].strip()
        behind = peer in ("127.0.0.1", "::1") and self._address.url.startswith("https:")
        return told[:60] if behind and told else peer

    async def _call(self, function: Callable[..., Any], *values: Any, lane: Lane = "quick") -> Any:
        threads = self._threads[lane]
        return await asyncio.get_running_loop().run_in_executor(threads, function, *values)

    def _unsaved(self, error: SQLAlchemyError) -> web.Response:
        self._server.problems.report(f"{self._database.place}: {tell_reason(error)}")
        return JsonResponse.refusal(
            503, "the database does not respond; nothing was saved, try again"
        )

    async def _end_counting(self, _app: web.Application) -> None:
        self._counting.close()

    async def _close(self, _app: web.Application) -> None:
        for threads in self._threads.values():
            await asyncio.to_thread(threads.shutdown, cancel_futures=True)

    # What a page gets

    async def _shell(self, _request: web.Request) -> web.StreamResponse:
        return _find_asset("label.html")

    async def _asset(self, request: web.Request) -> web.StreamResponse:
        return _find_asset(request.match_info["name"])

    def _describe(self, person: Person, secret: str) -> dict[str, Any]:
        project = self._project
        return {
            "id": person.number,
            "name": person.name,
            "role": person.role,
            "csrf": csrf_of(secret),
            "project": {
                "id": project.id,
                "title": project.title,
                "kinds": self._kinds,
                "overlap": project.overlap,
                "order": project.order,
                "tasks": self._tasks,
            },
            "progress": self._queue.progress(person),
        }

    def _renew(self, ask: LabelRequest) -> dict[str, Any]:
        number = check_task(read_body(ask.body, TaskBody).task)
        return {"until": self._queue.renew(number, ask.person)}

    def _label(self, ask: LabelRequest) -> dict[str, Any]:
        label = self._queue.save(ask.person, check_save(read_body(ask.body, Save)))
        return {"label": label, "progress": self._queue.progress(ask.person)}

    def _history(self, ask: LabelRequest) -> dict[str, Any]:
        return {"labels": self._queue.history(ask.number, ask.person)}

    # What a lead gets

    def _overview(self, _asked: LabelRequest) -> dict[str, Any]:
        return {**self._desk.overview(), "address": self._address.url}

    def _invite(self, asked: LabelRequest) -> dict[str, Any]:
        sent = read_body(asked.body, InviteBody)
        person, token = self._people.add(sent.name, sent.role)
        told = {"id": person.number, "name": person.name, "role": person.role}
        return {"person": told, "link": self._link(token)}

    def _renew_link(self, asked: LabelRequest) -> dict[str, Any]:
        return {"link": self._link(self._people.renew_link(asked.number))}

    def _withdraw(self, asked: LabelRequest) -> dict[str, Any]:
        self._people.withdraw(asked.number)
        return {}

    def _forget(self, asked: LabelRequest) -> dict[str, Any]:
        self._people.withdraw(asked.number, forget=True)
        return {}

    def _link(self, token: str) -> str:
        return f"{self._address.url}/#token={token}"

    def _decide(self, asked: LabelRequest) -> dict[str, Any]:
        sent = read_body(asked.body, DecisionBody)
        state: State = "skipped" if sent.values is None else "done"
        save = check_save(Save(sent.task, sent.key, state, sent.values or {}, sent.comment))
        return {"label": self._queue.save(asked.person, save, decision=True)}

    def _count(self, name: Literal["agreement", "judge"]) -> Any:
        return self._desk.keep(name, lambda: self._counting.count(name))

    def _export(self, asked: LabelRequest) -> Download:
        gathered = self._desk.gathered()
        match asked.query.get("what"):
            case "answers":
                content = gathered.lines()
            case "labels":
                content = write_labels(gathered.merged())
            case "records":
                content = write_records(labeled_records(self._database, gathered))
            case _:
                raise BadRequestError(
                    "unknown kind of download; expected answers, labels or records"
                )
        return Download(f"{asked.query['what']}.jsonl", content, "application/x-ndjson")

    def _back_up(self, _asked: LabelRequest) -> Download:
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
        return Download(f"labels-{stamp}.db", back_up(self._database))


def _find_asset(name: str) -> web.Response:
    for package in ("trueground.view", "trueground.reports"):
        with suppress(FileNotFoundError):
            body = _read_asset(package, name)
            kind = _ASSET_KINDS[name[name.rindex(".") :]]
            return web.Response(body=body, content_type=kind, charset="utf-8")
    return JsonResponse.refusal(404, "not found")


@cache
def _read_asset(package: str, name: str) -> bytes:
    return (resources.files(package) / "assets" / name).read_bytes()


def _send(found: Any) -> web.Response:
    if not isinstance(found, Download):
        return JsonResponse(found)
    headers = {"Content-Disposition": f'attachment; filename="{found.name}"'}
    content = found.content
    body = content if isinstance(content, bytes) else _read_away(content.open("rb"), content)
    return web.Response(body=body, content_type=found.kind, headers=headers)


def _read_away(file: BinaryIO, path: Path) -> AsyncIterator[bytes]:
    """The blocks of an open file that is there for no one else: its name goes at once."""
    path.unlink()

    async def blocks() -> AsyncIterator[bytes]:
        with file:
            while block := await asyncio.to_thread(file.read, _BLOCK):
                yield block

    return blocks()
