"""HTML files: the text that a reader sees, without scripts, navigation and form controls."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from trueground.errors import InputError, MissingExtraError
from trueground.retrieval.corpora.documents.base import Document, Outline, read_bytes

if TYPE_CHECKING:
    from bs4 import BeautifulSoup, Tag

# The names of what a head holds: where no body is opened, the parser leaves a text in the head.
_UNSEEN = (
    "title, script, style, noscript, template, nav, footer, svg, iframe, object, search, "
    # Not forms themselves: ASP.NET wraps the whole page in one.
    "button, select, datalist, textarea, form label, form legend, "
    "[hidden], [aria-hidden=true], [role=navigation], [role=search], [role=contentinfo]"
)
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_INLINE_NAMES = (
    "a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark q rp rt ruby "
    "s samp small span strike strong sub sup time tt u var wbr"
)
_INLINE = frozenset(_INLINE_NAMES.split())


def read_html(path: Path) -> Document:
    """An HTML file; its title is its first <h1>, else <title>, else its first heading.

    Where there is a <main>, or just one <article>, only that is read. Raises InputError and
    MissingExtraError.
    """
    soup = _parsed(path)
    named = soup.title.get_text(" ", strip=True) if soup.title else ""
    for tag in soup.select(_UNSEEN):
        tag.decompose()
    articles = soup.find_all("article")
    root = soup.find("main") or (articles[0] if len(articles) == 1 else None) or soup
    walk = _HtmlWalk()
    try:
        walk.into(root)
    except RecursionError:
        raise InputError(
            f"{path}: its elements are nested too deeply to read; save it as text, or leave it out"
        ) from None
    walk.flush()
    outline = walk.outline
    return Document(outline.first_top or " ".join(named.split()) or outline.first, outline.sections)


def _parsed(path: Path) -> BeautifulSoup:
    try:
        from bs4 import BeautifulSoup
    except ImportError:
        raise MissingExtraError("reading HTML files", "documents") from None
    data = read_bytes(path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about files that look like an address or like XML
        soup = BeautifulSoup(data, "lxml")
    if soup.contains_replacement_characters:
        raise InputError(
            f"{path}: found bytes that are no text in its encoding ({soup.original_encoding}); "
            "save it as UTF-8"
        )
    return soup


class _HtmlWalk:
    """Goes through the elements; text of inline elements gathers until a block begins or ends."""

    def __init__(self) -> None:
        self.outline = Outline()
        self._line: list[str] = []
        self._marker = ""

    def into(self, tag: Tag) -> None:
        from bs4.element import NavigableString, PreformattedString, Tag

        for child in tag.children:
            if isinstance(child, Tag):
                self._tag(child)
            elif isinstance(child, NavigableString) and not isinstance(child, PreformattedString):
                self._line.append(" ".join(f"·{child}·".split())[1:-1])

    def flush(self) -> None:
        """End the paragraph."""
        lines = (" ".join(line.split()) for line in "".join(self._line).split("\n"))
        text = "\n".join(line for line in lines if line)
        self._line = []
        if text:
            self.outline.paragraph(self._marker + text)
            self._marker = ""

    def _tag(self, tag: Tag) -> None:
        name = tag.name.lower()
        if name in _INLINE:
            self.into(tag)
        elif name == "br":
            self._line.append("\n")
        elif name == "img":
            self._line.append(f" {tag.get('alt', '')} ")
        elif name in _HEADINGS:
            self.flush()
            self.outline.heading(_HEADINGS[name], tag.get_text(" "))
        elif name == "pre":
            self.flush()
            self.outline.paragraph(tag.get_text())
        elif name == "table":
            self.flush()
            self._table(tag)
        else:
            self.flush()
            self._marker = "- " if name == "li" else self._marker
            self.into(tag)
            self.flush()
            self._marker = "" if name == "li" else self._marker

    def _table(self, table: Tag) -> None:
        rows = []
        for row in table.find_all("tr"):
            if row.find_parent("table") is table:
                cells = row.find_all(["td", "th"], recursive=False)
                rows.append(" | ".join(" ".join(cell.get_text(" ").split()) for cell in cells))
        caption = table.find("caption")
        if caption is not None:
            self.outline.paragraph(" ".join(caption.get_text(" ").split()))
        self.outline.paragraph("\n".join(row for row in rows if row.strip(" |")))
