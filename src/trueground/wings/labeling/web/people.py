"""The people of a project, their links and their sessions.

Only hashes of the tokens of links and of the secrets of sessions are stored, so a copy of the
database gives no access.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import time
import unicodedata
from typing import Any, Literal

import msgspec
import sqlalchemy as sql
from sqlalchemy import Connection

from trueground.errors import InputError
from trueground.records import shorten
from trueground.wings.labeling.web.database import LabelDatabase, insert_row
from trueground.wings.labeling.web.schema import people, sessions, work

Role = Literal["annotator", "lead"]
IDLE = 12 * 3600.0  # seconds after which a session ends without a request
LONGEST = 7 * 86_400.0  # seconds after which any session ends
_SEEN_SECONDS = 60.0  # the least time between two updates of a session's last use
_MAX_NAME_CHARS = 80
_ANONYMOUS = re.compile(r"annotator-\d+", re.IGNORECASE)


class Person(msgspec.Struct, frozen=True):
    """A person of the project. The name is `annotator-N` if it was deleted."""

    number: int
    name: str
    role: Role

    @property
    def is_lead(self) -> bool:
        """Whether the person may see the work of all people."""
        return self.role == "lead"


_SESSION = (  # built once, because building it takes longer than running it
    sql.select(people.c.number, people.c.name, people.c.role, sessions.c.seen)
    .join_from(sessions, people)
    .where(
        sessions.c.secret == sql.bindparam("secret"),
        people.c.withdrawn.is_(None),
        sessions.c.created > sql.bindparam("created"),
        sessions.c.seen > sql.bindparam("seen"),
    )
)


class UnknownPersonError(InputError):
    """A person who is not in the project."""


class People:
    """The people of the project in a database."""

    def __init__(self, database: LabelDatabase) -> None:
        self._database = database

    def add(self, name: str, role: Role) -> tuple[Person, str]:
        """Add a person, and return them with the token of their link.

        Raises:
            InputError: The name is empty or taken.
        """
        name = check_name(name)
        token, now = _new_secret(), time.time()

        def change(connection: Connection) -> int:
            taken = {other.casefold() for other in names_of(connection).values()}
            if name.casefold() in taken:
                raise InputError(f"the name {name!r} is already taken; choose another one")
            row = {"name": name, "role": role, "token": _hash(token), "created": now}
            return insert_row(connection, people, **row)

        number = self._database.write(change)
        return Person(number, name, role), token

    def renew_link(self, number: int) -> str:
        """Return a new token for a person's link; the old link and the sessions end."""
        token = _new_secret()

        def change(connection: Connection) -> None:
            _end_sessions(connection, number)
            values = {"token": _hash(token), "withdrawn": None}
            _update(connection, number, values, people.c.name.is_not(None))

        self._database.write(change)
        return token

    def open_for_lead(self) -> str:
        """Return a new token for the first lead; add a lead if there is none. The old link ends."""
        token, now = _new_secret(), time.time()

        def change(connection: Connection) -> None:
            number = connection.scalar(
                sql.select(sql.func.min(people.c.number)).where(
                    people.c.role == "lead",
                    people.c.name.is_not(None),
                    people.c.withdrawn.is_(None),
                )
            )
            if number is None:
                taken = set(names_of(connection).values())
                candidates = ["lead", *(f"lead-{n}" for n in range(2, 10_000))]
                name = next(candidate for candidate in candidates if candidate not in taken)
                row = {"name": name, "role": "lead", "token": _hash(token), "created": now}
                connection.execute(sql.insert(people).values(row))
            else:
                _update(connection, number, {"token": _hash(token)})

        self._database.write(change)
        return token

    def withdraw(self, number: int, *, forget: bool = False) -> None:
        """End a person's link, sessions and leases; their labels are kept.

        Args:
            number: The number of the person.
            forget: Delete the name, too.

        Raises:
            UnknownPersonError: There is no such person.
            InputError: The person is the last lead.
        """

        def change(connection: Connection) -> None:
            others = connection.scalar(
                sql.select(sql.func.count())
                .select_from(people)
                .where(
                    people.c.role == "lead",
                    people.c.withdrawn.is_(None),
                    people.c.number != number,
                )
            )
            if not others:
                raise InputError("this is the only lead; invite another lead first")
            gone = sql.func.coalesce(people.c.withdrawn, time.time())
            values: dict[str, Any] = {"token": None, "withdrawn": gone}
            if forget:
                values["name"] = None
            _update(connection, number, values)
            _end_sessions(connection, number)
            begun = (work.c.person == number) & work.c.until.is_not(None)
            connection.execute(sql.delete(work).where(begun, work.c.label.is_(None)))
            connection.execute(sql.update(work).where(begun).values(slot=None, until=None))

        self._database.write(change)
        if forget:
            self._database.sweep(people)

    def enter(self, token: str) -> str | None:
        """Return the secret of a new session for a link's token; None if it is invalid."""
        secret, now = _new_secret(), time.time()

        def change(connection: Connection) -> str | None:
            number = connection.scalar(
                sql.select(people.c.number).where(
                    people.c.token == _hash(token), people.c.withdrawn.is_(None)
                )
            )
            if number is None:
                return None
            old = (sessions.c.created < now - LONGEST) | (sessions.c.seen < now - IDLE)
            connection.execute(sql.delete(sessions).where(old))
            row = {"secret": _hash(secret), "person": number, "created": now, "seen": now}
            connection.execute(sql.insert(sessions).values(row))
            return secret

        # An invalid token doesn't need the lock for writing.
        with self._database.read() as connection:
            person = connection.scalar(
                sql.select(people.c.number).where(people.c.token == _hash(token))
            )
        return None if person is None else self._database.write(change)

    def leave(self, secret: str) -> None:
        """End a session."""
        self._database.write(
            lambda connection: connection.execute(
                sql.delete(sessions).where(sessions.c.secret == _hash(secret))
            )
        )

    def find(self, secret: str) -> Person | None:
        """Return the person of a session; None if it is invalid or has ended."""
        now, hashed = time.time(), _hash(secret)
        ends = {"secret": hashed, "created": now - LONGEST, "seen": now - IDLE}
        with self._database.read() as connection:
            row = connection.execute(_SESSION, ends).one_or_none()
        if row is None:
            return None
        if row.seen < now - _SEEN_SECONDS:
            self._database.write(
                lambda connection: connection.execute(
                    sql.update(sessions).where(sessions.c.secret == hashed).values(seen=now)
                )
            )
        return Person(row.number, shown_name(row.number, row.name), row.role)


def csrf_of(secret: str) -> str:
    """Return the token that a page must send with every change.

    It is computed from the session's secret, which scripts can't read. Pages of other sites have
    neither.
    """
    return _hash(f"csrf {secret}")


def is_csrf_of(token: str, secret: str) -> bool:
    """Compare a page's token in constant time."""
    return hmac.compare_digest(token.encode("utf-8", "replace"), csrf_of(secret).encode())


def check_name(name: str) -> str:
    """Return a valid name without outer spaces.

    Raises:
        InputError: The name is empty, too long, reserved, or has invisible characters.
    """
    name = " ".join(name.split())
    wrong = "" if name else "no name"
    if len(name) > _MAX_NAME_CHARS:
        wrong = f"a name of {len(name)} characters"
    elif any(unicodedata.category(character) in ("Cc", "Cf", "Cs") for character in name):
        wrong = "a name with invisible characters"
    elif _ANONYMOUS.fullmatch(name):
        wrong = f"{shorten(name)!r}, which is reserved for people whose name was deleted"
    if wrong:
        raise InputError(f"found {wrong}; expected a name of 1 to {_MAX_NAME_CHARS} characters")
    return name


def shown_name(number: int, name: str | None) -> str:
    """Return the name of a person, or `annotator-N` if it was deleted."""
    return f"annotator-{number}" if name is None else name


def names_of(connection: Connection) -> dict[int, str]:
    """Return the names of all people by their numbers, including withdrawn people."""
    rows = connection.execute(sql.select(people.c.number, people.c.name).order_by(people.c.number))
    return {number: shown_name(number, name) for number, name in rows}


def _new_secret() -> str:
    return secrets.token_urlsafe(32)


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _end_sessions(connection: Connection, number: int) -> None:
    connection.execute(sql.delete(sessions).where(sessions.c.person == number))


def _update(
    connection: Connection, number: int, values: dict[str, Any], *also: sql.ColumnElement[bool]
) -> None:
    """Change a person, or raise UnknownPersonError."""
    changed = connection.execute(
        sql.update(people).where(people.c.number == number, *also).values(values)
    )
    if not changed.rowcount:
        raise UnknownPersonError(f"person {number} does not exist in this project, or was deleted")
