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
# An element that isn't closed extends to the end, as in a browser.
_HIDDEN = re.compile(
    r"<(script|style)\b.*?(?:</\1\s*>|\Z)|<!--.*?(?:-->|\Z)", re.DOTALL | re.IGNORECASE
)
_TAG = re.compile(r"</?[A-Za-z][^<>]*>")


def read_markdown(path: Path) -> Outline:
    """Return the outline of a Markdown file.

    Its title is that of its front matter, or its first heading. Raises InputError.
    """
    from markdown_it import MarkdownIt

    text = read_text(path)
    front = _FRONT.match(text)
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    outline = _outline_markdown(parser.parse(text[front.end() :] if front else text))
    match = _FRONT_TITLE.search(front[1] or "") if front else None
    title = match[1].strip("\"'").strip() if match else ""
    outline.title = title or outline.first
    return outline


def _outline_markdown(tokens: Sequence[Token]) -> Outline:
    outline = Outline()
    list_numbers: list[int | None] = []  # The next number of each open list, None for bullets.
    marker = ""  # The marker of a list item that has no text yet.
    rows: list[str] = []
    cells: list[str] = []
    for position, token in enumerate(tokens):
        kind = token.type
        if kind == "inline":
            opened, text = tokens[position - 1], _inline_text(token)
            if opened.type == "heading_open" and not list_numbers:
                outline.heading(int(opened.tag[1:]), text)
            elif opened.type in ("th_open", "td_open"):
                cells.append(text)
            else:
                outline.paragraph(marker + text)
                marker = ""
        elif kind in ("fence", "code_block"):
            outline.paragraph(token.content)
        elif kind == "html_block":
            outline.paragraph(" ".join(_TAG.sub(" ", _HIDDEN.sub(" ", token.content)).split()))
        elif kind == "bullet_list_open":
            list_numbers.append(None)
        elif kind == "ordered_list_open":
            list_numbers.append(int(token.attrs.get("start", 1)))
        elif kind == "list_item_open":
            number = list_numbers[-1]
            marker = "- " if number is None else f"{number}. "
            list_numbers[-1] = None if number is None else number + 1
        elif kind.endswith("_list_close"):
            list_numbers.pop()
            marker = ""
        elif kind == "tr_close":
            rows.append(" | ".join(cells))
            cells = []
        elif kind == "table_close":
            outline.paragraph("\n".join(rows))
            rows = []
    return outline


def _inline_text(token: Token) -> str:
    """Return the visible text of a line, without marks, addresses and tags."""
    parts = []
    for child in token.children or ():
        if child.type in ("text", "code_inline"):
            parts.append(child.content)
        elif child.type == "image":
            parts.append(_inline_text(child))
        elif child.type in ("softbreak", "hardbreak"):
            parts.append(" " if child.type == "softbreak" else "\n")
    return "".join(parts)
