"""Documents that are files: text, Markdown, HTML, PDF. Their links are read with them."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

from trueground.builders.grounding.documents.document import Raw
from trueground.builders.grounding.documents.links import from_file, text_links, wiki_links
from trueground.builders.grounding.documents.passages import PARAGRAPHS
from trueground.builders.grounding.documents.tidying import Binary, tidied, tidy_title
from trueground.builders.rejected import Rejected
from trueground.errors import InputError
from trueground.retrieval.documents import Document, read_bytes, read_document, read_text

_LARGEST = 100 << 20  # bytes
_BINARY = ("NUL", "invalid UTF", "bytes that are no text")
_HTML, _MARKDOWN = (".html", ".htm"), (".md", ".markdown")
_NAME = re.compile(r"[A-Za-z0-9_\])]\Z")
_ASIDE = ("nav", "footer", "aside")


def read_file(file: Path, page: str, note: Callable[[str], None]) -> Raw | Rejected:
    """The document of a file, under its path `page` below its folder, or why there is none.

    `note` is told what of it cannot be read, such as pages without text. MissingExtraError: a kind
    of file that needs the extra `documents`.
    """
    try:
        if file.stat().st_size > _LARGEST:
            return Rejected("enormous", f"{file}: {file.stat().st_size:,} bytes", id=page)
        document = read_document(file)
        hrefs = _hrefs(file)
        text, targets = _text(document, file)
        for said in document.notes:
            note(said)
    except OSError as error:
        return Rejected("unreadable", f"{file}: {error.strerror or error}", id=page)
    except InputError as error:
        binary = any(word in str(error) for word in _BINARY)
        return Rejected("binary" if binary else "unreadable", str(error), id=page)
    except Binary as problem:
        return Rejected("binary", f"{file}: {problem}", id=page)
    title = " ".join((document.title or file.stem).split())
    return Raw(
        place=str(file),
        id=page,
        title=tidy_title(title),
        text=text,
        names=[page.rpartition(".")[0], file.stem, title],
        targets=[named for one in (*hrefs, *targets) for named in (from_file(one, page), one)],
    )


def _text(document: Document, file: Path) -> tuple[str, list[str]]:
    """(what a reader sees, the targets of links that stand in it as text). Raises Binary."""
    whole = PARAGRAPHS.join(one for part in document.sections for one in part.paragraphs)
    marked = file.suffix.lower() in (*_HTML, *_MARKDOWN)
    text, targets = wiki_links(whole) if marked else text_links(whole)
    return tidied(text), targets


def _hrefs(file: Path) -> list[str]:
    """The addresses of links, where the kind of file has any. Raises InputError."""
    ending = file.suffix.lower()
    if ending in _MARKDOWN:
        return _markdown(read_text(file))
    return _html(read_bytes(file)) if ending in _HTML else []


def _markdown(text: str) -> list[str]:
    from markdown_it import MarkdownIt

    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(text)
    parts = [[None, *(token.children or ())] for token in tokens]
    return [
        str(part.attrs["href"])
        for before, part in pairwise(one for some in parts for one in some)
        if part is not None and part.type == "link_open"
        if before is None or not _NAME.search(before.content)  # handlers[name](event)
    ]


def _html(data: bytes) -> list[str]:
    from bs4 import BeautifulSoup

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about files that look like an address or like XML
        soup = BeautifulSoup(data, "lxml")
    root = soup.find("main") or soup
    links = [link for link in root.select("a[href]") if not link.find_parent(_ASIDE)]
    return [str(link["href"]) for link in links]
