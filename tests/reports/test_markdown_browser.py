"""Answers and passages in Markdown are rendered, keep every mark, and can do nothing."""

from __future__ import annotations

import random
import time
from pathlib import Path
from typing import Any

import pytest
from tests.chromium import Chromium
from tests.reports.browser import WIDE, needs_a_browser, resize

import trueground as tg

pytestmark = needs_a_browser
ANSWER = """\
# Facts

The **tower** was finished in *1913*. See [the archive](https://example.org/a?x=1), [this](javascript:window.hit=1),
![plan](https://example.org/plan.png) and <img src=x onerror="window.hit=1"> <script>window.hit=1</script>.

| year | height |
|------|-------:|
| 1931 | `120 m` |
| 1950 | a \\| b |

1. It has 12 floors.
   - nested

> Quoted.

```
x = "**raw**"
```
2*3*4 snake_case_name [1] \\*starred\\*
"""  # noqa: E501
PASSAGE = """\
## The tower

It was finished in **1931**. It has 12 floors.

| a | b |
|---|---|
| 1 | 2 |
"""
TWO_LINES = "One.\nTwo 🌊 three."


def draw(folder: Path, rows: list[dict[str, Any]]) -> str:
    """The address of the page of these answers."""
    tg.score(rows, metrics="support", out=folder / "run")
    return (folder / "run" / "report.html").as_uri()


def show(browser: Chromium, page: str, name: str) -> None:
    browser.get("about:blank")
    browser.get(f"{page}#item-{name}")
    browser.wait_until(lambda: browser.find_elements("css selector", "#item h1"))


def texts(browser: Chromium, selector: str) -> list[str]:
    script = "return [...document.querySelectorAll(arguments[0])].map((one) => one.innerText)"
    return list(browser.execute_script(script, selector))


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    filler = " ".join(f"Filler sentence {k} says nothing of it." for k in range(300))
    hostile = "*_[`|" * 20_000
    rows = [
        {"id": "md", "question": "What?", "response": ANSWER, "contexts": [filler, PASSAGE]},
        {
            "id": "plain",
            "question": "When?",
            "response": TWO_LINES,
            "contexts": ["One."],
        },
        {"id": "hostile", "question": "How?", "response": hostile, "contexts": ["It is."]},
    ]
    return draw(tmp_path_factory.mktemp("markdown"), rows)


def test_markdown_of_an_answer_is_rendered(browser: Chromium, page: str) -> None:
    show(browser, page, "md")
    assert texts(browser, ".response h4") == ["Facts"]
    assert texts(browser, ".response strong") == ["tower"]
    assert texts(browser, ".response em") == ["1913"]
    assert texts(browser, ".response th") == ["year", "height"]
    assert texts(browser, ".response td") == ["1931", "120 m", "1950", "a | b"]
    assert texts(browser, ".response li") == ["1. It has 12 floors.", "nested"]
    assert texts(browser, ".response blockquote") == ["Quoted."]
    assert texts(browser, ".response pre") == ['x = "**raw**"']
    assert texts(browser, ".response p")[-1] == "2*3*4 snake_case_name [1] *starred*"
    assert texts(browser, ".passage .text h4") == ["The tower"]
    assert texts(browser, ".passage .text td") == ["1", "2"]


def test_markdown_can_do_nothing(browser: Chromium, page: str) -> None:
    show(browser, page, "md")
    links = """return [...document.querySelectorAll('.response a')].map(
        (one) => [one.innerText, one.getAttribute('href'), one.rel])"""
    rel = "noopener noreferrer nofollow"
    assert browser.execute_script(links) == [["the archive", "https://example.org/a?x=1", rel]]
    assert texts(browser, ".response .inert") == ["this"]
    assert texts(browser, ".response .image") == ["image: plan"]
    browser.find_element("css selector", ".response .inert").click()
    made = "return document.querySelectorAll('#item :is(img, script, iframe)').length"
    assert browser.execute_script(made) == 0
    assert browser.execute_script("return window.hit") is None
    assert '<img src=x onerror="window.hit=1">' in texts(browser, ".response")[0]
    assert not [one for one in browser.requests() if "example.org" in one]
    assert browser.messages() == []


def test_markdown_keeps_the_marks_of_claims(browser: Chromium, page: str) -> None:
    show(browser, page, "md")
    assert "1913" in texts(browser, ".response em mark.doubt")
    assert "It has 12 floors." in texts(browser, ".response li mark.supported")
    browser.find_element("css selector", ".response li mark.supported").click()
    assert "It has 12 floors" in texts(browser, ".passage mark.nearest")


def test_plain_text_stays_as_it_is(browser: Chromium, page: str) -> None:
    show(browser, page, "plain")
    assert texts(browser, ".response") == [TWO_LINES]
    assert len(browser.find_elements("css selector", ".response > p")) == 1


def test_hostile_markdown_is_drawn_soon(browser: Chromium, page: str) -> None:
    began = time.monotonic()
    show(browser, page, "hostile")
    assert time.monotonic() - began < 10
    assert len(texts(browser, ".response")[0]) > 70_000


def test_text_of_any_signs_is_kept_but_for_the_markup(browser: Chromium, page: str) -> None:
    """Letters and digits, of which claims are made, are all there and in their order."""
    show(browser, page, "plain")
    random_ = random.Random(0)
    signs = ["*", "**", "_", "`", "[", "](", ")", "|", "\n", "\n\n", "- ", "# ", "> ", "1. ", " "]
    script = """const text = arguments[0], points = Array.from(text);
        const leaf = (from, to) => [points.slice(from, to).join('')];
        const host = document.createElement('div');
        host.append(...TG.markdown(text, leaf));
        return host.textContent"""
    for _ in range(300):
        pieces = [random_.choice([*signs, f"w{random_.randrange(99)}é🌊"]) for _ in range(30)]
        text = "".join(pieces).replace("](", "] (")  # an address is no text
        shown = browser.execute_script(script, text)
        kept = [sign for sign in text if sign.isalnum() or sign == "🌊"]
        assert [sign for sign in shown if sign.isalnum() or sign == "🌊"] == kept, text


@pytest.mark.parametrize("width", [1440, 390])
def test_an_opened_answer_goes_to_its_closest_passage(
    browser: Chromium, page: str, width: int
) -> None:
    resize(browser, width)
    show(browser, page, "md")
    script = """const panel = document.querySelector('.passages').getBoundingClientRect();
        const mark = document.querySelector('.passages mark.active.nearest');
        const box = mark.getBoundingClientRect();
        return [panel.top - 1 <= box.top && box.bottom <= panel.bottom + 1, scrollY,
          mark.closest('details').innerText.slice(0, 9)]"""
    assert browser.execute_script(script) == [True, 0, "Passage 2"]
    assert browser.execute_script(WIDE) == 0
    resize(browser, 1200)
