"""PDF files as documents: their text layer, with hyphenated words joined."""

from __future__ import annotations

import logging
import re
from pathlib import Path
from typing import TYPE_CHECKING

from trueground.errors import InputError, MissingExtraError
from trueground.wings.search.sections import Outline, split_paragraphs

if TYPE_CHECKING:
    from pypdf import PdfReader

_BROKEN_WORD = re.compile(r"(\w+)(-|\u2010|\u00ad)[ \t]*\n[ \t]*([^\W\d_A-Z]\w*)")
_ENDS = (".", "!", "?", ":", '"', "”", "。")
_HYPHENATED = re.compile(r"\w+-\w+")
_LIGATURES = str.maketrans(
    {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st", "\u00ad": ""}
)


def read_pdf(path: Path) -> Outline:
    """Return a PDF file as one section, with the title of its metadata.

    The notes list pages without a text layer.

    Raises:
        InputError: No page has a text layer, or the file is damaged or needs a password.
        MissingExtraError: An optional package is missing.
    """
    pages, title = _read_pages(path)
    empty_pages = [number for number, text in enumerate(pages, start=1) if not text.strip()]
    if len(empty_pages) == len(pages):
        raise InputError(
            f"{path}: none of its {len(pages)} pages has a text layer (is it a scan?); add one by "
            "OCR (for example with ocrmypdf), or leave it out"
        )
    outline = Outline()
    outline.title = title
    if empty_pages:
        pages_text = "pages" if len(empty_pages) > 1 else "page"
        numbers = ", ".join(map(str, empty_pages))
        outline.notes.append(
            f"{path}, {pages_text} {numbers}: no text layer (blank, or a scan that needs OCR)"
        )
    text = ""
    for page in pages:
        # A sentence may continue on the next page.
        text += ("\n\n" if text.rstrip().endswith(_ENDS) else "\n") + page.strip()
    outline.sections[0].paragraphs += split_paragraphs(join_broken_words(text))
    return outline


def _read_pages(path: Path) -> tuple[list[str], str]:
    """Return the texts of a PDF file's pages, and its title."""
    try:
        from pypdf import PdfReader
    except ImportError:
        raise MissingExtraError("reading PDF files", "documents") from None
    pages: list[str] = []
    # The log of pypdf names no files, and all errors are reported here.
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
        raise InputError(f"can't read {path}: {error.strerror or error}") from error
    except Exception as error:  # A damaged file makes pypdf raise all kinds of errors.
        location = f"{path}, after page {len(pages)}" if pages else str(path)
        raise InputError(
            f"{location}: the PDF file is damaged ({type(error).__name__}: {error}); open it and "
            "save it again, or leave it out"
        ) from error
    finally:
        log.setLevel(level)
    return pages, title


def join_broken_words(text: str) -> str:
    """Join words that were hyphenated at the end of a line.

    If the document has the word with a hyphen inside a line too, the hyphen stays.
    """
    hyphenated = set(_HYPHENATED.findall(text.casefold()))

    def join(match: re.Match[str]) -> str:
        first, mark, rest = match.groups()
        keep = mark != "\u00ad" and f"{first}-{rest}".casefold() in hyphenated
        return f"{first}-{rest}" if keep else first + rest

    return _BROKEN_WORD.sub(join, text).translate(_LIGATURES)


def _unlock(reader: PdfReader, path: Path) -> None:
    """Decrypt a file with an empty password, or raise InputError. Many files have an empty one."""
    if not reader.is_encrypted:
        return
    reason = ""
    try:
        if reader.decrypt(""):
            return
    except Exception as error:  # The cipher needs another package, or is unknown.
        reason = f" ({error})"
    raise InputError(
        f"{path} is encrypted{reason}; save it without a password (for example with "
        "`qpdf --decrypt`), or leave it out"
    )


def _clean(text: str) -> str:
    """Remove NUL characters and lone surrogates, which come from fonts."""
    text = text.replace("\0", "")
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
