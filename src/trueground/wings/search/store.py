"""Passages in a fixed order, in memory or in an SQLite file that is written atomically.

Tables of the file:

pages      title, address, and the numbers of its first and last passage; consecutive passages
           with the same title and address are one page
passages   id, page, text, by number from 0
names      the names of each page: the `page_key` of its title and of its address
meta       one row: format, number of passages, their SHA-256, their source, and warnings about
           what was left out of the source
"""

from __future__ import annotations

import errno
import hashlib
import os
import sqlite3
import threading
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, NamedTuple, overload

import msgspec

from trueground.errors import InputError, OutputError, WriteError
from trueground.files import OutputPath
from trueground.options import Progress, do_nothing
from trueground.types import Passage

FORMAT = 2
_ID_PREFIX = "wiki:"  # Gold ids of DPR and TopiOCQA have it, the ids in their corpora don't.
_PASSAGES_PER_READ = 512
_PASSAGES_PER_WRITE = 4_096
_TABLES = """
CREATE TABLE pages
    (number INTEGER PRIMARY KEY, title TEXT, address TEXT, first INTEGER, last INTEGER);
CREATE TABLE passages (number INTEGER PRIMARY KEY, id TEXT, page INTEGER, text TEXT);
CREATE TABLE names (name TEXT, page INTEGER);
CREATE TABLE meta (format INTEGER, passages INTEGER, sha256 TEXT, made_from TEXT, notes TEXT);
"""
_SELECT_ROWS = (
    "SELECT text, id, title, address FROM passages CROSS JOIN pages ON pages.number = page "
    "WHERE passages.number "
)
_Row = tuple[str, str, str | None, str | None]


class PassageEntry(NamedTuple):
    """A passage before it has a number; `page` is the page or document that it is from."""

    text: str
    id: str
    title: str | None = None
    page: str | None = None


class _PassageLine(msgspec.Struct, omit_defaults=True):
    """A passage in the input of the SHA-256 of all passages: one JSON object per line."""

    id: str
    title: str | None = None
    page: str | None = None
    text: str = ""


def page_key(name: str) -> str:
    """Return a page's name or address for comparison: case, `_` and white space are ignored."""
    return " ".join(unicodedata.normalize("NFC", name).casefold().replace("_", " ").split())


def bare_id(id_: str) -> str:
    """Return a gold passage's id as in the corpus: "7" for "wiki:7"."""
    return id_.removeprefix(_ID_PREFIX)


def next_step(error: Exception) -> str:
    """Return what to do about a file that can't be written, as the start of a sentence."""
    code = error.errno if isinstance(error, OSError) else None
    if code in (errno.ENOSPC, errno.EFBIG, errno.EDQUOT) or "full" in str(error):
        return "free some disk space"
    if code in (errno.EACCES, errno.EPERM, errno.EROFS) or "unable to open" in str(error):
        return "allow writing there"
    return "fix the cause"


class CorruptStoreError(InputError):
    """A store is missing, damaged or of another version, and has to be rebuilt."""


class PassageStore:
    """Passages by number from 0; `store[i]` is passage i, with its page as its source.

    Only the requested passages are read from the file; their texts aren't kept in memory. A store
    is safe in threads and after a fork. Pickling it is cheap: the other process opens it again.

    Attributes:
        path: The file, None for a store in memory.
        sha256: The SHA-256 of all passages.
        made_from: Identifies the source of the passages.
        notes: Warnings about what was left out of the source.
    """

    def __init__(self, path: Path | None, entries: Iterable[PassageEntry] = ()) -> None:
        """Open a store in a file, or make one in memory.

        Args:
            path: The file; None for a store in memory.
            entries: The passages of a store in memory.

        Raises:
            CorruptStoreError: The file is missing or damaged.
            InputError: The file can't be read, or the entries aren't valid.
        """
        self.path = path
        self._lock, self._process = threading.Lock(), os.getpid()
        if path is None:
            self._db = sqlite3.connect(":memory:", check_same_thread=False)
            _fill(self._db, entries, do_nothing, "", ())
        else:
            self._db = _open(path)
        if path is not None:
            [(pages, size)] = self._rows("SELECT * FROM pragma_page_count, pragma_page_size")
            if path.stat().st_size != pages * size:
                raise self._corrupt("it is truncated")
        [meta] = self._rows("SELECT format, passages, sha256, made_from, notes FROM meta")
        if meta[0] != FORMAT:
            raise CorruptStoreError(
                f"{path}: found passages of format {meta[0]}, expected {FORMAT}; rebuild it"
            )
        self._size: int = meta[1]
        self.sha256: str = meta[2]
        self.made_from: str = meta[3]
        self.notes: list[str] = msgspec.json.decode(meta[4])

    @classmethod
    def write(
        cls,
        path: Path,
        entries: Iterable[PassageEntry],
        progress: Progress = do_nothing,
        *,
        made_from: str = "",
        notes: Sequence[str] = (),
    ) -> PassageStore:
        """Write entries to a file, and open it. The file appears when it is complete.

        A few thousand entries are in memory at a time.

        Args:
            path: The file.
            entries: The passages.
            progress: Called with the number of passages.
            made_from: Identifies the source of the passages; kept in the file.
            notes: Warnings about what was left out; kept in the file. They are read after the last
                entry.

        Raises:
            InputError: There is no entry, a text or id is blank, two entries have the same id, or
                a text has a lone surrogate.
            OutputError: The file exists.
            WriteError: The disk is full, or the folder isn't writable.
        """
        if path.exists():
            raise OutputError(f"{path} exists already; remove it, or choose another path")
        part = OutputPath(path).part
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            part.unlink(missing_ok=True)
            with closing(sqlite3.connect(part)) as db:
                db.execute("PRAGMA journal_mode = OFF")
                db.execute("PRAGMA synchronous = OFF")
                if not _fill(db, entries, progress, made_from, notes):
                    raise InputError("the corpus has no passages; name files that contain text")
            with part.open("rb+") as stream:
                os.fsync(stream.fileno())
            part.rename(path)
        except (OSError, sqlite3.Error) as error:
            reason = error.strerror or error if isinstance(error, OSError) else error
            raise WriteError(
                f"can't write the passages to {path}: {reason}; {next_step(error)}, or choose "
                "another folder"
            ) from error
        finally:
            with suppress(OSError):
                part.unlink(missing_ok=True)
        return cls(path)

    @property
    def texts(self) -> Sequence[str]:
        """The texts, read at each access; slices and loops read many at once."""
        return _TextView(self, titled=False)

    @property
    def searched(self) -> Sequence[str]:
        """The texts that retrievers search: title and text, joined by a space."""
        return _TextView(self, titled=True)

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, index: int) -> Passage:
        text, id_, title, address = self.row(index)
        return Passage(text, id=id_, title=title, source=address)

    def __iter__(self) -> Iterator[Passage]:
        for text, id_, title, address in self.rows(0, self._size):
            yield Passage(text, id=id_, title=title, source=address)

    def __reduce__(self) -> tuple[type[PassageStore], tuple[Path | None]]:
        return type(self), (self.path,)

    def page_keys(self, index: int) -> frozenset[str]:
        """Return the names of the passage's page: the `page_key` of its page and of its title."""
        return _names(*self.row(index)[2:])

    def number(self, id_: str) -> int | None:
        """Return the number of the passage with this id, None if there is none.

        The id "wiki:7" also finds the passage "7": DPR and TopiOCQA write gold ids that way.
        """
        for candidate in dict.fromkeys((id_, bare_id(id_))):
            for (number,) in self._rows("SELECT number FROM passages WHERE id = ?", candidate):
                return int(number)
        return None

    def numbers_of_title(self, title: str) -> list[int]:
        """Return the numbers of the passages with this title or page, ascending.

        Case, `_` and white space are ignored.
        """
        ranges = self._rows(
            "SELECT first, last FROM names JOIN pages ON pages.number = page WHERE name = ? "
            "ORDER BY first",
            page_key(title),
        )
        numbers: list[int] = []
        for first, last in ranges:
            numbers.extend(range(first, last + 1))
        return numbers

    def row(self, index: int) -> _Row:
        """Return (text, id, title, address) of a passage. Raises IndexError."""
        if not -self._size <= index < self._size:
            raise IndexError(f"passage {index} of {self._size}")
        rows: list[_Row] = self._rows(_SELECT_ROWS + "= ?", int(index) % self._size)
        if not rows:
            raise self._corrupt(f"passage {index} is missing")
        return rows[0]

    def rows(self, start: int, stop: int) -> Iterator[_Row]:
        """Yield (text, id, title, address) of the passages from `start` to before `stop`."""
        for first in range(start, stop, _PASSAGES_PER_READ):
            end = min(first + _PASSAGES_PER_READ, stop)
            query = _SELECT_ROWS + ">= ? AND passages.number < ? ORDER BY passages.number"
            rows = self._rows(query, first, end)
            if len(rows) != end - first:
                raise self._corrupt(
                    f"found {len(rows)} of the {end - first} passages from number {first} on"
                )
            yield from rows

    def _rows(self, query: str, *values: Any) -> list[Any]:
        if self._process != os.getpid() and self.path is not None:
            # SQLite doesn't allow a connection to be used in both processes after a fork.
            self._lock, self._process, self._db = threading.Lock(), os.getpid(), _open(self.path)
        try:
            with self._lock:
                return self._db.execute(query, values).fetchall()
        except sqlite3.OperationalError as error:
            if "disk I/O" in str(error):
                raise InputError(f"can't read {self.path}: {error}; fix the cause") from error
            raise self._corrupt(str(error)) from error
        except sqlite3.DatabaseError as error:
            raise self._corrupt(str(error)) from error

    def _corrupt(self, reason: str) -> CorruptStoreError:
        return CorruptStoreError(f"{self.path} is damaged or incomplete ({reason}); rebuild it")


class _TextView(Sequence[str]):
    """The texts of a store's passages, with or without their titles."""

    def __init__(self, store: PassageStore, *, titled: bool) -> None:
        self._store, self._titled = store, titled

    def __len__(self) -> int:
        return len(self._store)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if not isinstance(index, slice):
            return self._text(self._store.row(index))
        start, stop, step = index.indices(len(self))
        if step == 1:
            return list(map(self._text, self._store.rows(start, stop)))
        return [self._text(self._store.row(i)) for i in range(start, stop, step)]

    def __iter__(self) -> Iterator[str]:
        return map(self._text, self._store.rows(0, len(self)))

    def _text(self, row: _Row) -> str:
        return f"{row[2]} {row[0]}" if self._titled and row[2] else row[0]


def _open(path: Path) -> sqlite3.Connection:
    if not path.is_file():
        raise CorruptStoreError(
            f"{path} doesn't exist, so there are no passages; name the folder of an index, or "
            "build one"
        )
    try:
        # The file never changes, so SQLite doesn't have to look for locks and journals.
        uri = f"{path.absolute().as_uri()}?mode=ro&immutable=1"
        return sqlite3.connect(uri, uri=True, check_same_thread=False)
    except sqlite3.Error as error:
        raise InputError(f"can't read {path}: {error}; fix the cause") from error


def _fill(
    db: sqlite3.Connection,
    entries: Iterable[PassageEntry],
    progress: Progress,
    made_from: str,
    notes: Sequence[str],
) -> int:
    """Fill the tables and return the number of passages. Raises InputError."""
    db.executescript(_TABLES)
    digest, encode = hashlib.sha256(), msgspec.json.Encoder().encode
    passages: list[tuple[int, str, int, str]] = []
    page, first, count = -1, 0, 0
    current_page: tuple[str | None, str | None] | None = None

    def end_page() -> None:
        if current_page is not None:
            values = (page, *current_page, first, count - 1)
            db.execute("INSERT INTO pages VALUES (?, ?, ?, ?, ?)", values)
            names = ((name, page) for name in _names(*current_page))
            db.executemany("INSERT INTO names VALUES (?, ?)", names)

    for entry in entries:
        text, id_, title, address = entry
        _check_entry(entry, count)
        try:
            digest.update(encode(_PassageLine(id_, title, address, text)) + b"\n")
        except UnicodeEncodeError as error:
            raise InputError(
                f"the passage with the id {id_!r} contains a lone surrogate "
                f"(\\u{ord(error.object[error.start]):04x}); expected valid characters, saved as "
                "UTF-8"
            ) from None
        if (title, address) != current_page:
            end_page()
            current_page, first, page = (title, address), count, page + 1
        passages.append((count, id_, page, text))
        count += 1
        if len(passages) == _PASSAGES_PER_WRITE:
            db.executemany("INSERT INTO passages VALUES (?, ?, ?, ?)", passages)
            passages.clear()
            progress("passages", count, None)
    end_page()
    db.executemany("INSERT INTO passages VALUES (?, ?, ?, ?)", passages)
    _index_tables(db)
    encoded_notes = msgspec.json.encode(list(notes)).decode()
    values = (FORMAT, count, digest.hexdigest(), made_from, encoded_notes)
    db.execute("INSERT INTO meta VALUES (?, ?, ?, ?, ?)", values)
    db.commit()
    progress("passages", count, count)
    return count


def _check_entry(entry: PassageEntry, number: int) -> None:
    """Raise InputError if the text or id of a passage is blank."""
    text, id_, _, address = entry
    if not text or text.isspace():
        raise InputError(
            f"passage {number} (counted from 0; id {id_!r}, page {address!r}): found blank text; "
            "expected some text. Leave it out of the corpus"
        )
    if not id_ or id_.isspace():
        raise InputError(
            f"passage {number} (counted from 0; page {address!r}): found a blank id; expected an "
            "id for every passage, or for none"
        )


def _index_tables(db: sqlite3.Connection) -> None:
    """Add indices for ids and names. Raises InputError if an id is repeated."""
    try:
        db.execute("CREATE UNIQUE INDEX by_id ON passages (id)")
    except sqlite3.IntegrityError:
        query = "SELECT id, min(number), max(number) FROM passages GROUP BY id HAVING count(*) > 1"
        id_, first, last = db.execute(query).fetchone()
        raise InputError(
            f"passages {first} and {last} (counted from 0) have the same id {id_!r}; expected "
            "unique ids. Rename one, or leave all ids out"
        ) from None
    db.execute("CREATE INDEX by_name ON names (name, page)")


def _names(title: str | None, address: str | None) -> frozenset[str]:
    return frozenset(page_key(name) for name in (address, title) if name)
