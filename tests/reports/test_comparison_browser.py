"""A comparison in a real browser: its links open the item on the page of each run."""

from __future__ import annotations

from pathlib import Path

from tests.chromium import Chromium
from tests.reports.browser import WIDE, browser, needs_a_browser, resize

import trueground as tg
from trueground.reports.comparison_page import write_comparison
from trueground.studies.compare import compare

__all__ = ["browser"]  # a fixture
pytestmark = needs_a_browser


def test_links_open_the_item(browser: Chromium, tmp_path: Path) -> None:
    for name, answer in (("a run", "1931"), ("b#1", "1913")):
        rows = [
            {"id": f"q {i}/?#ü'", "question": "When?", "references": ["1931"], "response": answer}
            for i in range(3)
        ]
        tg.score(rows, metrics="exact_match,f1", out=tmp_path / name, resamples=10)
    (tmp_path / "pages").mkdir()
    page = tmp_path / "pages" / "c.html"
    write_comparison(page, compare([tmp_path / "a run", tmp_path / "b#1"]).as_dict())
    for answer, label in (("1931", "A"), ("1913", "B")):
        browser.get(page.as_uri())
        browser.find_element("css selector", "summary").click()
        browser.find_element("link text", f"in {label}").click()
        browser.wait_until(lambda: browser.find_element("id", "item").is_displayed())
        shown = browser.find_element("id", "item").text
        assert "q 0/?#ü'" in shown
        assert answer in shown
        assert "Not on this page" not in shown
    browser.get(page.as_uri())
    resize(browser, 1200)
    assert browser.execute_script(WIDE) <= 0
    assert browser.messages() == []
