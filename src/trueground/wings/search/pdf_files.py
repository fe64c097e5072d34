"""PDF files as documents: their text layer, with broken words joined."""

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
    """Return a PDF file as one section; its title is that of its metadata.

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
    outline = Outline()
    outline.title = title
    if bare:
        named = f"page{'s' if len(bare) > 1 else ''} {', '.join(map(str, bare))}"
        outline.notes.append(f"{path}, {named}: no text layer (blank, or a scan that needs OCR)")
    text = ""
    for one in pages:
        # A sentence may go on over the page.
        text += ("\n\n" if text.rstrip().endswith(_ENDS) else "\n") + one.strip()
    outline.sections[0].paragraphs += split_paragraphs(join_broken_words(text))
    return outline


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
