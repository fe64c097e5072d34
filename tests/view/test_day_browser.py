"""A whole day of labeling in real browsers: two people and a lead, from the links to the judge.

Two people label 30 answers of a run each, with keys alone, and differ on five; the lead decides,
exports and calibrates. What the commands say of the exported files is what the pages showed.
"""

from __future__ import annotations

import json
import re
import shlex
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.commands import trueground
from tests.postgres import find_binaries, postgres
from tests.reports.browser import CONTRAST, WIDE, emulate, needs_a_browser
from tests.view.label_fixture import HOSTILE, Person, Served, person, serving

pytest.importorskip("sqlalchemy")
pytestmark = needs_a_browser

TOWNS = ["Umber", "Senn", "Halden", "Corran", "Velm", "Tarn", "Pell", "Lind", "Orvel", "Breck"]
THINGS = [
    ("bridge", "has seven arches and is made of slate", "was built by the guild of masons in 1644"),
    ("clock tower", "was put up in 1877 to drawings by Klara Voss", "is 41 metres high"),
    ("ferry", "was launched in 1954 and carries 40 cars", "belongs to the harbour board"),
]
GREEN, NOBODY = "It was painted green in 1990.", "Nobody knows; it may have been a hall of wood."
DISPUTED = {"q1", "q4", "q7", "q12", "q17"}
LIMIT_S = 2.0  # for a task of two keys; a person takes longer to read it


def make_run(folder: Path) -> None:
    """Score 30 answers: a third is supported, a third partly, a third not; one is hostile."""
    rows = []
    for n in range(30):
        town, other = TOWNS[n % 10], TOWNS[(n + 3) % 10]
        thing, one, two = THINGS[n // 10]
        passage = f"The {thing} at {town} {one}. It {two}. On Fridays there is a market beside it."
        beside = f"{other} is a town on the river. Its {thing} is not open to visitors."
        response = [f"The {thing} at {town} {two}.", f"The {thing} {one}. {GREEN}", NOBODY][n % 3]
        if n == 29:
            response += f" {HOSTILE}"
        rows.append(
            {
                "id": f"q{n}",
                "question": f"What is known of the {thing} at {town}?",
                "contexts": [{"title": town, "text": passage}, {"title": other, "text": beside}],
                "response": response,
            }
        )
    records = folder / "answers.jsonl"
    records.write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = trueground("score", records, "--out", folder / "run", "--quiet")
    assert done.returncode == 0, done.stderr


def judge(response: str) -> str:
    """The key of what an answer is: 1 fully, 2 partially, 3 not."""
    return "3" if NOBODY in response else "2" if GREEN in response else "1"


def item_of(question: str) -> str:
    """The id of the question that is shown."""
    thing, town = re.findall(r"of the (.+) at (\w+)\?", question)[0]
    return f"q{10 * [one[0] for one in THINGS].index(thing) + TOWNS.index(town)}"


def label_all(who: Person, key_of: Callable[[str, str], str]) -> None:
    """Label everything with keys alone."""
    began = time.monotonic()
    many = 0
    while who.turn != "end":
        who.press("f", key_of(item_of(who.shown("the question")), who.shown("the response")))
        who.save()
        many += 1
    assert many == 30
    assert time.monotonic() - began < many * LIMIT_S
    assert who.progress.startswith("30 done, 0 left")


def invite(lead: Person, name: str) -> str:
    """A link, as the lead's page shows it once."""
    lead.go("#/people")
    lead.wait("document.querySelector('form.filters input')")
    lead.script("document.querySelector('form.filters input').focus()")
    lead.write(name)
    lead.press("Enter")
    lead.wait("document.querySelector('.copied input')")
    link = str(lead.script("return document.querySelector('.copied input').value"))
    lead.find(".link > button").click()
    lead.wait("!document.querySelector('.copied')")
    return link


def download(lead: Person, folder: Path, button: str) -> Path:
    """What a button of the project's page gives."""
    lead.go("#/people")
    lead.wait("document.querySelector('.files')")
    folder.mkdir(exist_ok=True)
    where = {"behavior": "allow", "downloadPath": str(folder)}
    lead.browser.send("Page.setDownloadBehavior", **where)
    before = set(folder.iterdir())
    lead.browser.find_element("xpath", f"//ul[@class='files']//*[.='{button}']").click()
    made: list[Path] = []

    def there() -> bool:
        made[:] = set(folder.iterdir()) - before
        return len(made) == 1 and not made[0].name.endswith(".crdownload")

    lead.browser.wait_until(there)
    return made[0]


def kappa(text: str) -> str:
    """Cohen's kappa as a command prints it."""
    return re.findall(r"Cohen's kappa\s+(-?[0-9.]+)", text)[0]


def a_day(served: Served, folder: Path) -> None:
    with person(folder / "lead", served.lead, begin=False) as lead:
        links = {name: invite(lead, name) for name in ("Ada", "Ben")}
        with person(folder / "ada", links["Ada"]) as ada:
            label_all(ada, lambda _, response: judge(response))
            assert ada.script("return document.title").startswith("Label")  # nothing has run
            for path in ("/api/lead/overview", "/api/lead/export?what=answers"):
                assert ada.ask(path) == {"error": "this is for leads"}
        with person(folder / "ben", links["Ben"]) as ben:
            other = {"1": "2", "2": "3", "3": "2"}
            label_all(
                ben,
                lambda item, said: other[judge(said)] if item in DISPUTED else judge(said),
            )
        lead.go("#/agreement")
        lead.wait("document.querySelector('main table')")
        page = lead.find("main").text
        decide_all(lead)
        lead.go("#/people")
        answers = download(lead, folder / "files", "Answers")
        labels = download(lead, folder / "files", "Labels")
        records = download(lead, folder / "files", "Records")
        backup = download(lead, folder / "files", "Backup")
        lead.go("#/calibrate")
        lead.find("main .primary").click()
        lead.wait("document.querySelector('pre.command')")
        command = lead.find("pre.command").text
        calibrated = lead.find("main").text
        look_at_all(lead)
        assert lead.script("return document.title").endswith("The day")
        noise = [said for said in lead.browser.messages() if "Failed to load" not in said]
        assert noise == []
    agreement = trueground("agreement", answers)
    assert agreement.returncode == 0, agreement.stderr
    assert f"{kappa(agreement.stdout)}" in page
    merged = [json.loads(line) for line in labels.read_text().splitlines()]
    assert len(merged) == 30
    by_item = {one["id"].partition("~")[0]: one["values"]["support"] for one in merged}
    words = {"1": "fully", "2": "partially", "3": "not"}
    rows = [json.loads(line) for line in (folder / "answers.jsonl").read_text().splitlines()]
    assert by_item == {row["id"]: words[judge(row["response"])] for row in rows}
    assert "judge calibrate" in command
    again = trueground(*shlex.split(command)[1:], "--format", "json", cwd=records.parent)
    assert again.returncode == 0, again.stderr
    threshold = json.loads(again.stdout)["threshold"]
    assert f"{threshold:.4f}"[:4] in calibrated
    assert backup.read_bytes().startswith(b"SQLite format 3")


def decide_all(lead: Person) -> None:
    """The lead goes with Ada, on all five, with keys alone."""
    lead.go("#/disputes")
    lead.wait("document.querySelectorAll('.answer-row').length === 5")
    lead.press("Enter")
    for left in range(5, 0, -1):
        lead.wait("document.querySelector('.sides')")
        assert "Ada" in lead.find(".sides").text
        lead.press(judge(lead.shown("the response")))
        if left > 1:
            lead.save()
    lead.press("Enter")
    lead.wait("location.hash === '#/disputes'")
    lead.wait("document.querySelectorAll('.badge.supported').length === 5")


def look_at_all(lead: Person) -> None:
    """Every page of the lead's can be read, on desk and phone, in light and dark."""
    for page in ("people", "agreement", "judge", "disputes", "calibrate", "mine"):
        lead.go(f"#/{page}")
        lead.wait("document.querySelector('main h1')")
        for scheme in ("light", "dark"):
            emulate(lead.browser, scheme)
            for width in (1280, 390, 320):
                lead.browser.resize(width, 800, phone=width < 600)
                lead.browser.settle()
                assert lead.script(WIDE) == 0, (page, width)
            assert lead.script(CONTRAST) >= 4.5, (page, scheme)


WORDS = ("--from-run", "run", "--title", "The day")


@pytest.mark.long
def test_a_day(tmp_path: Path) -> None:
    make_run(tmp_path)
    with serving(tmp_path, "labels.db", *WORDS) as served:
        a_day(served, tmp_path)


@pytest.mark.long
@pytest.mark.skipif(not find_binaries(), reason="no PostgreSQL here")
def test_a_day_on_postgresql(tmp_path: Path) -> None:
    pytest.importorskip("psycopg")
    make_run(tmp_path)
    with postgres() as server, serving(tmp_path, server.new_database(), *WORDS) as served:
        a_day(served, tmp_path)
