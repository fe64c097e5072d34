"""Addresses of the links in documents."""

from __future__ import annotations

import re
import warnings
from itertools import pairwise
from pathlib import Path

from trueground.wings.search.sections import read_bytes, read_text

_HTML = (".html", ".htm")
_MARKDOWN = (".md", ".markdown")
_NAME = re.compile(r"[A-Za-z0-9_\])]\Z")
_ASIDE = ("nav", "footer", "aside")


def find_links(path: Path) -> list[str] | None:
    """Return the addresses of a document's links, None for a kind of file without links.

    Raises:
        InputError: The file can't be read.
    """
    ending = path.suffix.lower()
    if ending in _MARKDOWN:
        return _markdown_links(path)
    return _html_links(path) if ending in _HTML else None


def _markdown_links(path: Path) -> list[str]:
    from markdown_it import MarkdownIt

    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(read_text(path))
    addresses = []
    for token in tokens:
        for before, part in pairwise((None, *(token.children or ()))):
            if part is None or part.type != "link_open":
                continue
            # A name before it means code, such as handlers[name](event).
            if before is None or not _NAME.search(before.content):
                addresses.append(str(part.attrs["href"]))
    return addresses


def _html_links(path: Path) -> list[str]:
    from bs4 import BeautifulSoup

    with warnings.catch_warnings():
        # BeautifulSoup warns about files that look like an address or like XML.
        warnings.simplefilter("ignore")
        soup = BeautifulSoup(read_bytes(path), "lxml")
    links = (soup.find("main") or soup).select("a[href]")
    return [str(link["href"]) for link in links if not link.find_parent(_ASIDE)]
