"""A server of labels, mostly in a process of its own, and people who use it in a real browser."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tests.chromium import Chromium, Element
from tests.commands import PROGRAM
from tests.reports.browser import BROWSER
from tests.wings.labeling.web import labeling

from trueground.wings.labeling.files import ShownTask, format_tasks
from trueground.wings.labeling.kinds import AnnotationTask, get_kind
from trueground.wings.labeling.web.people import People
from trueground.wings.labeling.web.serving import open_project

# What runs, if a browser takes a text for markup; nothing of it may.
HOSTILE = (
    "<script>document.title = 'pwned'</script><img src=x onerror=\"document.title = 'pwned'\">"
    "<a href=\"javascript:document.title = 'pwned'\">a</a>\u202e desrever \u2066"
    "</textarea><svg onload=\"document.title = 'pwned'\">&lt;b&gt; \U0001f9ea"
)

WAIT_S = 40.0  # other tests may run beside


def write_tasks(path: Path, tasks: Iterable[tuple[str, Mapping[str, Any]]]) -> Path:
    """A file for annotators, of (kind, what is shown)."""
    lines = []
    for n, (name, shown) in enumerate(tasks):
        kind = get_kind(name)
        task = AnnotationTask.of(name, f"item-{n:03}", dict(shown))
        lines.append(format_tasks(path, [ShownTask.of(task, kind, "here")], "1"))
    path.write_bytes(b"".join(lines))
    return path


class Served:
    """A running server; `lead` is the link that it printed."""

    def __init__(self, folder: Path, project: object, *words: object) -> None:
        self._words = [*PROGRAM, "annotate", "serve", str(project), *map(str, words)]
        self._folder = folder
        self.process: subprocess.Popen[str]
        self.lead = ""
        self.start()

    def start(self) -> None:
        """Begin, or begin again, on the same port as before. The link is a new one."""
        self.process = subprocess.Popen(
            self._words,
            cwd=self._folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        for line in self.process.stdout:
            if found := re.search(r"https?://\S+#token=\S+", line):
                self.lead = found[0]
                return
        raise AssertionError(self.process.stderr.read())

    @property
    def url(self) -> str:
        """Where it is."""
        return self.lead.partition("#")[0]

    def kill(self) -> None:
        """End it as a power cut would."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """End it."""
        self._end(signal.SIGTERM)

    def _end(self, how: signal.Signals) -> None:
        if self.process.poll() is None:
            os.kill(self.process.pid, how)
        self.process.communicate(timeout=20)


@contextmanager
def serving(folder: Path, project: object, *words: object) -> Iterator[Served]:
    """The server while it is needed."""
    served = Served(folder, project, *words)
    try:
        yield served
    finally:
        served.stop()


class Here(NamedTuple):
    """A server in a thread of the test, which starts sooner than a process does."""

    url: str
    lead: str


@contextmanager
def serving_here(project: Path, tasks: Path) -> Iterator[Here]:
    """Serve the tasks, one person for each."""
    with labeling.serving(open_project(str(project), [tasks], overlap=1)) as served:
        url = f"{served.address.url}/"
        yield Here(url, f"{url}#token={People(served.opened.database).open_for_lead()}")


class Person:
    """Somebody at a browser. Keys go wherever the focus is."""

    def __init__(self, browser: Chromium) -> None:
        self.browser = browser
        browser.resize(1280, 800)

    def enter(self, link: str, *, begin: bool) -> None:
        """Open a link; who is to `begin` takes a task, and reads the instructions that come up."""
        self.browser.get("about:blank")
        self.browser.get(link)
        self.wait("document.querySelector('nav')")
        if begin:
            self.go("#/")
            self.wait("document.querySelector('dialog[open]')")
            self.browser.press("Escape")
            self.wait("!document.querySelector('dialog')")

    def go(self, where: str) -> None:
        """To another of the pages."""
        self.browser.execute_script("location.hash = arguments[0]", where)
        self.browser.settle()

    def press(self, *keys: str, shift: bool = False) -> None:
        """Press keys."""
        self.browser.press(*keys, shift=shift)

    def write(self, text: str) -> None:
        """Type a text into what has the focus."""
        self.browser.send("Input.insertText", text=text)
        self.browser.settle()

    def save(self, key: str = "Enter") -> None:
        """Press what saves, and wait for the next task or the end."""
        before = self.turn
        self.press(key)
        self.browser.wait_until(lambda: self.turn not in (before, "loading"), WAIT_S)

    @property
    def turn(self) -> str:
        """What changes with every task on the screen."""
        script = """return document.querySelector('.bench')?.dataset.turn
            ?? (document.querySelector('.calm h1') ? 'end' : 'loading')"""
        return str(self.script(script))

    def script(self, script: str, *values: Any) -> Any:
        """What a script in the page returns."""
        return self.browser.execute_script(script, *values)

    def wait(self, condition: str) -> None:
        """Wait until an expression in the page holds."""
        self.browser.wait_until(lambda: self.script(f"return Boolean({condition})"), WAIT_S)

    def ask(self, path: str) -> Any:
        """What the server gives to this person's session, by GET."""
        script = "const [path, done] = arguments; fetch(path).then((r) => r.text()).then(done)"
        return json.loads(self.browser.execute_async_script(script, path))

    def find(self, selector: str) -> Element:
        """The first such element."""
        return self.browser.find_element("css selector", selector)

    def shown(self, name: str) -> str:
        """A text that is shown, by its heading."""
        script = """const head = [...document.querySelectorAll('.shown h3')]
            .find((h) => h.textContent.startsWith(arguments[0]));
            return head.parentElement.querySelector('.text').textContent;"""
        return str(self.script(script, name))

    @property
    def progress(self) -> str:
        """What stands in the header."""
        return self.find(".progress").text

    @property
    def said(self) -> str:
        """What the page says beside the fields."""
        return self.find(".said-now").text


@contextmanager
def person(profile: Path, link: str, *, begin: bool = True) -> Iterator[Person]:
    """Somebody with a browser of their own, who has opened a link."""
    assert BROWSER
    with Chromium(BROWSER, profile) as browser:
        found = Person(browser)
        found.enter(link, begin=begin)
        yield found
