"""Passages in a fixed order: in an SQLite file that is written whole or not at all, or in memory.

Tables of the file:

pages      title, address, and the numbers of its first and last passage; passages that follow each
           other under one title and address are one page
passages   id, page, text, by number from 0
names      by which names each page is known: the `page_key` of its title and of its address
meta       one row: format, how many passages, their SHA-256, what they were made from, what of
           that was left out
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
_ID_PREFIX = "wiki:"  # DPR's and TopiOCQA's gold ids have it, the ids in their corpora do not
_AT_ONCE = 512  # passages that are read together when they are read in order
_WRITTEN = 4_096  # passages that are written together
_TABLES = """
CREATE TABLE pages
    (number INTEGER PRIMARY KEY, title TEXT, address TEXT, first INTEGER, last INTEGER);
CREATE TABLE passages (number INTEGER PRIMARY KEY, id TEXT, page INTEGER, text TEXT);
CREATE TABLE names (name TEXT, page INTEGER);
CREATE TABLE meta (format INTEGER, passages INTEGER, sha256 TEXT, made_from TEXT, notes TEXT);
"""
_READ = (
    "SELECT text, id, title, address FROM passages CROSS JOIN pages ON pages.number = page "
    "WHERE passages.number "
)
_Row = tuple[str, str, str | None, str | None]


class PassageEntry(NamedTuple):
    """One passage, before it has a number. `page` names what it is a part of."""

    text: str
    id: str
    title: str | None = None
    page: str | None = None


class _PassageLine(msgspec.Struct, omit_defaults=True):
    """A passage as the SHA-256 of all passages is made of it: one JSON object a line."""

    id: str
    title: str | None = None
    page: str | None = None
    text: str = ""


def page_key(name: str) -> str:
    """A page's name or address as it is compared: case, `_` and white space make no difference."""
    return " ".join(unicodedata.normalize("NFC", name).casefold().replace("_", " ").split())


def bare_id(id_: str) -> str:
    """A gold passage's id as corpora write it: "7" for "wiki:7"."""
    return id_.removeprefix(_ID_PREFIX)


def next_step(error: Exception) -> str:
    """What to do about a file that cannot be written, as the beginning of a sentence."""
    code = getattr(error, "errno", None)
    if code in (errno.ENOSPC, errno.EFBIG, errno.EDQUOT) or "full" in str(error):
        return "make room there"
    if code in (errno.EACCES, errno.EPERM, errno.EROFS) or "unable to open" in str(error):
        return "allow writing there"
    return "fix that"


class TornError(InputError):
    """A store that is not there, not whole, or of another version: it can only be made anew."""


class PassageStore:
    """Passages by number from 0; `store[i]` is passage i, with its page as its source.

    Of a file only what is asked for is read; nothing of the texts stays in memory. Safe in threads
    and after a fork, and cheap to send to other processes (it is opened again there).
    """

    def __init__(self, path: Path | None, entries: Iterable[PassageEntry] = ()) -> None:
        """The store in a file; without one `entries` are held in memory.

        InputError: no store (TornError: none, or one that is damaged); `entries` as `write` says.
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
                raise self._torn("it is cut off")
        [meta] = self._rows("SELECT format, passages, sha256, made_from, notes FROM meta")
        if meta[0] != FORMAT:
            raise TornError(
                f"{path}: found passages of format {meta[0]}, expected {FORMAT}; build it again"
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
        """Write the entries to the file `path`, which appears when all is written, and open it.

        `made_from` names what they come from; `notes`, looked at when all entries were read, say
        what was left out of it. Both are kept with the passages. In memory are some thousand
        entries at a time. InputError: no entry, a blank text or id, two entries with one id, a lone
        surrogate. OutputError: the file is there. WriteError: the disk is full or may not be
        written.
        """
        if path.exists():
            raise OutputError(f"{path} is there already; remove it, or choose another place")
        part = OutputPath(path).part
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            part.unlink(missing_ok=True)
            with closing(sqlite3.connect(part)) as db:
                db.execute("PRAGMA journal_mode = OFF")
                db.execute("PRAGMA synchronous = OFF")
                if not _fill(db, entries, progress, made_from, notes):
                    raise InputError("the corpus holds no passage; name files that hold some text")
            with part.open("rb+") as written:
                os.fsync(written.fileno())
            part.rename(path)
        except (OSError, sqlite3.Error) as error:
            reason = error.strerror or error if isinstance(error, OSError) else error
            raise WriteError(
                f"the passages could not be written to {path}: {reason}; "
                f"{next_step(error)}, or choose another folder"
            ) from error
        finally:
            with suppress(OSError):
                part.unlink(missing_ok=True)
        return cls(path)

    @property
    def texts(self) -> Sequence[str]:
        """The texts, read at each access; slices and loops read many at once."""
        return _View(self, titled=False)

    @property
    def searched(self) -> Sequence[str]:
        """What retrievers compare: title and text with one space between, read at each access."""
        return _View(self, titled=True)

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
        """By which names the passage's page is known: its page's and its title's `page_key`."""
        return _names(*self.row(index)[2:])

    def number(self, id_: str) -> int | None:
        """The number of the passage with this id, None if there is none.

        "wiki:7", as DPR and TopiOCQA name their gold passages, also finds the passage "7".
        """
        for known in dict.fromkeys((id_, bare_id(id_))):
            for (number,) in self._rows("SELECT number FROM passages WHERE id = ?", known):
                return int(number)
        return None

    def numbers_of_title(self, title: str) -> list[int]:
        """The passages whose title or page is so called, ascending.

        Case, `_` and white space make no difference.
        """
        found = self._rows(
            "SELECT first, last FROM names JOIN pages ON pages.number = page WHERE name = ? "
            "ORDER BY first",
            page_key(title),
        )
        return [number for first, last in found for number in range(first, last + 1)]

    def row(self, index: int) -> _Row:
        """(text, id, title, address) of a passage. IndexError: there is no such number."""
        if not -self._size <= index < self._size:
            raise IndexError(f"passage {index} of {self._size}")
        found = self._rows(_READ + "= ?", int(index) % self._size)
        if not found:
            raise self._torn(f"passage {index} is not there")
        one: _Row = found[0]
        return one

    def rows(self, start: int, stop: int) -> Iterator[_Row]:
        """(text, id, title, address) of the passages from `start` to before `stop`, in order."""
        for first in range(start, stop, _AT_ONCE):
            last = min(first + _AT_ONCE, stop)
            query = _READ + ">= ? AND passages.number < ? ORDER BY passages.number"
            found = self._rows(query, first, last)
            if len(found) != last - first:
                raise self._torn(f"found {len(found)} passages from number {first} to {last - 1}")
            yield from found

    def _rows(self, query: str, *values: Any) -> list[Any]:
        if self._process != os.getpid() and self.path is not None:
            # An open database may not be used on both sides of a fork.
            self._lock, self._process, self._db = threading.Lock(), os.getpid(), _open(self.path)
        try:
            with self._lock:
                return self._db.execute(query, values).fetchall()
        except sqlite3.OperationalError as error:
            if "disk I/O" in str(error):
                raise InputError(f"{self.path} cannot be read: {error}; fix that") from error
            raise self._torn(str(error)) from error
        except sqlite3.DatabaseError as error:
            raise self._torn(str(error)) from error

    def _torn(self, reason: str) -> TornError:
        return TornError(f"{self.path} is damaged or incomplete ({reason}); build it again")


class _View(Sequence[str]):
    """One text of each passage of a store."""

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
        raise TornError(
            f"there are no passages in {path}; name the folder of an index, or build one"
        )
    try:
        # It never changes, so no lock and no journal is looked for.
        uri = f"{path.absolute().as_uri()}?mode=ro&immutable=1"
        return sqlite3.connect(uri, uri=True, check_same_thread=False)
    except sqlite3.Error as error:
        raise InputError(f"{path} cannot be read: {error}; fix that") from error


def _fill(
    db: sqlite3.Connection,
    entries: Iterable[PassageEntry],
    progress: Progress,
    made_from: str,
    notes: Sequence[str],
) -> int:
    """Make the tables; how many passages there are. InputError as `PassageStore.write` says."""
    db.executescript(_TABLES)
    digest, encode = hashlib.sha256(), msgspec.json.Encoder().encode
    passages: list[tuple[int, str, int, str]] = []
    page, first, count = -1, 0, 0
    known: tuple[str | None, str | None] | None = None

    def end_page() -> None:
        if known is not None:
            db.execute("INSERT INTO pages VALUES (?, ?, ?, ?, ?)", (page, *known, first, count - 1))
            names = ((name, page) for name in _names(*known))
            db.executemany("INSERT INTO names VALUES (?, ?)", names)

    for entry in entries:
        text, id_, title, address = entry
        if not text or text.isspace():
            raise InputError(
                f"passage {count} (counted from 0; id {id_!r}, page {address!r}): found blank "
                "text; expected some characters: leave it out of the corpus"
            )
        if not id_ or id_.isspace():
            raise InputError(
                f"passage {count} (counted from 0; page {address!r}): found a blank id; expected "
                "some characters, or no ids at all"
            )
        try:
            digest.update(encode(_PassageLine(id_, title, address, text)) + b"\n")
        except UnicodeEncodeError as error:
            raise InputError(
                f"the passage with the id {id_!r} holds a lone surrogate "
                f"(\\u{ord(error.object[error.start]):04x}); expected whole characters, saved as "
                "UTF-8"
            ) from None
        if (title, address) != known:
            end_page()
            known, first, page = (title, address), count, page + 1
        passages.append((count, id_, page, text))
        count += 1
        if len(passages) == _WRITTEN:
            db.executemany("INSERT INTO passages VALUES (?, ?, ?, ?)", passages)
            passages.clear()
            progress("passages", count, None)
    end_page()
    db.executemany("INSERT INTO passages VALUES (?, ?, ?, ?)", passages)
    try:
        db.execute("CREATE UNIQUE INDEX by_id ON passages (id)")
    except sqlite3.IntegrityError:
        query = "SELECT id, min(number), max(number) FROM passages GROUP BY id HAVING count(*) > 1"
        id_, one, other = db.execute(query).fetchone()
        raise InputError(
            f"passages {one} and {other} (counted from 0) have the same id {id_!r}; expected ids "
            "that differ: rename one, or leave all ids out"
        ) from None
    db.execute("CREATE INDEX by_name ON names (name, page)")
    said = msgspec.json.encode(list(notes)).decode()
    values = (FORMAT, count, digest.hexdigest(), made_from, said)
    db.execute("INSERT INTO meta VALUES (?, ?, ?, ?, ?)", values)
    db.commit()
    progress("passages", count, count)
    return count


def _names(title: str | None, address: str | None) -> frozenset[str]:
    return frozenset(page_key(name) for name in (address, title) if name)
