"""METEOR as NLTK computes it, with alpha 0.9, beta 3 and gamma 0.5.

Words match by form, stem or WordNet synonym. NLTK is the optional extra `meteor` and is imported
at the first call. No maintained Python package contains the WordNet 3.0 database, so it is read
from a folder of the user, from NLTK's data, or from Debian's package.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import lru_cache
from io import StringIO
from pathlib import Path
from threading import Lock
from types import SimpleNamespace
from typing import Any, NamedTuple

from trueground.errors import MissingExtraError, UsageError

WORDNET_VARIABLE = "TRUEGROUND_WORDNET"
DEBIAN_WORDNET = "/usr/share/wordnet"
MAX_CACHED_WORDS = 100_000
_PARTS_OF_SPEECH = ("noun", "verb", "adj", "adv")
_FILES = (
    *(f"data.{part}" for part in _PARTS_OF_SPEECH),
    *(f"index.{part}" for part in _PARTS_OF_SPEECH),
    *(f"{part}.exc" for part in _PARTS_OF_SPEECH),
)
_HOW_TO_INSTALL = (
    "Install it with `python -m nltk.downloader wordnet` (needs a network) or with "
    "`apt-get install wordnet-base` (Debian, Ubuntu). If you already have its files, set "
    f"{WORDNET_VARIABLE}=FOLDER or use the option: meteor(wordnet=FOLDER)."
)


def meteor(response: str, references: Sequence[str], wordnet: str | None = None) -> float:
    """Return METEOR of the response against its best reference, in [0, 1].

    Args:
        response: The answer.
        references: The acceptable answers. Each is tokenized line by line by the Treebank rules,
            so no sentence model is needed.
        wordnet: Folder with WordNet's database files. Default: the variable TRUEGROUND_WORDNET,
            then NLTK's data, then Debian's folder.

    Raises:
        ValueError: No reference was given.
        MissingExtraError: NLTK isn't installed.
        UsageError: WordNet isn't installed.
    """
    if not references:
        raise ValueError("meteor needs at least one reference")
    nltk = _load_nltk()
    synonyms = _synonyms(wordnet or os.environ.get(WORDNET_VARIABLE) or None)
    score = nltk.meteor_score(
        [nltk.tokenize(reference) for reference in references],
        nltk.tokenize(response),
        str.lower,
        nltk.stemmer,
        synonyms,
        beta=_Cube(),
    )
    return float(score)


class _Cube:
    """METEOR's exponent 3. Powers of floats use the C library, whose last digit varies."""

    def __rpow__(self, base: float) -> float:
        return base * base * base


def load_meteor(wordnet: str | None = None) -> None:
    """Load NLTK and WordNet, so that an error comes before any work is done."""
    _load_nltk()
    _synonyms(wordnet or os.environ.get(WORDNET_VARIABLE) or None)


class _Nltk(NamedTuple):
    """What is used of NLTK: a score function, a word tokenizer and a stemmer with a cache."""

    meteor_score: Any
    tokenize_line: Callable[[str], list[str]]
    stemmer: Any

    def tokenize(self, text: str) -> list[str]:
        tokens: list[str] = []
        for line in text.splitlines():
            tokens += self.tokenize_line(line)
        return tokens


@lru_cache(maxsize=1)
def _load_nltk() -> _Nltk:
    try:
        from nltk.stem.porter import PorterStemmer
        from nltk.tokenize import NLTKWordTokenizer
        from nltk.translate.meteor_score import meteor_score
    except ImportError as error:
        raise MissingExtraError("meteor", "meteor") from error
    stemmer = SimpleNamespace(stem=lru_cache(MAX_CACHED_WORDS)(PorterStemmer().stem))
    return _Nltk(meteor_score, NLTKWordTokenizer().tokenize, stemmer)


@lru_cache(maxsize=4)
def _synonyms(folder: str | None) -> Any:
    """Return the lexicon in `folder`, or the installed one. Loading takes a second or two."""
    reader = _default_reader() if folder is None else _reader(folder)
    lock = Lock()

    @lru_cache(MAX_CACHED_WORDS)
    def synsets(word: str) -> Any:
        with lock:  # The reader seeks in shared files, so only one thread may use it.
            return reader.synsets(word)

    return SimpleNamespace(synsets=synsets)


def _default_reader() -> Any:
    """Read NLTK's data or Debian's package, whichever is installed."""
    import nltk

    # NLTK's downloader doesn't unpack WordNet, and NLTK finds a packed folder only by this name.
    for resource in ("corpora/wordnet", "corpora/wordnet.zip/wordnet/"):
        try:
            return _reader(nltk.data.find(resource))
        except LookupError:
            continue
    if not Path(DEBIAN_WORDNET, _FILES[0]).is_file():
        raise UsageError(
            f"meteor needs the WordNet database, which isn't installed. {_HOW_TO_INSTALL}"
        )
    return _reader(DEBIAN_WORDNET)


def _reader(root: Any) -> Any:
    """Return NLTK's reader of WordNet's files; `root` is a folder or NLTK's path pointer."""
    import nltk
    from nltk.corpus.reader import CorpusReader, WordNetCorpusReader

    class Database(WordNetCorpusReader):  # type: ignore[misc]
        """A reader that doesn't need the files that Debian's package lacks."""

        def open(self, file: str) -> Any:
            """Open a database file; METEOR doesn't use the names of lexicographer files."""
            if file == "lexnames":
                return StringIO("".join(f"{n:02d}\tlexfile.{n:02d}\t0\n" for n in range(45)))
            return super().open(file)

        def map_wn(self, version: str = "wordnet") -> None:
            """Load no map between versions: only languages other than English need it."""

    if type(root) is str:
        _check_folder(root)
        root = str(Path(root).resolve())
        # NLTK opens files only below the folders in this list.
        if root not in nltk.data.path:
            nltk.data.path.append(root)
    return Database(root, CorpusReader(root, []))


def _check_folder(folder: str) -> None:
    missing = [name for name in _FILES if not (Path(folder) / name).is_file()]
    if missing:
        raise UsageError(
            f"meteor needs the WordNet database. The folder {folder!r} lacks these files: "
            f"{', '.join(missing)}. {_HOW_TO_INSTALL}"
        )
