"""Markdown files: headings, paragraphs, lists, tables and code."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from trueground.retrieval.corpora.documents.base import Document, Outline, read_text

if TYPE_CHECKING:
    from markdown_it.token import Token

_FRONT = re.compile(r"\A---[ \t]*\n(.*?\n)??(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_FRONT_TITLE = re.compile(r"^title:[ \t]*(.+?)[ \t]*$", re.MULTILINE)
# What is not closed goes on to the end, as in a browser.
_UNSEEN = re.compile(
    r"<(script|style)\b.*?(?:</\1\s*>|\Z)|<!--.*?(?:-->|\Z)", re.DOTALL | re.IGNORECASE
)
_TAG = re.compile(r"</?[A-Za-z][^<>]*>")


def read_markdown(path: Path) -> Document:
    """A Markdown file; its title is that of its front matter, or its first heading. InputError."""
    from markdown_it import MarkdownIt

    text = read_text(path)
    front = _FRONT.match(text)
    outline = Outline()
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    _MarkdownWalk(outline).run(parser.parse(text[front.end() :] if front else text))
    named = _FRONT_TITLE.search(front[1] or "") if front else None
    title = named[1].strip("\"'").strip() if named else ""
    return Document(title or outline.first, outline.sections)


class _MarkdownWalk:
    """Goes through the tokens of a file once."""

    def __init__(self, outline: Outline) -> None:
        self._outline = outline
        self._lists: list[int | None] = []  # the next number, None for bullets
        self._marker = ""
        self._rows: list[str] = []
        self._cells: list[str] = []

    def run(self, tokens: Sequence[Token]) -> None:
        for place, token in enumerate(tokens):
            kind = token.type
            if kind == "inline":
                self._inline(tokens[place - 1], _inline_text(token))
            elif kind in ("fence", "code_block"):
                self._outline.paragraph(token.content)
            elif kind == "html_block":
                plain = _TAG.sub(" ", _UNSEEN.sub(" ", token.content))
                self._outline.paragraph(" ".join(plain.split()))
            elif kind.endswith(("_list_open", "_list_close", "list_item_open")):
                self._list(token)
            elif kind == "tr_close":
                self._rows.append(" | ".join(self._cells))
                self._cells = []
            elif kind == "table_close":
                self._outline.paragraph("\n".join(self._rows))
                self._rows = []

    def _inline(self, opened: Token, text: str) -> None:
        if opened.type == "heading_open" and not self._lists:
            self._outline.heading(int(opened.tag[1:]), text)
        elif opened.type in ("th_open", "td_open"):
            self._cells.append(text)
        else:
            self._outline.paragraph(self._marker + text)
            self._marker = ""

    def _list(self, token: Token) -> None:
        if token.type == "bullet_list_open":
            self._lists.append(None)
        elif token.type == "ordered_list_open":
            self._lists.append(int(token.attrs.get("start", 1)))
        elif token.type == "list_item_open":
            number = self._lists[-1]
            self._marker = "- " if number is None else f"{number}. "
            if number is not None:
                self._lists[-1] = number + 1
        else:
            self._lists.pop()
            self._marker = ""


def _inline_text(token: Token) -> str:
    """What a reader sees of a line: no marks, no addresses, no tags."""
    parts = []
    for child in token.children or ():
        if child.type in ("text", "code_inline"):
            parts.append(child.content)
        elif child.type == "image":
            parts.append(_inline_text(child))
        elif child.type == "softbreak":
            parts.append(" ")
        elif child.type == "hardbreak":
            parts.append("\n")
    return "".join(parts)
