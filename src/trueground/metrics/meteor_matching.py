"""METEOR as NLTK computes it: alpha 0.9, beta 3, gamma 0.5; exact, stem and WordNet synonym.

NLTK is the optional extra `meteor` and is imported at the first call. No maintained Python package
brings the WordNet 3.0 database, so it is read from a folder that the user names, from NLTK's data,
or from Debian's package.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import lru_cache
from io import StringIO
from pathlib import Path
from threading import Lock
from types import SimpleNamespace
from typing import Any

from trueground.errors import MissingExtraError, UsageError

WORDNET_VARIABLE = "TRUEGROUND_WORDNET"
DEBIAN_WORDNET = "/usr/share/wordnet"
_CACHED_WORDS = 100_000
_PARTS = ("noun", "verb", "adj", "adv")
_FILES = (
    *(f"data.{part}" for part in _PARTS),
    *(f"index.{part}" for part in _PARTS),
    *(f"{part}.exc" for part in _PARTS),
)
_HOW_TO_INSTALL = (
    "Install it with `python -m nltk.downloader wordnet` (needs a network) or with "
    "`apt-get install wordnet-base` (Debian, Ubuntu). If you have its files already, set "
    f"{WORDNET_VARIABLE}=FOLDER or the option, as in meteor(wordnet=FOLDER)."
)


def meteor(response: str, references: Sequence[str], wordnet: str | None = None) -> float:
    """METEOR of the response against its best reference, in [0, 1].

    Tokens follow the Treebank rules line by line, so no sentence model is needed. `wordnet` is a
    folder with WordNet's database files; without it the variable TRUEGROUND_WORDNET, NLTK's own
    data and Debian's folder are tried, in this order. Raises ValueError without a reference,
    MissingExtraError without NLTK and UsageError without WordNet.
    """
    if not references:
        raise ValueError("meteor needs at least one reference")
    score, tokenize, stems = _nltk()
    synonyms = _synonyms(wordnet or os.environ.get(WORDNET_VARIABLE) or None)

    def tokens(text: str) -> list[str]:
        return [token for line in text.splitlines() for token in tokenize(line)]

    return float(
        score(
            [tokens(r) for r in references],
            tokens(response),
            str.lower,
            stems,
            synonyms,
            beta=_Cube(),
        )
    )


class _Cube:
    """METEOR's exponent, 3. With a float NLTK would call the C library, whose last digit varies."""

    def __rpow__(self, base: float) -> float:
        return base * base * base


def load_meteor(wordnet: str | None = None) -> None:
    """Load NLTK and WordNet now, so that what is absent is reported before any work is done."""
    _nltk()
    _synonyms(wordnet or os.environ.get(WORDNET_VARIABLE) or None)


@lru_cache(maxsize=1)
def _nltk() -> tuple[Any, Any, Any]:
    """NLTK's score function, its word tokenizer and its Porter stemmer, which remembers."""
    try:
        from nltk.stem.porter import PorterStemmer
        from nltk.tokenize import NLTKWordTokenizer
        from nltk.translate.meteor_score import meteor_score
    except ImportError as error:
        raise MissingExtraError("meteor", "meteor") from error
    stemmer = SimpleNamespace(stem=lru_cache(_CACHED_WORDS)(PorterStemmer().stem))
    return meteor_score, NLTKWordTokenizer().tokenize, stemmer


@lru_cache(maxsize=4)
def _synonyms(folder: str | None) -> Any:
    """Return the lexicon in `folder`, or the installed one. Loading takes a second or two."""
    reader = _default_reader() if folder is None else _reader(folder)
    lock = Lock()

    @lru_cache(_CACHED_WORDS)
    def synsets(word: str) -> Any:
        with lock:  # the reader seeks in shared files: one at a time
            return reader.synsets(word)

    return SimpleNamespace(synsets=synsets)


def _default_reader() -> Any:
    """Read NLTK's data or Debian's package, whichever is installed."""
    import nltk

    # NLTK's downloader leaves WordNet packed, and NLTK finds a packed folder only by this name.
    for resource in ("corpora/wordnet", "corpora/wordnet.zip/wordnet/"):
        try:
            return _reader(nltk.data.find(resource))
        except LookupError:
            continue
    if not Path(DEBIAN_WORDNET, _FILES[0]).is_file():
        raise UsageError(
            f"meteor needs the WordNet database, and WordNet isn't installed. {_HOW_TO_INSTALL}"
        )
    return _reader(DEBIAN_WORDNET)


def _reader(root: Any) -> Any:
    """NLTK's reader over WordNet's database files; `root` is a folder or NLTK's path pointer."""
    import nltk
    from nltk.corpus.reader import CorpusReader, WordNetCorpusReader

    class Database(WordNetCorpusReader):  # type: ignore[misc]
        """Does without the files that only other uses need and that Debian leaves out."""

        def open(self, file: str) -> Any:
            """A database file; the names of the lexicographer files are never looked at here."""
            if file == "lexnames":
                return StringIO("".join(f"{n:02d}\tlexfile.{n:02d}\t0\n" for n in range(45)))
            return super().open(file)

        def map_wn(self, version: str = "wordnet") -> None:
            """No map between versions: it serves languages other than English."""

    if type(root) is str:
        _check_folder(root)
        root = str(Path(root).resolve())
        # NLTK opens files only below the folders that are named here.
        if root not in nltk.data.path:
            nltk.data.path.append(root)
    return Database(root, CorpusReader(root, []))


def _check_folder(folder: str) -> None:
    missing = [name for name in _FILES if not (Path(folder) / name).is_file()]
    if missing:
        raise UsageError(
            f"meteor needs the WordNet database; the folder {folder!r} lacks "
            f"{', '.join(missing)}. {_HOW_TO_INSTALL}"
        )
