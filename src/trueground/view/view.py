"""The server of `trueground view`: lists of runs, one run, two side by side, a leaderboard.

Every address gives the same frame; the viewer in it asks for the page beside that address. What
takes long is done in processes of their own (`pages`), one at a time, while the page tells how far
it is.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from aiohttp import web

from trueground.errors import TruegroundError, UsageError
from trueground.reports import Page, RunReport, viewer_assets
from trueground.runs import RunFiles
from trueground.view.access import LinkAccess
from trueground.view.browser import html_document
from trueground.view.index import RunIndex, read_query
from trueground.view.indexing import grow
from trueground.view.pages import work
from trueground.view.runs import FoundRun, RunFolders, RunPairs, list_page, readable
from trueground.view.server import LOOPBACK, JsonResponse, WebServer
from trueground.view.stored import IndexCache, IndexState, read_state, still_holds

_SMALL = 8 << 20  # bytes of items.jsonl that are indexed without a process for it
_SOON_S, _LATER_S = 1.5, 3.0  # until the page looks again
_RETRY_S = 5.0  # until an index that failed is tried again, when a page asks
_PAGES = 16  # made by workers, that are kept
_OPEN = 4  # runs whose columns may stay in memory
_FRAME = html_document(
    '<div id="viewer"><noscript>This page needs JavaScript.</noscript></div>',
    head='<link rel="stylesheet" href="/assets/viewer.css">\n'
    '<script src="/assets/viewer.js" defer></script>',
)


class _Opened:
    """A run that is looked at, and what is being done for it."""

    def __init__(self, run: FoundRun) -> None:
        self.run = run
        self.state: IndexState | None = None
        self.index: RunIndex | None = None
        self.task: asyncio.Task[None] | None = None
        self.share = 0.0
        self.problem: str | None = None
        self.tried: tuple[int, int] | None = None  # size and time of the items, the last time
        self.retry_at = 0.0  # when what failed is tried again, by the monotonic clock

    @property
    def is_busy(self) -> bool:
        return self.task is not None and not self.task.done()

    @property
    def page_version(self) -> str:
        """Changes with all that the page shows beside its answers."""
        return f"{self.run.version}.{int(self.is_busy)}.{int(self.index is not None)}"

    @property
    def rows_version(self) -> str:
        """Changes with the answers."""
        state = self.index.state if self.index else None
        return f"{state.generation}.{state.count}" if state else ""


class ViewServer:
    """What the routes share."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self.folders = RunFolders(paths)
        self._opened: OrderedDict[str, _Opened] = OrderedDict()
        self._pages: OrderedDict[tuple[str, ...], asyncio.Task[Any]] = OrderedDict()
        self._working = asyncio.Semaphore(1)

    # ---- routes ----

    async def frame(self, _request: web.Request) -> web.Response:
        """The same for every page."""
        return web.Response(text=_FRAME, content_type="text/html")

    async def runs(self, _request: web.Request) -> web.Response:
        """The list of runs."""
        found = await asyncio.to_thread(self.folders.runs)
        going = [run for run in found if run.goes_on]
        progress = {run.key: await asyncio.to_thread(self.folders.progress, run) for run in going}
        hrefs = {run.key: f"/run/{run.key}/" for run in found if run.problem is None}
        pairs = RunPairs("/compare/{a}/{b}/")
        board = "/leaderboard/" if any(run.is_finished for run in found) else None
        page = list_page(found, self.folders.named(), hrefs, pairs, progress, board)
        return JsonResponse({"page": page, "going": 1000 * _LATER_S if progress else 0})

    async def run(self, request: web.Request) -> web.Response:
        """One run: its page, and with what its list is drawn."""
        opened = await self._open(request)
        return JsonResponse(await self._tell(opened, None))

    async def state(self, request: web.Request) -> web.Response:
        """What of a run's page is new."""
        opened = await self._open(request)
        return JsonResponse(await self._tell(opened, request.query.get("version")))

    async def list(self, request: web.Request) -> web.Response:
        """A page of the list of answers."""
        index = await self._index(request)
        query, page = read_query(request.query), _number(request.query.get("page"))
        if index is None:
            return JsonResponse({"total": 0, "count": 0, "page": 0, "pages": 1, "rows": []})
        return JsonResponse(await self._asked(request, index.page, query, page))

    async def item(self, request: web.Request) -> web.Response:
        """One answer with its details."""
        index = await self._index(request)
        name, query = request.query.get("id", ""), read_query(request.query)
        if index is None:
            return JsonResponse.refusal(409, "This answer is not indexed yet; wait for the list.")
        return JsonResponse(await self._asked(request, index.open, name, query))

    async def export(self, request: web.Request) -> web.StreamResponse:
        """All that is listed, as a file."""
        index = await self._index(request)
        kind = request.match_info["kind"]
        if index is None:
            return JsonResponse.refusal(409, "This run is not indexed yet; wait for the list.")
        pieces = index.export(read_query(request.query), kind)
        first = await asyncio.to_thread(next, pieces, b"")  # what is wrong is told before
        response = web.StreamResponse()
        response.content_type = "text/csv" if kind == "csv" else "application/jsonl"
        response.charset = "utf-8"
        response.headers["Content-Disposition"] = f'attachment; filename="answers.{kind}"'
        await response.prepare(request)
        await response.write(first)
        while piece := await asyncio.to_thread(next, pieces, b""):
            await response.write(piece)
        await response.write_eof()
        return response

    async def compare(self, request: web.Request) -> web.Response:
        """Two runs side by side."""
        runs = [await self._find(request.match_info[name]) for name in "ab"]
        for run in runs:
            if not run.is_finished:
                raise TruegroundError(f"{run.label}: {run.problem or run.state}; choose another.")
        places = [f"/run/{run.key}/" for run in runs]
        words = [str(run.path) for run in runs]
        title = f"{runs[1].label} against {runs[0].label}"
        return await self._made(title, [run.version for run in runs], "compare", *words, *places)

    async def leaderboard(self, _request: web.Request) -> web.Response:
        """All finished runs in one table."""
        found = await asyncio.to_thread(self.folders.runs)
        runs = [run for run in found if run.is_finished]
        if not runs:
            raise TruegroundError("no run here is finished")
        words = [word for run in runs for word in (str(run.path), f"/run/{run.key}/")]
        return await self._made("Leaderboard", [run.version for run in runs], "rank", *words)

    # ---- runs ----

    async def _find(self, key: str) -> FoundRun:
        run = await asyncio.to_thread(self.folders.find, key)
        if run is None:
            raise web.HTTPNotFound(reason="this run does not exist (any more)")
        return run

    async def _open(self, request: web.Request) -> _Opened:
        run = await self._find(request.match_info["key"])
        if run.problem is not None:
            raise TruegroundError(f"{run.label}: {run.problem}. Score or run again.")
        opened = self._opened.get(run.key)
        if opened is None:
            opened = self._opened[run.key] = _Opened(run)
        opened.run = run
        self._opened.move_to_end(run.key)
        for old in [one for one in self._opened.values() if not one.is_busy][:-_OPEN]:
            del self._opened[old.run.key]
        await self._look(opened)
        return opened

    async def _index(self, request: web.Request) -> RunIndex | None:
        opened = self._opened.get(request.match_info["key"])
        if opened is None or opened.index is None:
            opened = await self._open(request)
        return opened.index

    async def _look(self, opened: _Opened) -> None:
        """Take in what the index has by now; begin to make or grow it where the run has more."""
        path = opened.run.path
        try:
            found = RunFiles(path).items.stat()
        except OSError:
            return  # nothing is scored yet
        state = await asyncio.to_thread(read_state, path)
        holds = state is not None and await asyncio.to_thread(still_holds, state, path)
        if state is not None and holds and state.count:
            now = opened.index.state if opened.index else None
            if now is None or (now.generation, now.count) != (state.generation, state.count):
                opened.index = RunIndex(path, state, opened.run.manifest)
        left = found.st_size - (state.items_end if state is not None and holds else 0)
        opened.state = state if holds else None
        stamp = found.st_size, found.st_mtime_ns
        waits = opened.tried == stamp and time.monotonic() < opened.retry_at
        if opened.is_busy or (holds and left <= 0) or waits:
            return
        if not holds:
            opened.index = None
        opened.task = asyncio.create_task(self._grow(opened, stamp, left))
        if left < _SMALL:
            await opened.task
            await self._look(opened)

    async def _grow(self, opened: _Opened, stamp: tuple[int, int], left: int) -> None:
        path = opened.run.path
        opened.problem, opened.share = None, 0.0

        def told(done: int, of: int) -> None:
            opened.share = done / of if of else 0.0

        opened.tried, opened.retry_at = stamp, time.monotonic() + _RETRY_S
        try:
            if left < _SMALL:
                await asyncio.to_thread(grow, path)
            else:
                async with self._working:
                    await work("index", str(path), told=told)
            opened.retry_at = float("inf")
        except TruegroundError as error:
            opened.problem, opened.retry_at = readable(str(error)), time.monotonic() + _RETRY_S

    async def _tell(self, opened: _Opened, known: str | None) -> dict[str, Any]:
        """The page of a run where it is not known, and whether to look again."""
        run, page_version = opened.run, opened.page_version
        going = _SOON_S if opened.is_busy else _LATER_S if run.goes_on else 0
        words = []
        if run.goes_on:
            progress = await asyncio.to_thread(self.folders.progress, run)
            state = "goes on" if run.is_written else "is unfinished"
            words.append(f"This run {state}: {progress}")
        elif not run.is_finished:
            advice = run.advice
            words.append(
                f"This run is unfinished ({run.state}). The page shows what it has so far. {advice}"
            )
        if opened.is_busy and not run.goes_on:
            share = f"{100 * opened.share:.0f} %"
            words.append(f"Its answers are being indexed: {share}. Indexed answers are listed.")
        if opened.problem:
            words.append(opened.problem)
        if opened.state and not opened.is_busy:
            n = run.summary.n if run.summary else None
            words += opened.state.gaps.notices(opened.state.count, n)
        told: dict[str, Any] = {
            "version": f"{page_version}/{opened.rows_version}",
            "going": 1000 * going,
            "busy": " ".join(words) or None,
            "about": opened.index.about() if opened.index else None,
            "page": None,
        }
        if known is None or known.split("/")[0] != page_version:
            told["page"] = await asyncio.to_thread(_run_page, opened, not opened.is_busy)
            told["page"].home = "/"
        return told

    async def _asked(self, request: web.Request, call: Any, *values: Any) -> Any:
        """Ask the index in a thread; once more where it was made anew meanwhile."""
        try:
            return await asyncio.to_thread(call, *values)
        except OSError:
            opened = await self._open(request)
            if opened.index is None:
                raise web.HTTPConflict(reason="the run has changed; load the page again") from None
            return await asyncio.to_thread(getattr(opened.index, call.__name__), *values)

    # ---- pages that take long ----

    async def _made(self, title: str, versions: Sequence[str], *words: str) -> web.Response:
        """A page that a worker makes; while it does, that it does."""
        key = (*words, *versions)
        task = self._pages.get(key)
        if task is None:
            task = self._pages[key] = asyncio.create_task(self._work(*words))
            while len(self._pages) > _PAGES:
                self._pages.popitem(last=False)[1].cancel()
        done, _ = await asyncio.wait([task], timeout=1.5)
        if not done:
            waiting = "This page is being computed. Large runs take a while."
            return JsonResponse({"waiting": waiting, "title": title, "home": "/"})
        try:
            page = task.result()
        except Exception:  # of several that wait, each is told; the next one tries again
            self._pages.pop(key, None)
            raise
        return JsonResponse({"page": {**page, "home": "/"}})

    async def _work(self, *words: str) -> Any:
        async with self._working:
            return await work(*words)


def _run_page(opened: _Opened, is_whole: bool) -> Page:
    """The page of a run; charts where all answers are indexed."""
    run, index = opened.run, opened.index
    if not run.is_finished or run.summary is None:
        report = RunReport({}, run.manifest.raw, run.path)
        return report.unfinished_page(has_answers=index is not None)
    numbers = _IndexScores(index) if index is not None and is_whole else {}
    report = RunReport(run.summary.raw, run.manifest.raw, run.path)
    return report.page(numbers).for_viewer()


class _IndexScores(dict[str, Any]):
    """Metric → its scores; each is read when it is asked for."""

    def __init__(self, index: RunIndex) -> None:
        super().__init__(dict.fromkeys(index.state.metrics))
        self._index = index

    def __getitem__(self, name: str) -> Any:
        return self._index.scores(name)

    def get(self, name: str, default: Any = None) -> Any:
        """The scores, or the default where there are none."""
        return self._index.scores(name) if name in self else default


def _number(text: str | None) -> int:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 9 else 0


@cache
def _assets() -> dict[str, tuple[str, str]]:
    fed = (resources.files("trueground.view") / "assets" / "view.js").read_text("utf-8")
    return viewer_assets(fed)


async def _asset(request: web.Request) -> web.Response:
    found = _assets().get(request.match_info["name"])
    if found is None:
        return JsonResponse.refusal(404, "not found")
    return web.Response(text=found[0], content_type=found[1], charset="utf-8")


class RunViewer:
    """The server of `trueground view`, which only this machine can reach.

    Attributes:
        url: The link to the list of runs, or to the only run.
    """

    def __init__(
        self,
        paths: Sequence[Path],
        port: int,
        *,
        takes_free_port: bool = False,
        has_token: bool = True,
    ) -> None:
        """Listen at a port.

        Args:
            paths: Runs, and folders that hold them.
            port: The port; 0 takes a free one.
            takes_free_port: Take another one if the port is in use.
            has_token: Let in only who has the link. Else all accounts of the machine can read the
                runs.

        Raises:
            UsageError: The port is in use.
        """
        self._paths = list(paths)
        try:
            self._server = WebServer.bind(LOOPBACK, port)
        except UsageError:
            if not takes_free_port:
                raise
            self._server = WebServer.bind(LOOPBACK, 0)
        address = self._server.address
        self._access = LinkAccess(address) if has_token else None
        first = "/"
        if len(self._paths) == 1 and RunFiles(self._paths[0]).is_run:
            first = f"/run/{RunFolders(self._paths).runs()[0].key}/"
        self.url = self._access.link(first) if self._access else f"{address.url}{first}"

    def run(self, *, opens_browser: bool) -> None:
        """Serve until Ctrl-C, with the first page in a browser if `opens_browser`."""
        app = _make_app(self._server, self._paths, self._access)
        self._server.run(app, open_url=self.url if opens_browser else None)


def _make_app(
    server: WebServer, paths: Sequence[Path], access: LinkAccess | None
) -> web.Application:
    app = server.make_app(*([] if access is None else [access.check]))
    view = ViewServer(paths)

    async def begin(_app: web.Application) -> None:
        await asyncio.to_thread(IndexCache().forget_gone)

    app.on_startup.append(begin)
    run = "/run/{key}/"
    pair = "/compare/{a}/{b}/"
    for path in ("/", run, run + RunFiles.PAGE_NAME, pair, "/leaderboard/"):
        app.router.add_get(path, view.frame)
    app.router.add_get("/assets/{name}", _asset)
    app.router.add_get("/page", view.runs)
    app.router.add_get("/state", view.runs)
    app.router.add_get(run + "page", view.run)
    app.router.add_get(run + "state", view.state)
    app.router.add_get(run + "list", view.list)
    app.router.add_get(run + "item", view.item)
    app.router.add_get(run + "answers.{kind:csv|jsonl}", view.export)
    app.router.add_get(pair + "page", view.compare)
    app.router.add_get("/leaderboard/page", view.leaderboard)
    return app
