"""Markdown files as documents."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from trueground.wings.search.sections import Outline, read_text

if TYPE_CHECKING:
    from markdown_it.token import Token

_FRONT = re.compile(r"\A---[ \t]*\n(.*?\n)??(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_FRONT_TITLE = re.compile(r"^title:[ \t]*(.+?)[ \t]*$", re.MULTILINE)
# What is not closed goes on to the end, as in a browser.
_UNSEEN = re.compile(
    r"<(script|style)\b.*?(?:</\1\s*>|\Z)|<!--.*?(?:-->|\Z)", re.DOTALL | re.IGNORECASE
)
_TAG = re.compile(r"</?[A-Za-z][^<>]*>")


def read_markdown(path: Path) -> Outline:
    """Return the outline of a Markdown file.

    Its title is that of its front matter, or its first heading.
    """
    from markdown_it import MarkdownIt

    text = read_text(path)
    front = _FRONT.match(text)
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    outline = _outline_markdown(parser.parse(text[front.end() :] if front else text))
    named = _FRONT_TITLE.search(front[1] or "") if front else None
    title = named[1].strip("\"'").strip() if named else ""
    outline.title = title or outline.first
    return outline


def _outline_markdown(tokens: Sequence[Token]) -> Outline:
    outline = Outline()
    lists: list[int | None] = []  # the next number of each open list, None for bullets
    marker = ""  # of the list's item that begins
    rows: list[str] = []
    cells: list[str] = []
    for place, token in enumerate(tokens):
        kind = token.type
        if kind == "inline":
            opened, text = tokens[place - 1], _inline_text(token)
            if opened.type == "heading_open" and not lists:
                outline.heading(int(opened.tag[1:]), text)
            elif opened.type in ("th_open", "td_open"):
                cells.append(text)
            else:
                outline.paragraph(marker + text)
                marker = ""
        elif kind in ("fence", "code_block"):
            outline.paragraph(token.content)
        elif kind == "html_block":
            outline.paragraph(" ".join(_TAG.sub(" ", _UNSEEN.sub(" ", token.content)).split()))
        elif kind == "bullet_list_open":
            lists.append(None)
        elif kind == "ordered_list_open":
            lists.append(int(token.attrs.get("start", 1)))
        elif kind == "list_item_open":
            number = lists[-1]
            marker = "- " if number is None else f"{number}. "
            lists[-1] = None if number is None else number + 1
        elif kind.endswith("_list_close"):
            lists.pop()
            marker = ""
        elif kind == "tr_close":
            rows.append(" | ".join(cells))
            cells = []
        elif kind == "table_close":
            outline.paragraph("\n".join(rows))
            rows = []
    return outline


def _inline_text(token: Token) -> str:
    """What a reader sees of a line: no marks, no addresses, no tags."""
    parts = []
    for child in token.children or ():
        if child.type in ("text", "code_inline"):
            parts.append(child.content)
        elif child.type == "image":
            parts.append(_inline_text(child))
        elif child.type in ("softbreak", "hardbreak"):
            parts.append(" " if child.type == "softbreak" else "\n")
    return "".join(parts)
