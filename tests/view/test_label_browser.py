"""One screen made for speed: every task with keys alone, in a real browser on a real server."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.chromium import Chromium
from tests.reports.browser import CONTRAST, WIDE, emulate, needs_a_browser
from tests.view.label_fixture import (
    HOSTILE,
    Here,
    Person,
    Served,
    person,
    serving,
    serving_here,
    write_tasks,
)

pytest.importorskip("sqlalchemy")
pytestmark = needs_a_browser

PASSAGES = [
    "The bridge at Umber has seven arches. It was built by the guild of masons in 1644.",
    "Umber is a market town on the river Senn.",
]
RESPONSE = "The bridge at Umber, built in 1655 by Per Holt, has seven arches."
SUPPORT = {"question": "Who built the bridge?", "contexts": PASSAGES, "response": RESPONSE}
CANDIDATE = {"question": "Who built it?", "answer": "the guild", "contexts": PASSAGES * 6}
QUALITY = {"question": "Who?", "paragraph": PASSAGES[0], "knowledge": ["Umber: arches: 7"]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


def put(folder: Path, *tasks: tuple[str, dict[str, Any]]) -> Path:
    return write_tasks(folder / "tasks.jsonl", tasks)


@pytest.fixture
def killable() -> None:
    """For tests that end the server, and begin it again."""


@pytest.fixture
def served(folder: Path, request: pytest.FixtureRequest) -> Iterator[Served | Here]:
    tasks = put(folder, *request.param)
    if "killable" in request.fixturenames:
        with serving(folder, "labels.db", tasks, "--overlap", 1) as process:
            yield process
    else:
        with serving_here(folder / "labels.db", tasks) as found:
            yield found


@pytest.fixture
def ada(served: Served | Here, browser: Chromium) -> Iterator[Person]:
    """Somebody at the browser; each server is an origin of its own, with nothing kept of others."""
    found = Person(browser)
    browser.messages()
    found.enter(served.lead, begin=True)
    browser.dialogs.clear()
    yield found
    emulate(browser, "light")
    noise = [said for said in browser.messages() if "Failed to load resource" not in said]
    assert noise == []


def one(kind: str, shown: dict[str, Any], many: int = 1) -> Any:
    tasks = [
        (kind, {**shown, "question": f"{shown.get('question', '')} ({k})"}) for k in range(many)
    ]
    return pytest.mark.parametrize("served", [tasks], indirect=True)


def labels(who: Person) -> list[dict[str, Any]]:
    return list(who.ask("/api/mine?page=1")["labels"])


@one("support", SUPPORT, 4)
def test_undo_skip_unclear_and_change(ada: Person) -> None:
    ada.press("1", "3", "u")
    assert ada.find(".option[aria-pressed=true]").text.endswith("fully")
    ada.save()
    ada.save("s")
    ada.press("x", "Enter")  # not without a word
    assert "unclear" in ada.said
    ada.write("which bridge?")
    ada.save()
    ada.press("Enter")  # nothing is chosen
    assert "1 to 3" in ada.find(".wrong").text
    ada.press("2", "u", "u")  # the choice, then the task before
    ada.wait("location.hash.startsWith('#/task/')")
    ada.wait("document.querySelector('.comment textarea')?.value === 'which bridge?'")
    ada.press("1")  # it is clear after all
    ada.save()
    ada.wait("location.hash === '#/'")
    ada.press("2")
    ada.save()
    assert ada.progress.startswith("3 done, 1 skipped, 0 left")
    found = labels(ada)
    assert [one["state"] for one in found].count("done") == 3
    changed = next(one for one in found if one["comment"])
    history = ada.ask(f"/api/history/{changed['task']}")["labels"]
    assert sorted(one["state"] for one in history) == ["done", "unclear"]
    assert all(one["seconds"] < 60 for one in found)


@one("candidate", CANDIDATE)
def test_fields_appear_as_answers_allow(ada: Person) -> None:
    names = "return [...document.querySelectorAll('.field b')].map((b) => b.textContent)"
    assert ada.script(names) == ["keep"]
    ada.press("1")
    assert ada.script(names)[1:] == ["minimal", "documents", "form", "span", "answers"]
    ada.press("2", "1", "1", "ArrowDown")  # 2 and 11: the first 1 waits for a second
    ada.press("1", "2")  # single, free-form
    ada.write("the guild of masons")
    ada.press("Escape", "ArrowDown")
    ada.write("the guild\nguild of masons")
    ada.press("Escape")
    ada.save()
    assert labels(ada)[0]["values"] == {
        "keep": "yes",
        "minimal": ["2", "11"],
        "documents": "single",
        "form": "free-form",
        "span": "the guild of masons",
        "answers": ["the guild", "guild of masons"],
    }


@one("quality", QUALITY)
def test_none_of_several_and_scales(ada: Person) -> None:
    ada.press("1", "0", "4", "9")
    assert "Option 9 does not exist" in ada.said
    ada.press("5")
    ada.save()
    values = {"authenticity": "yes", "relevance": [], "naturalness": 4, "significance": 5}
    assert labels(ada)[0]["values"] == values


@one("span", {**SUPPORT, "response": "\U0001f9ea " + RESPONSE})
def test_words_are_marked_by_keys_mouse_and_touch(ada: Person) -> None:
    kept = "return JSON.parse(Object.entries(localStorage).find(([k]) => /:draft:/.test(k))[1])"

    def spans() -> list[tuple[str, str]]:
        text = "\U0001f9ea " + RESPONSE
        found = ada.script(kept)["values"]["spans"]
        return [(text[one["start"] : one["end"]], one["type"]) for one in found]

    def rect(word: str) -> list[float]:
        script = """const found = [...document.querySelectorAll('[data-w]')]
            .find((w) => w.textContent === arguments[0]).getBoundingClientRect();
            return [found.left + found.width / 2, found.top + found.height / 2];"""
        return list(ada.script(script, word))

    # keys: the mark of a code point beyond 16 bits does not shift what follows
    ada.press("ArrowRight", "ArrowRight", "ArrowRight")
    ada.press("ArrowRight", "ArrowRight", shift=True)
    ada.press("1")
    assert spans() == [("bridge at Umber", "contradiction")]
    ada.press("Backspace")
    assert spans() == []
    # the mouse
    ada.browser.mouse("mousePressed", rect("built"), 1)
    ada.browser.send(
        "Input.dispatchMouseEvent", type="mouseMoved", x=rect("1655")[0], y=rect("1655")[1],
        button="left", buttons=1,
    )  # fmt: skip
    ada.browser.mouse("mouseReleased", rect("1655"), 1)
    ada.find(".option:nth-child(1)").click()
    assert spans() == [("built in 1655", "contradiction")]
    # touch: the first word, the last word, the type
    ada.browser.resize(390, 844, phone=True)
    for word in ("Per", "Holt"):
        x, y = rect(word)
        ada.browser.send(
            "Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": x, "y": y}]
        )
        ada.browser.send("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])
        ada.browser.settle()
    ada.press("2")
    assert spans()[1] == ("Per Holt", "not-in-contexts")
    ada.find(".marked button").click()
    assert spans() == [("Per Holt", "not-in-contexts")]
    ada.press("u")
    assert len(spans()) == 2
    ada.save()
    assert len(labels(ada)[0]["values"]["spans"]) == 2
    ada.go("#/mine")
    ada.wait("document.querySelector('.answer-row')")
    assert "“Per Holt” not-in-contexts" in ada.find(".answer-row").text


@pytest.mark.usefixtures("killable")
@one("support", SUPPORT, 3)
def test_a_label_waits_while_the_server_is_away(ada: Person, served: Served) -> None:
    served.kill()
    ada.press("1", "Enter")
    ada.wait("document.querySelector('.banner')")
    assert "not saved yet" in ada.find(".banner").text.lower()
    ada.press("2", "Enter", "Enter")  # nothing more can happen to it
    served.start()
    before = ada.turn
    ada.script("document.querySelector('.banner button')?.click()")  # it may have gone on by itself
    ada.browser.wait_until(lambda: ada.turn not in (before, "loading"))
    found = labels(ada)
    assert [one["values"] for one in found] == [{"support": "fully"}]
    assert len(ada.ask(f"/api/history/{found[0]['task']}")["labels"]) == 1
    # the browser is closed while a label waits
    served.kill()
    ada.press("3", "Enter")
    ada.wait("document.querySelector('.banner')")
    ada.browser.get("about:blank")
    assert ada.browser.dialogs == ["beforeunload"]
    served.start()
    ada.browser.get(served.url)
    ada.wait("/2 done/.test(document.querySelector('.progress')?.textContent)")
    assert len(labels(ada)) == 2
    assert "unsent" not in ada.script("return Object.keys(localStorage).join()")


@one("support", SUPPORT, 2)
def test_a_lost_reply_makes_no_second_label(ada: Person) -> None:
    lose = """const real = window.fetch; let lost = 0;
        window.fetch = async (path, options) => {
            const reply = await real(path, options);
            if (path === '/api/label' && lost++ < 2) throw new TypeError('the network is gone');
            return reply;
        }"""
    ada.script(lose)
    before = ada.turn
    ada.press("3", "Enter")
    for _ in range(2):
        ada.wait("document.querySelector('.banner button')")
        ada.script("dispatchEvent(new Event('online'))")
    ada.browser.wait_until(lambda: ada.turn not in (before, "loading"))
    found = labels(ada)
    assert [one["values"] for one in found] == [{"support": "not"}]
    assert len(ada.ask(f"/api/history/{found[0]['task']}")["labels"]) == 1


@one("support", SUPPORT)
def test_time_counts_only_while_the_page_is_seen(ada: Person) -> None:
    ada.press("1")
    state = "Object.defineProperty(document, 'visibilityState', {value: arguments[0]})"
    ada.script(state.replace("}", ", configurable: true}"), "hidden")
    time.sleep(2.5)
    ada.save()
    assert labels(ada)[0]["seconds"] < 2


@one("support", SUPPORT, 4)
def test_double_clicks_and_two_tabs_make_one_label(ada: Person) -> None:
    ada.press("1")
    ada.script("const b = document.querySelector('.primary'); b.click(); b.click()")
    ada.wait("/1 done/.test(document.querySelector('.progress').textContent)")
    ada.wait("document.querySelector('.bench')?.ariaBusy !== 'true'")
    assert ada.progress.startswith("1 done")
    same = """const number = (page) => page.document.querySelector('.bench')?.dataset.turn
        .split('-')[0]; return number(window) !== undefined && number(window) === number(other)"""
    ada.script("window.other = window.open(location.href)")
    ada.browser.wait_until(lambda: ada.script(same))  # the task that this person holds
    ada.press("2")
    ada.save()
    ada.browser.wait_until(lambda: ada.script(same))  # the other tab has gone on by itself
    ada.script("other.close()")
    assert [len(ada.ask(f"/api/history/{one['task']}")["labels"]) for one in labels(ada)] == [1, 1]


@one("support", SUPPORT, 2)
def test_an_ended_session_keeps_what_was_typed(ada: Person, served: Served) -> None:
    ada.press("2", "c")
    ada.write("a thought")
    ada.press("Escape")
    leave = """const ended = arguments[0];
        const post = (me) => ({method: 'POST', headers: {'X-CSRF-Token': me.csrf}});
        fetch('/api/me').then((r) => r.json()).then((me) => fetch('/api/leave', post(me)))
            .then((reply) => ended(reply.status));"""
    ada.browser.refresh()
    ada.wait("document.querySelector('.option[aria-pressed=true]')")
    assert ada.browser.execute_async_script(leave) == 200
    ada.press("Enter")
    ada.wait("/session has ended/.test(document.querySelector('.banner')?.textContent)")
    assert ada.find(".option[aria-pressed=true]").text.endswith("partially")
    ada.browser.get(served.lead)
    ada.wait("/1 done/.test(document.querySelector('.progress')?.textContent)")
    assert labels(ada)[0]["comment"] == "a thought"


@one("support", {"question": HOSTILE, "contexts": [HOSTILE, HOSTILE], "response": HOSTILE})
def test_hostile_texts_never_run(ada: Person) -> None:
    assert ada.shown("the response") == HOSTILE
    ada.press("f", "F", "x")
    ada.write(HOSTILE)
    ada.save()
    ada.go("#/mine")
    ada.wait("document.querySelector('.answer-row')")
    ada.find(".answer-row button").click()
    ada.wait("document.querySelector('.history')")
    assert ada.script("return document.title").startswith("My labels")
    assert (
        ada.script("return document.querySelectorAll('#app img, #app svg, #app script').length")
        == 0
    )
    own = ("http://127.0.0.1:", "data:,", "about:blank")
    assert all(url.startswith(own) for url in ada.browser.requests())


@one("support", SUPPORT)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_can_be_read_anywhere(ada: Person, scheme: str) -> None:
    emulate(ada.browser, scheme)
    ada.press("2", "f")
    for width in (1280, 390, 320):
        ada.browser.resize(width, 800, phone=width < 600)
        ada.browser.settle()
        assert ada.script(WIDE) == 0
        assert ada.script(CONTRAST) >= 4.5
    ada.press("?")
    assert ada.script(CONTRAST) >= 4.5
    ada.press("Escape", "Tab")
    tree = ada.browser.send("Accessibility.getFullAXTree")["nodes"]
    used = [
        node for node in tree if node["role"]["value"] in ("button", "textbox", "link", "group")
    ]
    assert len(used) > 10
    assert all(node["name"]["value"] for node in used if not node["ignored"])
    focus = "return getComputedStyle(document.activeElement).outlineStyle"
    assert ada.script(focus) == "solid"


@one("support", SUPPORT, 3)
def test_a_lost_lease_and_a_link_opened_again(ada: Person, served: Served, folder: Path) -> None:
    ada.script("window.other = window.open(arguments[0])", served.lead)  # another session
    ada.browser.wait_until(
        lambda: ada.script("return other.document.querySelector('.top') !== null")
    )
    ada.script("other.close()")
    ada.press("1")
    ada.save()
    assert ada.progress.startswith("1 done")
    held = ada.turn.partition("-")[0]
    with sqlite3.connect(folder / "labels.db") as database:  # long ago, and somebody else was here
        database.execute("insert into people (name, role, created) values ('Eve', 'annotator', 0)")
        database.execute(
            "update work set person = (select number from people where name = 'Eve'), "
            "until = until + 600 where task = ?",
            [held],
        )
    ada.press("2")
    ada.save()
    assert "not saved" in ada.find(".warning").text
    ada.press("2")
    ada.save()
    assert ada.progress.startswith("2 done")
    assert not ada.browser.find_elements("css selector", ".warning")


@one("support", SUPPORT)
def test_a_link_stays_in_the_address_until_it_has_let_in(ada: Person, served: Served) -> None:
    assert "token" not in str(ada.script("return location.href"))
    link = f"{served.url}#token={'x' * 43}"
    ada.browser.get("about:blank")
    ada.browser.get(link)
    ada.wait("/is invalid/.test(document.body.innerText)")
    assert ada.script("return location.href") == link


@one("support", SUPPORT)
def test_damaged_browser_storage_is_ignored(ada: Person) -> None:
    ada.press("2")
    damage = """for (const name of Object.keys(localStorage)) {
            if (name === 'trueground:theme') continue;
            localStorage.setItem(name, '{');
            localStorage.setItem(name.split(':').slice(0, 3).join(':') + ':unsent:7', '{"a"');
        }
        return Object.keys(localStorage).length"""
    assert ada.script(damage) >= 3
    ada.browser.refresh()
    ada.wait("document.querySelector('dialog[open]')")  # that they were read is not known either
    ada.press("Escape")
    ada.wait("!document.querySelector('dialog') && document.querySelector('.option')")
    ada.press("3")
    ada.save()
    assert "unsent" not in ada.script("return Object.keys(localStorage).join()")
    assert [one["values"] for one in labels(ada)] == [{"support": "not"}]


@one("support", {**SUPPORT, "contexts": PASSAGES * 6})
def test_other_keyboards_and_scrolling(ada: Person) -> None:
    def press(key: str, code: str) -> None:
        ada.browser.send("Input.dispatchKeyEvent", type="keyDown", text=key, key=key, code=code)
        ada.browser.send("Input.dispatchKeyEvent", type="keyUp", key=key, code=code)
        ada.browser.settle()

    press("é", "Digit2")  # French
    assert ada.find(".option[aria-pressed=true]").text.endswith("partially")
    press("г", "KeyU")  # Russian
    assert ada.said == "Undone."
    ada.browser.resize(1280, 260)
    where = "return document.querySelector('.sources').scrollTop"
    ada.press("ArrowDown")
    assert ada.script(where) == 60
    ada.press(" ", "ArrowUp", "ArrowUp", "ArrowUp", "ArrowUp", "ArrowUp", "ArrowUp")
    assert ada.script(where) == 0


@pytest.mark.long
@one("support", SUPPORT, 100)
def test_a_hundred_tasks_without_the_mouse(ada: Person) -> None:
    began = time.monotonic()
    for _ in range(100):
        ada.press("f", "2")
        ada.save()
    assert ada.turn == "end"
    assert ada.progress.startswith("100 done, 0 left")
    assert time.monotonic() - began < 60


@one("support", SUPPORT, 2)
def test_a_lead_invites_and_sends_away(ada: Person, folder: Path) -> None:
    """Ada is the lead here."""
    ada.go("#/people")
    ada.wait("document.querySelector('form.filters input')")
    ada.find("form.filters input").click()
    ada.write(HOSTILE[:60])
    ada.press("Enter")
    ada.wait("document.querySelector('.copied')")
    link = str(ada.script("return document.querySelector('.copied input').value"))
    with person(folder / "eve", link) as eve:
        for page in ("people", "agreement", "dispute/1"):  # what is not hers is not there
            eve.go(f"#/{page}")
            assert not eve.browser.find_elements("css selector", ".tiles, .sides, table")
        ada.find(".people tbody tr:last-child button:nth-child(2)").click()
        ada.find("dialog .danger").click()
        ada.wait("document.querySelector('.people tbody tr:last-child.apart')")
        eve.press("1", "Enter")
        eve.wait("document.querySelector('.banner')")
        assert "session has ended" in eve.find(".banner").text
        eve.browser.get("about:blank")
        eve.browser.get(link)
        eve.wait("document.querySelector('.calm .warning')")
        assert "is invalid" in eve.find(".calm .warning").text
    ada.find(".people tbody tr:last-child button:nth-child(2)").click()
    assert "deleted for good" in ada.find("dialog").text
    ada.press("Escape")  # thought better of it
    assert "<script>" in ada.find(".people tbody tr:last-child").text
    ada.find(".people tbody tr:last-child button:nth-child(2)").click()
    ada.find("dialog .danger").click()
    ada.wait("!/<script>/.test(document.querySelector('.people').textContent)")


@one("support", SUPPORT, 1)
def test_lead_decides_unanswered_task_and_undoes_it(ada: Person) -> None:
    """Ada is the lead here."""
    ada.save("s")
    ada.go("#/people")
    ada.wait("document.querySelector('.tiles')")
    assert "only skipped" in ada.find(".tiles").text
    ada.go("#/disputes")
    ada.wait("document.querySelector('.answer-row')")
    assert "nobody answered" in ada.find(".answer-row").text
    ada.press("Enter")
    ada.wait("document.querySelector('.sides')")
    assert "nobody answered" in ada.find(".note").text
    ada.press("2", "Enter")
    ada.wait("document.querySelector('.badge.supported')")
    ada.find(".answer-row a").click()
    ada.wait("document.querySelector('.note button')")
    ada.find(".note button").click()
    ada.wait("document.querySelector('.answer-row .badge.unknown')")
    assert not ada.browser.find_elements("css selector", ".badge.supported")


def test_a_claim_is_marked_in_its_answer(browser: Chromium, tmp_path: Path) -> None:
    record = {"id": "a", "question": "Who?", "contexts": PASSAGES}
    record["response"] = "The \U0001f9ea bridge has seven arches [1]. It was built in 1655 [1]."
    (tmp_path / "a.jsonl").write_text(json.dumps(record))
    words = ("--from-run", "a.jsonl", "--kind", "alignment")
    with serving(tmp_path, "labels.db", *words) as served:
        ada = Person(browser)
        ada.enter(served.lead, begin=True)
        claims = set()
        while ada.turn != "end":
            part = ada.find("mark.part").text
            assert part in ada.shown("the sentence")
            claims.add(part)
            ada.press("f")
            assert ada.find(".sources mark.hint").text in " ".join(PASSAGES)
            ada.press("1")
            ada.save()
        assert len(claims) == 2
