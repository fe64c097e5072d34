"""The server as a browser meets it, and as those who should not be in it do."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from tests.wings.labeling.web.labeling import Browser, Served, make_project, serving

from trueground.view.server import LOOPBACK, MOST_BYTES, WebServer
from trueground.wings.labeling.web import people, throttle
from trueground.wings.labeling.web.app import LabelServer
from trueground.wings.labeling.web.throttle import LoginThrottle

LEADS = (
    ("GET", "overview"),
    ("GET", "agreement"),
    ("GET", "judge"),
    ("GET", "disputes"),
    ("GET", "export?what=answers"),
    ("GET", "export?what=labels"),
    ("GET", "export?what=records"),
    ("GET", "backup"),
    ("POST", "people"),
    ("POST", "people/1/link"),
    ("POST", "people/1/withdraw"),
    ("POST", "people/1/forget"),
    ("POST", "decide"),
    ("POST", "calibrate"),
)
OWN = (
    ("GET", "me"),
    ("GET", "task/1"),
    ("GET", "mine"),
    ("GET", "history/1"),
    ("POST", "next"),
    ("POST", "renew"),
    ("POST", "label"),
    ("POST", "leave"),
)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("served")
    opened = make_project(str(folder / "labels.db"), folder, 8, title="Bridges")
    with serving(opened) as started:
        yield started


@pytest.fixture
def served_on(place: str, tmp_path: Path) -> Iterator[Served]:
    """A server on each kind of database."""
    with serving(make_project(place, tmp_path)) as started:
        yield started


# What people do


def test_link_signs_person_in(served_on: Served) -> None:
    link = served_on.lead.post("/api/lead/people", {"name": "Ann"})["link"]
    assert link.startswith(f"{served_on.address.url}/#token=")
    ann = served_on.browser()
    me = ann.enter(link.partition("#token=")[2])
    assert (me["name"], me["role"]) == ("Ann", "annotator")
    assert me["project"]["tasks"] == 6
    assert me["project"]["kinds"][0]["name"] == "support"
    assert me["progress"] == {"done": 0, "skipped": 0, "unclear": 0, "left": 6, "seconds": None}
    assert ann.get("/api/me") == me
    task = ann.post("/api/next")["task"]
    said = ann.save(task["task"], "partially", comment="seven?").json
    assert said["label"]["values"] == {"support": "partially"}
    assert said["progress"]["done"] == 1
    assert ann.get("/api/mine")["labels"][0]["comment"] == "seven?"
    assert ann.get(f"/api/task/{task['task']}")["label"]["author"] == "Ann"
    ann.post("/api/leave")
    assert ann.ask("GET", "/api/me").status == 401


def test_annotators_see_no_model_no_score_and_no_id(served: Served) -> None:
    ann = served.invite("Blind Ann")
    told = json.dumps([ann.get("/api/me"), ann.post("/api/next"), ann.get("/api/mine")])
    for hidden in ("rank", "score", "source", "drawn", "model", "records-8", "~"):
        assert hidden not in told.replace('"You are not told who wrote the response."', ""), hidden


def test_save_invalid_values_returns_errors_by_field(served: Served) -> None:
    ann = served.invite("Wrong Ann")
    task = ann.post("/api/next")["task"]["task"]
    reply = ann.save(task, "maybe")
    assert reply.status == 422
    assert reply.json["fields"]["support"].startswith('found str "maybe"; expected fully')
    for more in ({"seconds": 1e9}, {"comment": "x" * 10_001}):
        reply = ann.save(task, "fully", **more)
        assert reply.status == 422
        assert reply.json["fields"].keys() == more.keys()


def test_save_database_error_is_not_acknowledged(tmp_path: Path) -> None:
    path = tmp_path / "labels.db"
    with serving(make_project(str(path), tmp_path)) as served:
        ann = served.invite("Ann")
        task = ann.post("/api/next")["task"]["task"]
        with closing(sqlite3.connect(path)) as other:
            other.execute("CREATE TRIGGER full BEFORE INSERT ON labels BEGIN "
                          "SELECT RAISE(FAIL, 'database or disk is full'); END")  # fmt: skip
            other.commit()
            reply = ann.save(task, "fully", key="kept-by-the-page")
            assert reply.status == 503
            assert "nothing was saved" in reply.json["error"]
            other.execute("DROP TRIGGER full")
            other.commit()
        assert ann.save(task, "fully", key="kept-by-the-page").status == 200


def test_many_pages_at_once(served_on: Served) -> None:
    people = [served_on.invite(f"person {n}") for n in range(6)]
    with ThreadPoolExecutor(6) as threads:
        done = list(threads.map(lambda one: one.label_all(lambda _: "not"), people))
    while sum(map(len, done)) < 12:  # who was told to wait asks again
        done = [own + one.label_all(lambda _: "not") for one, own in zip(people, done, strict=True)]
    assert sorted(task for own in done for task in own) == sorted([*range(1, 7)] * 2)


# Who may not


@pytest.mark.parametrize(("method", "path"), [*OWN, *((m, f"lead/{p}") for m, p in LEADS)])
def test_request_without_session_is_refused(served: Served, method: str, path: str) -> None:
    stranger = served.browser()
    stranger.csrf = served.lead.csrf
    for cookie in ("", f"trueground_{served.address.port}=guess", "other=1"):
        stranger.cookie = cookie
        body = b"{}" if method == "POST" else None
        reply = stranger.ask(method, f"/api/{path}", raw=body)
        assert reply.status in (401, 403), reply
        assert b"Bridge" not in reply.body


def test_all_routes_but_the_empty_page_need_a_session(tmp_path: Path) -> None:
    """Also those that are added later; on loopback, too, which all accounts share."""
    opened = make_project(str(tmp_path / "labels.db"), tmp_path, title="Bridges")
    with opened.database as database:
        with WebServer.bind(LOOPBACK, 0) as bound:
            app = LabelServer(database, opened.project, bound).make_app()
        routes = {(route.method, route.resource.canonical) for route in app.router.routes()}
    public = {("GET", "/"), ("GET", "/assets/{name}"), ("POST", "/api/enter")}
    public |= {("HEAD", path) for method, path in public if method == "GET"}
    assert public < routes
    with serving(make_project(str(tmp_path / "served.db"), tmp_path, title="Bridges")) as served:
        stranger = served.browser()
        for method, path in sorted(routes):
            body = None if method in ("GET", "HEAD") else b"{}"
            reply = stranger.ask(method, path.replace("{number}", "1"), raw=body)
            if (method, path) in public:
                assert b"Bridge" not in reply.body
            else:
                assert reply.status in (401, 403), (method, path)
        assert stranger.ask("POST", "/api/enter", {"token": ""}).status == 401


@pytest.mark.parametrize(("method", "path"), LEADS)
def test_annotators_are_kept_from_the_leads_pages(served: Served, method: str, path: str) -> None:
    ann = served.invite(f"curious {method} {path}")
    reply = ann.ask(method, f"/api/lead/{path}", raw=b"{}" if method == "POST" else None)
    assert reply.status == 403
    assert reply.json == {"error": "this is for leads"}


def test_annotators_are_kept_from_each_others_tasks(served: Served) -> None:
    ann, ben = served.invite("private Ann"), served.invite("private Ben")
    task = ann.post("/api/next")["task"]["task"]
    ann.save(task, "not", comment="my secret")
    others = [number for number in range(12) if number != task]
    for number in (task, *others):
        for path in (f"/api/task/{number}", f"/api/history/{number}"):
            reply = ben.ask("GET", path)
            assert reply.status == 404, (path, reply)
            assert b"secret" not in reply.body
    assert ben.save(task, "fully").status == 404
    assert ben.ask("POST", "/api/renew", {"task": task}).status == 404
    assert ann.save(others[-1], "fully").status == 404
    assert [one["comment"] for one in served.lead.get(f"/api/history/{task}")["labels"]] == [
        "my secret"
    ]


@pytest.mark.parametrize("csrf", ["", "wrong", "ünsafe".encode().decode("latin-1")])
@pytest.mark.parametrize("path", ["next", "renew", "label", "leave"])
def test_no_change_without_the_pages_token(served: Served, path: str, csrf: str) -> None:
    ann = served.invite(f"Ann of {path} {csrf.encode().hex()}")
    ann.csrf = csrf
    assert ann.ask("POST", f"/api/{path}", {"task": 1}).status == 403


def test_the_token_of_another_session_is_none(served: Served) -> None:
    ann, ben = served.invite("crossing Ann"), served.invite("crossing Ben")
    ann.csrf = ben.csrf
    assert ann.ask("POST", "/api/next", {}).status == 403


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "labels.evil.example"},
        {"Host": "127.0.0.1.evil.example"},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Sec_Fetch_Site": "cross-site"},
    ],
)
def test_other_sites_change_nothing(served: Served, headers: dict[str, str]) -> None:
    reply = served.lead.ask("POST", "/api/lead/people", {"name": "Eve"}, **headers)
    assert reply.status in (403, 421)
    assert "Eve" not in json.dumps(served.lead.get("/api/lead/overview"))


def test_another_site_cannot_use_a_link(served: Served) -> None:
    reply = served.browser().ask(
        "POST", "/api/enter", {"token": "x"}, Origin="https://evil.example"
    )
    assert reply.status == 403


def test_the_cookie_is_out_of_reach_of_scripts_and_other_sites(served: Served) -> None:
    parts = {part.strip() for part in served.lead.set_cookie.split(";")}
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= parts
    assert "Secure" not in parts


def test_behind_tls_the_cookie_is_secure(tmp_path: Path) -> None:
    opened = make_project(str(tmp_path / "labels.db"), tmp_path)
    with serving(opened, "https://labels.example.org") as served:
        assert "Secure" in served.lead.set_cookie
        assert served.lead.set_cookie.startswith("__Host-")
        invited = served.lead.post("/api/lead/people", {"name": "Ann"})
        assert invited["link"].startswith("https://labels.example.org/#token=")


def test_withdrawn_people_are_out_at_once(served_on: Served) -> None:
    ann = served_on.invite("Ann")
    link = served_on.lead.post("/api/lead/people/2/link")["link"]
    assert ann.ask("GET", "/api/me").status == 401  # a new link ends the sessions of the old
    ann.enter(link.partition("#token=")[2])
    task = ann.post("/api/next")["task"]["task"]
    served_on.lead.post("/api/lead/people/2/withdraw")
    assert ann.save(task, "fully").status == 401
    again = served_on.browser().ask("POST", "/api/enter", {"token": link.partition("#token=")[2]})
    assert again.status == 401
    ben = served_on.invite("Ben")  # what Ann held is free
    cleo = served_on.invite("Cleo")
    assert len(ben.label_all(lambda _: "not")) == len(cleo.label_all(lambda _: "not")) == 6


def test_a_forgotten_person_keeps_the_labels_only(served_on: Served) -> None:
    ann = served_on.invite("Annabel")
    ann.label_all(lambda _: "not")
    served_on.lead.post("/api/lead/people/2/forget")
    told = served_on.lead.ask("GET", "/api/lead/export?what=answers").body
    told += json.dumps(served_on.lead.get("/api/lead/overview")).encode()
    assert b"Annabel" not in told
    assert told.count(b'"annotator":"annotator-2"') == 6
    assert served_on.lead.ask("POST", "/api/lead/people/2/link", {}).status == 404


# What is sent


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"{",
        b"null",
        b'{"task": 1}',
        b'{"task": "1", "key": "12345678", "state": "done", "values": {}}',
        b'{"task": NaN, "key": "12345678", "state": "done", "values": {}}',
        b'{"task": 1, "key": "12345678", "state": "gone", "values": {}}',
        b'{"task": 1, "key": "short", "state": "done", "values": {}}',
        b'{"task": 1, "key": "\xc3\xbcberlang", "state": "done", "values": {}}',
        b'{"task": 1, "key": "12345678", "state": "done", "values": []}',
        b'{"task": 1, "key": "12345678", "state": "done", "values": {"support": '
        + b"[" * 100_000 + b"]" * 100_000 + b"}}",
        b'{"task": 1, "key": "12345678", "state": "done", "values": {}, "seconds": 1e999}',
        b'{"task": 1, "key": "1234\\ud800678", "state": "done", "values": {}}',
        b"\xff\xfe{}",
    ],
)  # fmt: skip
def test_malformed_request_is_refused_with_reason(served: Served, body: bytes) -> None:
    reply = served.lead.ask("POST", "/api/label", raw=body)
    assert reply.status in (400, 422), (body[:60], reply)
    assert reply.json["error"]


@pytest.mark.parametrize("task", [0, -1, 10**12, 10**30])
def test_numbers_that_no_task_has(served: Served, task: int) -> None:
    reply = served.lead.save(task, "fully")
    assert reply.status in (400, 404)
    assert served.lead.ask("GET", f"/api/task/{task}").status == 404


@pytest.mark.parametrize("said", [10**400, 1e308, {"a": 1}, "\0", "\u202e", ["x"] * 5000])
def test_hostile_values_are_refused(served: Served, said: Any) -> None:
    task = served.lead.post("/api/next")["task"]["task"]
    reply = served.lead.save(task, said)
    assert reply.status in (400, 422), reply
    assert len(reply.body) < 2000


def test_zeros_in_a_comment_are_left_out(served_on: Served) -> None:
    task = served_on.lead.post("/api/next")["task"]["task"]
    said = served_on.lead.save(task, "fully", comment="a\0b <script>alert(1)</script>").json
    assert said["label"]["comment"] == "ab <script>alert(1)</script>"


def test_more_than_a_label_is_refused(served: Served) -> None:
    body = b'{"token": "' + b"x" * MOST_BYTES + b'"}'
    for path in ("/api/enter", "/api/label"):
        assert served.lead.ask("POST", path, raw=body).status == 413


@pytest.mark.parametrize(
    "path", ["/assets/../server.py", "/assets/..%2fserver.py", "/assets/none.js", "/api/none"]
)
def test_there_are_no_other_files(served: Served, path: str) -> None:
    assert served.lead.ask("GET", path).status == 404


def test_nothing_runs_but_our_scripts(served: Served) -> None:
    for path in ("/", "/api/me", "/assets/viewer.css", "/api/lead/backup"):
        reply = served.lead.ask("GET", path)
        policy = reply.headers["Content-Security-Policy"]
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy
        assert reply.headers["X-Content-Type-Options"] == "nosniff"
        assert reply.headers["Cache-Control"] == "no-store"
    assert served.lead.ask("GET", "/api/lead/backup").body.startswith(b"SQLite format 3")


# How fast tokens can be tried


def guess(browser: Browser, token: str = "x" * 43) -> int:
    return browser.ask("POST", "/api/enter", {"token": token}).status


def test_invalid_tokens_are_delayed_without_lockout(tmp_path: Path) -> None:
    with serving(make_project(str(tmp_path / "labels.db"), tmp_path)) as served:
        link = served.lead.post("/api/lead/people", {"name": "Ann"})["link"]
        with mock.patch.object(throttle, "_MAX_DELAY_SECONDS", 0.5):
            start = time.monotonic()
            assert [guess(served.browser()) for _ in range(5)] == [401] * 5
            assert time.monotonic() - start > 0.9
            with ThreadPoolExecutor(8) as threads:  # at once they are sent away
                codes = list(threads.map(lambda _: guess(served.browser()), range(8)))
            assert 429 in codes
            assert set(codes) <= {401, 429}

        # A right token is let in at once, however many wrong ones wait at its address.
        token = link.partition("#token=")[2]
        with (
            mock.patch.object(throttle, "_MAX_DELAY_SECONDS", 3.0),
            ThreadPoolExecutor(6) as threads,
        ):
            guesses = [threads.submit(guess, served.browser()) for _ in range(6)]
            time.sleep(0.3)
            assert guess(served.browser(), token) == 200
            assert sum(not one.done() for one in guesses) >= 3


def test_behind_a_proxy_addresses_are_those_that_it_tells(tmp_path: Path) -> None:
    opened = make_project(str(tmp_path / "labels.db"), tmp_path)
    with serving(opened, "https://labels.example.org") as served:
        wrong = {"token": "x" * 43}
        start = time.monotonic()
        for number in range(8):
            told = (
                f"198.51.100.9, 203.0.113.{number}"  # what stands first, anybody may have written
            )
            reply = served.browser().ask("POST", "/api/enter", wrong, X_Forwarded_For=told)
            assert reply.status == 401
        assert time.monotonic() - start < 15  # of one address the guesses would wait 31 s


def test_each_wrong_token_waits_longer_and_time_forgets(monkeypatch: pytest.MonkeyPatch) -> None:
    login, now = LoginThrottle(), 1000.0
    monkeypatch.setattr(people.time, "monotonic", lambda: now)
    waits = []
    for _ in range(12):
        waits.append(login.delay_seconds("a"))
        login.count_invalid("a")
    assert waits[:6] == [0, 0, 0, 1, 2, 4]
    assert waits[-1] == 16
    assert login.delay_seconds("b") == 0
    for _ in range(2000):
        login.count_invalid("a")
    assert login.delay_seconds("a") == 16
    now += 1000
    assert login.delay_seconds("a") == 0


def test_many_addresses_slow_everybody_a_little(monkeypatch: pytest.MonkeyPatch) -> None:
    login, now = LoginThrottle(), 1000.0
    monkeypatch.setattr(people.time, "monotonic", lambda: now)
    monkeypatch.setattr(throttle, "_MAX_ADDRESSES", 100)
    for number in range(1000):
        login.count_invalid(f"address {number}")
    assert login.delay_seconds("somebody") == 0.5
    assert len(login._invalid) == 100
    now += 61
    assert login.delay_seconds("somebody") == 0
