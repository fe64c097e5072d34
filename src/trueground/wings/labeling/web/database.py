"""A project's database: opened, made or brought up to date; read in peace, written one by one."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, Self, TypeVar

import sqlalchemy as sql
from sqlalchemy import Connection, Engine, event
from sqlalchemy.exc import IntegrityError, OperationalError, SQLAlchemyError

from trueground.errors import InputError, MissingExtraError, UsageError
from trueground.net import redact_urls
from trueground.wings.labeling.web import schema
from trueground.wings.labeling.web.schema import FORMAT, meta, metadata

T = TypeVar("T")
_PATIENCE = 20  # seconds that a writer waits for another one
_TRIES = 5
_SWEEP_MS = 1_000  # that everybody may have to wait
_LOCK = 7_470_621_501  # of PostgreSQL's advisory locks: ours
_LASTING, _PASSING = "FULL", "NORMAL"  # in SQLite's words
_KINDS = {"sqlite": "sqlite", "postgresql": "postgresql+psycopg", "postgres": "postgresql+psycopg"}


class LabelDatabase:
    """The database of a project; `place` names it to people, `path` is its file, if it is one.

    `address` is what opens it, a password included.

    `made` says that its tables were not there before.

    UsageError: a name that is none. InputError: a database that cannot be opened, is of a newer
    version, or of something else.
    """

    def __init__(self, place: str) -> None:
        self.place, self.address = redact_urls(place), place
        self.made = False
        self.engine, self.path = _make_engine(place)
        # One writer at a time: SQLite has no more, and what waits here waits in its turn.
        self._writing = threading.Lock()
        try:
            self._prepare()
        except BaseException:
            self.close()
            raise

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A connection for a few reads."""
        with self.engine.connect() as connection:
            yield connection

    @contextmanager
    def snapshot(self) -> Iterator[Connection]:
        """A connection that sees the state of one moment, however long it is read."""
        with self.engine.connect() as plain:
            if self.path is None:
                yield plain.execution_options(isolation_level="REPEATABLE READ")
            else:  # that is what SQLite's readers see
                yield plain

    def write(self, change: Callable[[Connection], T], *, lasting: bool = True) -> T:
        """What `change` gives, once all it wrote is safe on disk; or nothing is written.

        It is called again where another server on the same database was quicker. What is not
        `lasting` is not waited for: it outlives a kill, and may be lost when the power goes.
        """
        for tried in range(1, _TRIES + 1):
            try:
                with self._writing, self._transaction(lasting) as connection:
                    return change(connection)
            except IntegrityError:
                if tried == _TRIES:
                    raise
        raise AssertionError

    @contextmanager
    def _transaction(self, lasting: bool) -> Iterator[Connection]:
        with self.engine.connect() as plain:
            connection = plain.execution_options(writes=_LASTING if lasting else _PASSING)
            with connection.begin():
                if self.path is None:  # one at a time, also between servers
                    connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_LOCK})")
                    if not lasting:
                        connection.exec_driver_sql("SET LOCAL synchronous_commit = off")
                yield connection

    def sweep(self, table: sql.Table) -> None:
        """See that what was deleted of a small table stands in no file of it, as far as can be.

        Where somebody reads for long, as a backup does, it stays until they and a later one end.
        """
        with self._writing, self.engine.connect() as connection:
            if self.path is not None:
                with closing(connection.connection.cursor()) as raw:
                    raw.execute(f"PRAGMA busy_timeout = {_SWEEP_MS}")
                    raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                    raw.execute(f"PRAGMA busy_timeout = {1000 * _PATIENCE}")
                return
            plain = connection.execution_options(isolation_level="AUTOCOMMIT")
            plain.exec_driver_sql(f"SET lock_timeout = {_SWEEP_MS}")
            try:
                with suppress(OperationalError):
                    plain.exec_driver_sql(f"VACUUM (FULL) {table.name}")
            finally:
                plain.exec_driver_sql("RESET lock_timeout")

    def discard(self) -> None:
        """Close it, and remove the file if it was not there before."""
        self.close()
        if self.made and self.path is not None:
            for name in (self.path.name, f"{self.path.name}-wal", f"{self.path.name}-shm"):
                self.path.with_name(name).unlink(missing_ok=True)

    def make_single(self) -> None:
        """Leave one file, without the journal beside it that a project in use has."""
        with self.engine.connect() as connection:
            raw = connection.connection.cursor()
            raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            raw.execute("PRAGMA journal_mode = DELETE")
            raw.close()

    def close(self) -> None:
        """Give all connections back."""
        self.engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def _prepare(self) -> None:
        """Make the tables, or bring them up to date. InputError."""
        try:
            self.write(self._make_tables)
        except SQLAlchemyError as error:
            raise InputError(
                f"{self.place}: cannot be opened ({tell_reason(error)}); expected "
                f"{'a project that this command made, or a new name' if self.path else _SERVER}"
            ) from None

    def _make_tables(self, connection: Connection) -> None:
        there = set(sql.inspect(connection).get_table_names())
        if meta.name not in there:
            if there:
                raise InputError(
                    f"{self.place}: has other tables ({', '.join(sorted(there)[:3])}), so it isn't "
                    "a labeling project; name an empty database or a new file"
                )
            metadata.create_all(connection)
            self.made = True
            new = {"format": FORMAT, "version": str(schema.VERSION)}
            rows = [{"name": name, "value": value} for name, value in new.items()]
            connection.execute(sql.insert(meta), rows)
            return
        known = {"format": None, "version": None} | read_meta(connection)
        if known["format"] != FORMAT or not (known["version"] or "").isdecimal():
            raise InputError(f"{self.place}: is not a labeling project; name an empty database")
        version = int(known["version"] or 0)
        if version > schema.VERSION:
            raise InputError(
                f"{self.place}: was made by a newer version of trueground (its tables have version "
                f"{version}, this one knows {schema.VERSION}); install that version or a later one"
            )
        for number in range(version, schema.VERSION):
            schema.STEPS[number](connection)
        write_meta(connection, {"version": str(schema.VERSION)})


_SERVER = "a PostgreSQL server that runs, with a database and a user that may make tables"


def is_new(place: str) -> bool:
    """Whether a project of this name would be a file that is not there yet. UsageError."""
    path = _file_of(place)
    return path is not None and not path.exists()


def read_meta(connection: Connection) -> dict[str, str]:
    """What holds for the whole project, by name."""
    rows = connection.execute(sql.select(meta.c.name, meta.c.value))
    return {row.name: row.value for row in rows}


def write_meta(connection: Connection, values: dict[str, str]) -> None:
    """Set what holds for the whole project."""
    for name, value in values.items():
        connection.execute(sql.delete(meta).where(meta.c.name == name))
        connection.execute(sql.insert(meta).values(name=name, value=value))


def insert_row(connection: Connection, table: sql.Table, **values: Any) -> int:
    """Write one row; its number."""
    key = connection.execute(sql.insert(table).values(**values)).inserted_primary_key
    return int(key[0]) if key is not None else 0


def tell_reason(error: SQLAlchemyError) -> str:
    """Why a database refused, in its own words, on one line and without what opens it."""
    words = str(getattr(error, "orig", None) or error)
    return redact_urls(" ".join(words.split()))[:300]


def _make_engine(place: str) -> tuple[Engine, Path | None]:
    """An engine, and the file where there is one. UsageError, InputError, MissingExtraError."""
    path = _file_of(place)
    if path is not None:
        return _open_file(path)
    kind = place.partition("://")[0]
    if kind not in _KINDS:
        raise UsageError(
            f"{redact_urls(place)}: unknown kind of database {kind!r}; expected a path, "
            "sqlite:///FILE or postgresql://USER@HOST/NAME"
        )
    try:
        import psycopg  # noqa: F401
    except ImportError:
        raise MissingExtraError("a project in PostgreSQL", "web") from None
    try:
        address = sql.make_url(place).set(drivername=_KINDS[kind])
        engine = sql.create_engine(
            address, pool_pre_ping=True, pool_size=8, connect_args={"connect_timeout": _PATIENCE}
        )
    except (ValueError, SQLAlchemyError):
        raise UsageError(
            f"{redact_urls(place)}: cannot be read as an address; expected "
            "postgresql://USER@HOST:PORT/NAME"
        ) from None
    return engine, None


def _file_of(place: str) -> Path | None:
    """The file of a project, if it is one. UsageError."""
    kind, mark, rest = place.partition("://")
    if mark and kind != "sqlite":
        return None
    if mark and (not rest.startswith("/") or not rest[1:]):
        raise UsageError(f"{place}: expected sqlite:///FILE, or the bare path of the file")
    return Path(rest[1:] if mark else place)


def _open_file(path: Path) -> tuple[Engine, Path]:
    if path.is_dir():
        raise UsageError(f"{path} is a folder; name a file in it, such as {path / 'labels.db'}")
    if not path.parent.is_dir():
        raise UsageError(
            f"{path}: the folder {path.parent} does not exist; create it or name another file"
        )
    if not path.exists():  # names and labels of people: not for everybody on the machine
        path.touch(0o600)
    elif path.stat().st_size and not _is_database(path):
        raise InputError(
            f"{path}: is no database; expected a project that this command made, or a new name "
            "(files of tasks come after it)"
        )

    def connect() -> sqlite3.Connection:
        return sqlite3.connect(
            path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False
        )

    engine = sql.create_engine("sqlite://", creator=connect, poolclass=sql.QueuePool, pool_size=8)
    event.listen(engine, "connect", _set_up)
    event.listen(engine, "begin", _begin)
    return engine, path


def _is_database(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(16) == b"SQLite format 3\0"


def _set_up(connection: Any, _record: object) -> None:
    with closing(connection.cursor()) as cursor:
        cursor.execute("PRAGMA journal_mode = WAL")
        cursor.execute(f"PRAGMA synchronous = {_LASTING}")  # a label outlives a power cut
        cursor.execute("PRAGMA foreign_keys = ON")
        cursor.execute("PRAGMA secure_delete = ON")  # a name that is forgotten leaves no trace


def _begin(connection: Connection) -> None:
    """SQLite's own beginnings: a writer that begins as a reader may have to give up."""
    writes = connection.get_execution_options().get("writes")
    # Past SQLAlchemy, for these come with every request; the last one may have to tell its error.
    raw: Any = connection.connection.driver_connection
    if writes is None:
        raw.execute("BEGIN")
    else:
        raw.execute(f"PRAGMA synchronous = {writes}")
        connection.exec_driver_sql("BEGIN IMMEDIATE")
