"""HTML files as documents: the text that a reader sees."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from trueground.errors import InputError, MissingExtraError
from trueground.wings.search.sections import Outline, read_bytes

if TYPE_CHECKING:
    from bs4 import Tag

# Elements of a head are listed too: if a page opens no body, the parser leaves text in the head.
_HIDDEN = (
    "title, script, style, noscript, template, nav, footer, svg, iframe, object, search, "
    # Forms themselves stay: ASP.NET wraps the whole page in one.
    "button, select, datalist, textarea, form label, form legend, "
    "[hidden], [aria-hidden=true], [role=navigation], [role=search], [role=contentinfo]"
)
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_INLINE_NAMES = (
    "a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark q rp rt ruby "
    "s samp small span strike strong sub sup time tt u var wbr"
)
_INLINE = frozenset(_INLINE_NAMES.split())


def read_html(path: Path) -> Outline:
    """Return the outline of an HTML file.

    Its title is its first <h1>, else <title>, else its first heading. If there is a <main>, or
    exactly one <article>, only that is read.

    Raises:
        InputError: The file can't be read.
        MissingExtraError: An optional package is missing.
    """
    try:
        from bs4 import BeautifulSoup
    except ImportError:
        raise MissingExtraError("reading HTML files", "documents") from None
    data = read_bytes(path)
    with warnings.catch_warnings():
        # BeautifulSoup warns about files that look like an address or like XML.
        warnings.simplefilter("ignore")
        soup = BeautifulSoup(data, "lxml")
    if soup.contains_replacement_characters:
        raise InputError(
            f"{path}: found bytes that aren't valid in its encoding ({soup.original_encoding}); "
            "save it as UTF-8"
        )
    head_title = soup.title.get_text(" ", strip=True) if soup.title else ""
    for tag in soup.select(_HIDDEN):
        tag.decompose()
    articles = soup.find_all("article")
    root = soup.find("main") or (articles[0] if len(articles) == 1 else None) or soup
    walk = _HtmlWalk()
    try:
        walk.enter(root)
    except RecursionError:
        raise InputError(
            f"{path}: its elements are nested too deeply; save it as text, or leave it out"
        ) from None
    walk.end_paragraph()
    outline = walk.outline
    outline.title = outline.first_top or " ".join(head_title.split()) or outline.first
    return outline


class _HtmlWalk:
    """A walk through elements that collects inline text until a block starts or ends."""

    def __init__(self) -> None:
        self.outline = Outline()
        self._line: list[str] = []
        self._marker = ""

    def enter(self, tag: Tag) -> None:
        from bs4.element import NavigableString, PreformattedString, Tag

        for child in tag.children:
            if isinstance(child, Tag):
                self._walk(child)
            elif isinstance(child, NavigableString) and not isinstance(child, PreformattedString):
                self._line.append(" ".join(f"·{child}·".split())[1:-1])

    def end_paragraph(self) -> None:
        lines = (" ".join(line.split()) for line in "".join(self._line).split("\n"))
        text = "\n".join(line for line in lines if line)
        self._line = []
        if text:
            self.outline.paragraph(self._marker + text)
            self._marker = ""

    def _walk(self, tag: Tag) -> None:
        name = tag.name.lower()
        if name in _INLINE:
            self.enter(tag)
            return
        if name in ("br", "img"):
            self._line.append("\n" if name == "br" else f" {tag.get('alt', '')} ")
            return
        self.end_paragraph()
        if name in _HEADINGS:
            self.outline.heading(_HEADINGS[name], tag.get_text(" "))
        elif name == "pre":
            self.outline.paragraph(tag.get_text())
        elif name == "table":
            self._table(tag)
        else:
            self._marker = "- " if name == "li" else self._marker
            self.enter(tag)
            self.end_paragraph()
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
