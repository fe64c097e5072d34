"""The pictures of docs/annotate-web.md, taken of a real server in a real browser.

python -m tests.view.pictures docs/images
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.reports.browser import emulate
from tests.view.label_fixture import Person, person, serving, write_tasks
from tests.view.test_day_browser import DISPUTED, invite, item_of, judge, make_run

DESK, PHONE = (1280, 720), (390, 780)
SHOWN = {"label-desk", "label-phone", "spans-phone", "decide-desk", "project-desk"}
Take = Callable[..., None]


def draw(folder: Path, *, everything: bool = False) -> None:
    """Take the pictures, each in light and dark."""
    folder.mkdir(parents=True, exist_ok=True)

    def take(who: Person, name: str, height: int = DESK[1]) -> None:
        for place, (width, tall) in (("desk", (DESK[0], height)), ("phone", PHONE)):
            if not everything and f"{name}-{place}" not in SHOWN:
                continue
            who.browser.resize(width, tall, phone=place == "phone")
            for scheme in ("light", "dark"):
                emulate(who.browser, scheme)
                who.browser.settle()
                who.wait("new Promise((done) => setTimeout(() => done(true), 200))")
                picture = folder / f"annotate-{name}-{place}-{scheme}.png"
                picture.write_bytes(who.browser.screenshot())
        who.browser.resize(*DESK)
        emulate(who.browser, "light")

    with tempfile.TemporaryDirectory() as made:
        work = Path(made)
        make_run(work)
        words = ("--from-run", "run", "--title", "Bridges, towers, ferries")
        with (
            serving(work, "labels.db", *words) as served,
            person(work / "lead", served.lead, begin=False) as lead,
        ):
            for name in ("Ada", "Ben"):
                link = invite(lead, name)
                with person(work / name, link) as who:
                    take_all(who, take if name == "Ada" else None)
            invite(lead, "Cleo")
            lead.go("#/people")
            take(lead, "project", 880)
            lead.go("#/agreement")
            lead.wait("document.querySelector('main table')")
            take(lead, "agreement", 900)
            lead.go("#/judge")
            lead.wait("document.querySelector('main h1')")
            take(lead, "judge", 1400)
            lead.go("#/disputes")
            lead.wait("document.querySelector('.answer-row')")
            take(lead, "disputes")
            lead.press("Enter")
            lead.wait("document.querySelector('.sides')")
            take(lead, "decide", 560)
            lead.go("#/calibrate")
            lead.find("main .primary").click()
            lead.wait("document.querySelector('pre.command')")
            take(lead, "calibrate", 1400)
        spans = {
            "question": "Who built the bridge at Umber?",
            "contexts": [
                "The bridge at Umber has seven arches and is made of slate. It was built by the "
                "guild of masons in 1644, after the wooden bridge had been carried away.",
                "Umber is a market town on the river Senn, with two mills and a clock tower.",
            ],
            "response": "The bridge at Umber was built in 1655 by the guild of masons. It has "
            "seven arches, and Per Holt carved its parapet.",
        }
        tasks = write_tasks(work / "spans.jsonl", [("span", spans)])
        with (
            serving(work, "spans.db", tasks, "--title", "Unsupported words") as served,
            person(work / "ada", served.lead) as ada,
        ):
            mark(ada, "1655", 0, "1")
            mark(ada, "Per", 4, "2")
            take(ada, "spans")


def take_all(who: Person, take: Take | None) -> None:
    """Label everything; the screen is taken at the first that is partly supported."""
    left = take
    while who.turn != "end":
        key = judge(who.shown("the response"))
        other = take is None and item_of(who.shown("the question")) in DISPUTED
        who.press({"1": "2", "2": "3", "3": "2"}[key] if other else key)
        if left is not None and key == "2":
            who.press("f")
            left(who, "label", 480)
            who.press("?")
            left(who, "keys")
            who.press("Escape")
            left = None
        who.save()
    if take is not None:
        who.go("#/mine")
        who.wait("document.querySelector('.answer-row')")
        take(who, "mine")


def mark(who: Person, word: str, more: int, key: str) -> None:
    """Walk to a word, take some more, and mark them."""
    who.press("Home")
    script = "return document.querySelector('.chosen')?.textContent"
    while who.script(script) != word:
        who.press("ArrowRight")
    who.press(*["ArrowRight"] * more, shift=True)
    who.press(key)


if __name__ == "__main__":
    draw(Path(sys.argv[1]), everything=sys.argv[2:] == ["all"])
