"""The frame of every page: one file, its policy, texts that stay texts."""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path

from tests.reports.payload import blocks, payload, words

from trueground.reports.blocks import Head, Part, Row, Span, Table, Text
from trueground.reports.page import Page

HOSTILE = "</script><script>alert(1)</script><!--\u2028"


def page(text: str = "some text") -> Page:
    table = Table([Head("name"), Head("value", "number")], [Row(["a", 0.5]), Row(["b", None])])
    return Page(
        "demo",
        "trueground-demo-1",
        text,
        [Part("A part", [Text(["see ", Span.code(text)]), table], id="a")],
    )


def test_the_policy_allows_the_page_s_own_script_and_style_and_nothing_else() -> None:
    text = page().to_html()
    policy = re.search(r'content="(default-src [^"]*)"', text)
    assert policy
    script = re.findall(r"<script>(.*?)</script>", text, re.S)
    style = re.findall(r"<style>(.*?)</style>", text, re.S)
    hashes = [
        "sha256-" + base64.b64encode(hashlib.sha256(one.encode()).digest()).decode()
        for one in script + style
    ]
    assert policy[1] == (
        f"default-src 'none'; script-src '{hashes[0]}'; style-src '{hashes[1]}'; "
        "base-uri 'none'; form-action 'none'"
    )


def test_a_hostile_text_ends_no_script_and_comes_back_as_it_was() -> None:
    text = page(HOSTILE).to_html()
    assert text.count("</script>") == 2  # the data's and the viewer's own
    assert "alert(1)</script><!--" not in text
    assert payload(text)["title"] == HOSTILE
    assert "see " + HOSTILE in words(text)


def test_values_stand_as_numbers_and_what_is_missing_as_null() -> None:
    (table,) = blocks(page().to_html(), "table")
    assert [row["cells"] for row in table["rows"]] == [["a", 0.5], ["b", None]]


def test_the_same_page_gives_the_same_bytes(tmp_path: Path) -> None:
    page().write(tmp_path / "a.html")
    page().write(tmp_path / "b.html")
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()
    assert (tmp_path / "a.html").read_text("utf-8") == page().to_html()
