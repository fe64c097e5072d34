"""Documents: the text that a reader sees of text, Markdown, HTML and PDF files."""

from __future__ import annotations

import codecs
import logging
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from trueground.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    from bs4 import Tag
    from markdown_it.token import Token
    from pypdf import PdfReader

ENDINGS = (".txt", ".md", ".markdown", ".html", ".htm", ".pdf")


@dataclass
class Section:
    """The paragraphs under one heading; `headings` leads to it from the outermost."""

    headings: tuple[str, ...] = ()
    paragraphs: list[str] = field(default_factory=list)


@dataclass
class Document:
    """A document's title, where it has one, its sections, and what could not be read of it."""

    title: str | None = None
    sections: list[Section] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def read_document(path: Path) -> Document:
    """The text of a document, by its ending (see ENDINGS). InputError, MissingExtraError."""
    ending = path.suffix.lower()
    if ending == ".txt":
        return Document(sections=[Section(paragraphs=split_paragraphs(read_text(path)))])
    if ending in (".md", ".markdown"):
        return _read_markdown(path)
    return _read_html(path) if ending in (".html", ".htm") else _read_pdf(path)


# --- plain text

_WRAPPED_LINE = 40  # characters; shorter lines are verse, items, addresses or a paragraph's end
_FULL = 0.7  # of the longest lines of its paragraph
_COLUMNS = re.compile(r"\t|\||\s{3}")
_NEW_LINE = re.compile(r"[ \t]|[-*•‣◦▪–—] |\(?\w{1,2}[.)] |.*(?:\t|\|)")


def read_bytes(path: Path) -> bytes:
    """A file's content. InputError."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error


def read_text(path: Path) -> str:
    """A text file's content: UTF-8, or UTF-16 where it says so. InputError: neither, or binary."""
    data = read_bytes(path)
    marked = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    encoding = "utf-16" if marked else "utf-8-sig"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path}: found invalid {encoding.upper().removesuffix('-SIG')} (byte "
            f"0x{data[error.start]:02x} at byte {error.start + 1}); expected text: save it as UTF-8"
        ) from None
    if "\0" in text:
        raise InputError(
            f"{path}: found a NUL byte at character {text.index(chr(0)) + 1}; expected text: it is "
            "probably another kind of file with a wrong ending"
        )
    return text.replace("\r\n", "\n").replace("\r", "\n")


def split_paragraphs(text: str) -> list[str]:
    """The paragraphs of plain text, blank lines between; lines that were only wrapped are joined.

    A line goes on in the next one if it is about as long as the longest of its paragraph, 40
    characters at least, and neither is part of a table, and the next is no item and not indented.
    """
    blocks = re.split(r"\n[ \t]*(?:\n[ \t]*)+|\f", text)
    return [_unwrap(block) for block in blocks if block.strip()]


def _unwrap(block: str) -> str:
    lines = [line.rstrip() for line in block.split("\n") if line.strip()]
    # Some lines of a page of a PDF are longer than its text is wide.
    widest = sorted(map(len, lines))[len(lines) * 9 // 10]
    full = max(_WRAPPED_LINE, _FULL * widest)
    text = lines[0]
    for line, following in pairwise(lines):
        apart = len(line) < full or _COLUMNS.search(line.lstrip()) or _NEW_LINE.match(following)
        text += f"\n{following}" if apart else f" {following}"
    return text


# --- Markdown and HTML


class _Outline:
    """Collects paragraphs and headings of levels 1 to 6 into sections."""

    def __init__(self) -> None:
        self.sections = [Section()]
        self.first = self.first_top = ""
        self._open: list[tuple[int, str]] = []

    def heading(self, level: int, text: str) -> None:
        """Begin a section under the headings of lower levels that are open."""
        text = " ".join(text.split())
        if not text:
            return
        self.first = self.first or text
        if level == 1:
            self.first_top = self.first_top or text
        self._open = [one for one in self._open if one[0] < level] + [(level, text)]
        self.sections.append(Section(tuple(name for _, name in self._open)))

    def paragraph(self, text: str) -> None:
        text = text.strip("\r\n").rstrip()
        if text.strip():
            self.sections[-1].paragraphs.append(text)


_FRONT = re.compile(r"\A---[ \t]*\n(.*?\n)??(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_FRONT_TITLE = re.compile(r"^title:[ \t]*(.+?)[ \t]*$", re.MULTILINE)
# What is not closed goes on to the end, as in a browser.
_UNSEEN = re.compile(
    r"<(script|style)\b.*?(?:</\1\s*>|\Z)|<!--.*?(?:-->|\Z)", re.DOTALL | re.IGNORECASE
)
_TAG = re.compile(r"</?[A-Za-z][^<>]*>")


def _read_markdown(path: Path) -> Document:
    """Its title is that of its front matter, or its first heading."""
    from markdown_it import MarkdownIt

    text = read_text(path)
    front = _FRONT.match(text)
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    outline = _outline_markdown(parser.parse(text[front.end() :] if front else text))
    named = _FRONT_TITLE.search(front[1] or "") if front else None
    title = named[1].strip("\"'").strip() if named else ""
    return Document(title or outline.first or None, outline.sections)


def _outline_markdown(tokens: Sequence[Token]) -> _Outline:
    outline = _Outline()
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


# The names of what a head holds: where no body is opened, the parser leaves a text in the head.
_HIDDEN = (
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


def _read_html(path: Path) -> Document:
    """Its title is its first <h1>, else <title>, else its first heading.

    Where there is a <main>, or just one <article>, only that is read.
    """
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
    named = soup.title.get_text(" ", strip=True) if soup.title else ""
    for tag in soup.select(_HIDDEN):
        tag.decompose()
    articles = soup.find_all("article")
    root = soup.find("main") or (articles[0] if len(articles) == 1 else None) or soup
    walk = _HtmlWalk()
    try:
        walk.enter(root)
    except RecursionError:
        raise InputError(
            f"{path}: its elements are nested too deeply to read; save it as text, or leave it out"
        ) from None
    walk.end_paragraph()
    title = walk.outline.first_top or " ".join(named.split()) or walk.outline.first
    return Document(title or None, walk.outline.sections)


class _HtmlWalk:
    """Goes through the elements; text of inline elements gathers until a block begins or ends."""

    def __init__(self) -> None:
        self.outline = _Outline()
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


# --- PDF

_BROKEN_WORD = re.compile(r"(\w+)(-|\u2010|\u00ad)[ \t]*\n[ \t]*([^\W\d_A-Z]\w*)")
_ENDS = (".", "!", "?", ":", '"', "”", "。")
_HYPHENATED = re.compile(r"\w+-\w+")
_LIGATURES = str.maketrans(
    {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st", "\u00ad": ""}
)


def _read_pdf(path: Path) -> Document:
    """A PDF file as one section; its title is that of its metadata.

    Pages without a text layer stand in the notes. InputError: no page has one, the file is
    encrypted with a password, or it is broken.
    """
    try:
        from pypdf import PdfReader
    except ImportError:
        raise MissingExtraError("reading PDF files", "documents") from None
    pages: list[str] = []
    # Lines of pypdf's own log name no file; what ends in an error is told by that.
    log = logging.getLogger("pypdf")
    level = log.level
    log.setLevel(logging.CRITICAL + 1)
    try:
        with PdfReader(path) as reader:
            _unlock(reader, path)
            for page in reader.pages:
                pages.append(_clean(page.extract_text()))  # noqa: PERF401 - errors name the page
            title = _clean((reader.metadata and reader.metadata.title) or "").strip()
    except InputError:
        raise
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error
    except Exception as error:  # a broken file makes pypdf raise all kinds of errors
        place = f"{path}, after page {len(pages)}" if pages else str(path)
        raise InputError(
            f"{place}: it is no sound PDF file ({type(error).__name__}: {error}); open and save it "
            "anew, or leave it out"
        ) from error
    finally:
        log.setLevel(level)
    bare = [number for number, text in enumerate(pages, start=1) if not text.strip()]
    if len(bare) == len(pages):
        raise InputError(
            f"{path}: none of its {len(pages)} pages has a text layer (is it a scan?); make one by "
            "OCR (for example with ocrmypdf), or leave it out"
        )
    notes = []
    if bare:
        named = f"page{'s' if len(bare) > 1 else ''} {', '.join(map(str, bare))}"
        notes.append(f"{path}, {named}: no text layer (blank, or a scan that needs OCR)")
    text = ""
    for one in pages:
        # A sentence may go on over the page.
        text += ("\n\n" if text.rstrip().endswith(_ENDS) else "\n") + one.strip()
    paragraphs = split_paragraphs(join_broken_words(text))
    return Document(title or None, [Section(paragraphs=paragraphs)], notes)


def join_broken_words(text: str) -> str:
    """The text with words that were broken at a line's end put together.

    The hyphen stays where the document has the word with it elsewhere inside a line.
    """
    hyphenated = set(_HYPHENATED.findall(text.casefold()))

    def join(match: re.Match[str]) -> str:
        first, mark, rest = match.groups()
        keep = mark != "\u00ad" and f"{first}-{rest}".casefold() in hyphenated
        return f"{first}-{rest}" if keep else first + rest

    return _BROKEN_WORD.sub(join, text).translate(_LIGATURES)


def _unlock(reader: PdfReader, path: Path) -> None:
    """Many files are encrypted with an empty password. InputError: another one is needed."""
    if not reader.is_encrypted:
        return
    reason = ""
    try:
        if reader.decrypt(""):
            return
    except Exception as error:  # a cipher of another package, or one that nobody knows
        reason = f" ({error})"
    raise InputError(
        f"{path} is encrypted{reason}; save it without a password (for example with "
        "`qpdf --decrypt`), or leave it out"
    )


def _clean(text: str) -> str:
    """The text without NUL characters and halves of surrogate pairs, which fonts may map to."""
    text = text.replace("\0", "")
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
