"""The people of a project: their links, their sessions, and who is let in.

Of a link's token and a session's secret only hashes are kept: whoever reads the database, or a
backup of it, gets in nowhere.
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
IDLE = 12 * 3600.0  # seconds after which a session ends that nobody uses
LONGEST = 7 * 86_400.0  # seconds after which any session ends
_NOTED = 60.0  # seconds: a session's last use is not written more often
_LONGEST_NAME = 80
_ANONYMOUS = re.compile(r"annotator-\d+", re.IGNORECASE)


class Person(msgspec.Struct, frozen=True):
    """One person of the project; `name` is theirs, or `annotator-N` where it was forgotten."""

    number: int
    name: str
    role: Role

    @property
    def is_lead(self) -> bool:
        """Whether they may see everybody's work."""
        return self.role == "lead"


_SESSION = (  # built once: to build it takes longer than to run it
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
    """Who takes part in the project of a database."""

    def __init__(self, database: LabelDatabase) -> None:
        self._database = database

    def add(self, name: str, role: Role) -> tuple[Person, str]:
        """A new person, and the token of their link. InputError: no name, or one that is taken."""
        name = check_name(name)
        token, now = _new_secret(), time.time()

        def change(connection: Connection) -> int:
            if name.casefold() in {one.casefold() for one in names_of(connection).values()}:
                raise InputError(f"the name {name!r} is already taken; choose another one")
            row = {"name": name, "role": role, "token": _hash(token), "created": now}
            return insert_row(connection, people, **row)

        number = self._database.write(change)
        return Person(number, name, role), token

    def renew_link(self, number: int) -> str:
        """A new token for somebody's link; the old one ends, and so do their sessions."""
        token = _new_secret()

        def change(connection: Connection) -> None:
            _end_sessions(connection, number)
            values = {"token": _hash(token), "withdrawn": None}
            _update(connection, number, values, people.c.name.is_not(None))

        self._database.write(change)
        return token

    def open_for_lead(self) -> str:
        """A fresh token for the first lead, who is made where there is none; the old one ends."""
        token, now = _new_secret(), time.time()

        def change(connection: Connection) -> None:
            found = connection.scalar(
                sql.select(sql.func.min(people.c.number)).where(
                    people.c.role == "lead",
                    people.c.name.is_not(None),
                    people.c.withdrawn.is_(None),
                )
            )
            if found is None:
                taken = set(names_of(connection).values())
                name = next(
                    one
                    for one in ("lead", *(f"lead-{n}" for n in range(2, 10_000)))
                    if one not in taken
                )
                row = {"name": name, "role": "lead", "token": _hash(token), "created": now}
                connection.execute(sql.insert(people).values(row))
            else:
                _update(connection, found, {"token": _hash(token)})

        self._database.write(change)
        return token

    def withdraw(self, number: int, *, forget: bool = False) -> None:
        """End somebody's link and sessions, and what they have begun; their labels stay.

        With `forget` their name goes, too. UnknownPersonError. InputError: the last lead.
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
        """The secret of a new session for whoever has this link; None where it is no one's."""
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

        with self._database.read() as connection:  # a wrong token costs no turn at writing
            known = connection.scalar(
                sql.select(people.c.number).where(people.c.token == _hash(token))
            )
        return None if known is None else self._database.write(change)

    def leave(self, secret: str) -> None:
        """End a session."""
        self._database.write(
            lambda connection: connection.execute(
                sql.delete(sessions).where(sessions.c.secret == _hash(secret))
            )
        )

    def find(self, secret: str) -> Person | None:
        """Whose session it is; None where it is none, or has ended."""
        now, hashed = time.time(), _hash(secret)
        ends = {"secret": hashed, "created": now - LONGEST, "seen": now - IDLE}
        with self._database.read() as connection:
            row = connection.execute(_SESSION, ends).one_or_none()
        if row is None:
            return None
        if row.seen < now - _NOTED:
            self._database.write(
                lambda connection: connection.execute(
                    sql.update(sessions).where(sessions.c.secret == hashed).values(seen=now)
                )
            )
        return Person(row.number, shown_name(row.number, row.name), row.role)


def csrf_of(secret: str) -> str:
    """What a page must send with every change: made of the session's secret, which it cannot read.

    A page of another site has neither.
    """
    return _hash(f"csrf {secret}")


def is_csrf_of(token: str, secret: str) -> bool:
    """Compare a page's token in a time that does not depend on how much is right."""
    return hmac.compare_digest(token.encode("utf-8", "replace"), csrf_of(secret).encode())


def check_name(name: str) -> str:
    """A name that may be taken, without outer space. InputError."""
    name = " ".join(name.split())
    wrong = "" if name else "no name"
    if len(name) > _LONGEST_NAME:
        wrong = f"a name of {len(name)} characters"
    elif any(unicodedata.category(sign) in ("Cc", "Cf", "Cs") for sign in name):
        wrong = "a name with invisible characters"
    elif _ANONYMOUS.fullmatch(name):
        wrong = f"{shorten(name)!r}, which is reserved for people whose name was deleted"
    if wrong:
        raise InputError(f"found {wrong}; expected a name of 1 to {_LONGEST_NAME} characters")
    return name


def shown_name(number: int, name: str | None) -> str:
    """How somebody is called, also once their name is forgotten."""
    return f"annotator-{number}" if name is None else name


def names_of(connection: Connection) -> dict[int, str]:
    """All people by their numbers, also those that have gone."""
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
    """Change a person. UnknownPersonError."""
    changed = connection.execute(
        sql.update(people).where(people.c.number == number, *also).values(values)
    )
    if not changed.rowcount:
        raise UnknownPersonError(f"person {number} does not exist in this project, or was deleted")
