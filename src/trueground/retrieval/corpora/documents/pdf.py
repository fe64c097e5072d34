"""PDF files: their text layer."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from trueground.errors import InputError, MissingExtraError
from trueground.retrieval.corpora.documents.base import Document, Section, paragraphs

if TYPE_CHECKING:
    from pypdf import PdfReader

_BROKEN_WORD = re.compile(r"(\w+)(-|\u2010|\u00ad)[ \t]*\n[ \t]*([^\W\d_A-Z]\w*)")
_ENDS = (".", "!", "?", ":", '"', "”", "。")
_HYPHENATED = re.compile(r"\w+-\w+")
_LIGATURES = str.maketrans(
    {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st", "\u00ad": ""}
)


def read_pdf(path: Path) -> Document:
    """A PDF file as one section; its title is that of its metadata.

    Pages without a text layer stand in the notes. InputError: no page has one, the file is
    encrypted with a password, or it is broken. MissingExtraError.
    """
    try:
        from pypdf import PdfReader
    except ImportError:
        raise MissingExtraError("reading PDF files", "documents") from None
    texts: list[str] = []
    try:
        with _silent(), PdfReader(path) as reader:
            _unlock(reader, path)
            for page in reader.pages:
                texts.append(_plain(page.extract_text()))  # noqa: PERF401 - errors name the page
            title = _plain((reader.metadata and reader.metadata.title) or "").strip()
    except InputError:
        raise
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error
    except Exception as error:  # a broken file makes pypdf raise all kinds of errors
        place = f"{path}, after page {len(texts)}" if texts else str(path)
        raise InputError(
            f"{place}: it is no sound PDF file ({type(error).__name__}: {error}); open and save it "
            "anew, or leave it out"
        ) from error
    return _document(path, texts, title)


@contextmanager
def _silent() -> Iterator[None]:
    """Without pypdf's own log, whose lines name no file; what ends in an error is told by that."""
    log = logging.getLogger("pypdf")
    before = log.level
    log.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        log.setLevel(before)


def _document(path: Path, texts: list[str], title: str) -> Document:
    bare = [number for number, text in enumerate(texts, start=1) if not text.strip()]
    if len(bare) == len(texts):
        raise InputError(
            f"{path}: none of its {len(texts)} pages has a text layer (is it a scan?); make one by "
            "OCR (for example with ocrmypdf), or leave it out"
        )
    notes = []
    if bare:
        pages = f"page{'s' if len(bare) > 1 else ''} {', '.join(map(str, bare))}"
        notes.append(f"{path}, {pages}: no text layer (blank, or a scan that needs OCR)")
    text = ""
    for page in texts:
        # A sentence may go on over the page.
        text += ("\n\n" if text.rstrip().endswith(_ENDS) else "\n") + page.strip()
    return Document(title or None, [Section(paragraphs=paragraphs(joined(text)))], notes)


def joined(text: str) -> str:
    """The text with words that were broken at a line's end put together.

    The hyphen stays where the document has the word with it elsewhere inside a line.
    """
    hyphenated = set(_HYPHENATED.findall(text.casefold()))

    def whole(match: re.Match[str]) -> str:
        first, mark, rest = match.groups()
        kept = mark != "\u00ad" and f"{first}-{rest}".casefold() in hyphenated
        return f"{first}-{rest}" if kept else first + rest

    return _BROKEN_WORD.sub(whole, text).translate(_LIGATURES)


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


def _plain(text: str) -> str:
    """The text without NUL characters and halves of surrogate pairs, which fonts may map to."""
    text = text.replace("\0", "")
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
