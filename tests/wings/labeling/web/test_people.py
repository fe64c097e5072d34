"""Links, sessions, and people who go."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sql

from trueground.errors import InputError
from trueground.wings.labeling.web import people as persons
from trueground.wings.labeling.web.database import LabelDatabase
from trueground.wings.labeling.web.people import IDLE, LONGEST, People, UnknownPersonError, csrf_of
from trueground.wings.labeling.web.schema import metadata


@pytest.fixture
def database(place: str) -> Iterator[LabelDatabase]:
    with LabelDatabase(place) as made:
        yield made


@pytest.fixture
def people(database: LabelDatabase) -> People:
    made = People(database)
    made.open_for_lead()
    return made


def test_a_link_lets_in(people: People) -> None:
    ann, token = people.add(" Ann  Lee ", "annotator")
    secret = people.enter(token)
    assert secret is not None
    assert people.find(secret) == ann
    assert ann.name == "Ann Lee"
    assert people.enter(token[:-1]) is None
    assert people.find("") is None
    assert people.find(token) is None


def test_neither_tokens_nor_secrets_are_stored(people: People, database: LabelDatabase) -> None:
    _, token = people.add("Ann", "annotator")
    secret = people.enter(token)
    assert secret is not None
    with database.read() as connection:
        rows = [str(row) for table in metadata.sorted_tables
                for row in connection.execute(sql.select(table))]  # fmt: skip
    assert not any(word in row for row in rows for word in (token, secret, csrf_of(secret)))


def test_who_is_withdrawn_is_out_at_once(people: People) -> None:
    ann, token = people.add("Ann", "annotator")
    secret = people.enter(token)
    assert secret is not None
    people.withdraw(ann.number)
    assert people.find(secret) is None
    assert people.enter(token) is None
    again = people.renew_link(ann.number)
    assert people.find(secret) is None
    assert people.enter(again) is not None


def test_a_new_link_ends_the_old_one_and_its_sessions(people: People) -> None:
    ann, token = people.add("Ann", "annotator")
    secret = people.enter(token)
    assert secret is not None
    newer = people.renew_link(ann.number)
    assert people.enter(token) is None
    assert people.find(secret) is None
    assert people.enter(newer) is not None


def test_a_start_ends_the_link_of_the_last_one_not_the_sessions(people: People) -> None:
    first = people.open_for_lead()
    secret = people.enter(first)
    assert secret is not None
    second = people.open_for_lead()
    assert people.enter(first) is None
    assert people.find(secret) is not None
    lead = people.find(people.enter(second) or "")
    assert lead is not None
    assert lead.is_lead


def test_a_withdrawn_lead_does_not_come_back_with_a_start(people: People) -> None:
    people.open_for_lead()
    zoe, _ = people.add("Zoe", "lead")
    people.withdraw(1)
    secret = people.enter(people.open_for_lead())
    assert secret is not None
    lead = people.find(secret)
    assert lead is not None
    assert lead.number == zoe.number
    assert people.find(people.enter(people.renew_link(zoe.number)) or "") == lead


def test_sessions_end(people: People, monkeypatch: pytest.MonkeyPatch) -> None:
    _, token = people.add("Ann", "annotator")
    secret = people.enter(token)
    assert secret is not None
    now = time.time()

    def after(seconds: float) -> bool:
        monkeypatch.setattr(persons.time, "time", lambda: now + seconds)
        return people.find(secret) is not None

    assert after(IDLE - 10)
    assert after(2 * IDLE - 30)  # it was used meanwhile
    assert not after(3 * IDLE)
    monkeypatch.setattr(persons.time, "time", lambda: now)
    secret = people.enter(token)
    assert secret is not None
    for part in range(int(LONGEST / IDLE)):
        assert after(part * 0.99 * IDLE)
    assert not after(LONGEST + 1)


def test_leaving_ends_a_session(people: People) -> None:
    _, token = people.add("Ann", "annotator")
    secret = people.enter(token)
    assert secret is not None
    people.leave(secret)
    assert people.find(secret) is None


def test_the_only_lead_stays(people: People) -> None:
    with pytest.raises(InputError, match="only lead"):
        people.withdraw(1)
    ben, _ = people.add("Ben", "lead")
    people.withdraw(1)
    with pytest.raises(InputError, match="only lead"):
        people.withdraw(ben.number)


@pytest.mark.parametrize("name", ["", "  ", "x" * 81, "a\u202eb", "a\nb\0", "Annotator-3"])
def test_check_name_invalid_name_raises(people: People, name: str) -> None:
    with pytest.raises(InputError, match="expected a name"):
        people.add(name, "annotator")


def test_a_name_is_one_persons(people: People) -> None:
    people.add("Ann", "annotator")
    with pytest.raises(InputError, match="already"):
        people.add("ann", "lead")


def test_unknown_people(people: People) -> None:
    with pytest.raises(UnknownPersonError):
        people.withdraw(99)
    with pytest.raises(UnknownPersonError):
        people.renew_link(99)


def test_a_forgotten_name_is_nowhere(place: str, tmp_path: Path) -> None:
    with LabelDatabase(place) as database:
        people = People(database)
        people.open_for_lead()
        ann, token = people.add("Annabel Quist-Ferrari", "annotator")
        assert b"Quist-Ferrari" in read_files(database, tmp_path)
        people.enter(token)
        people.withdraw(ann.number, forget=True)
        with pytest.raises(UnknownPersonError):
            people.renew_link(ann.number)
        with database.read() as connection:
            assert persons.names_of(connection)[ann.number] == f"annotator-{ann.number}"
        assert b"Quist-Ferrari" not in read_files(database, tmp_path)


def test_who_reads_the_people_for_long_delays_forgetting_a_moment_only(place: str) -> None:
    with LabelDatabase(place) as database:
        people = People(database)
        people.open_for_lead()
        ann, _ = people.add("Annabel Quist-Ferrari", "annotator")
        with database.snapshot() as connection:  # as a backup does
            assert len(persons.names_of(connection)) == 2
            began = time.monotonic()
            people.withdraw(ann.number, forget=True)
            assert time.monotonic() - began < 10
        with database.read() as connection:
            assert persons.names_of(connection)[ann.number] == f"annotator-{ann.number}"


def read_files(database: LabelDatabase, folder: Path) -> bytes:
    """What stands on disk of the table of people."""
    if database.path is not None:
        return b"".join(file.read_bytes() for file in folder.glob("labels.db*"))
    files = "select pg_read_binary_file(pg_relation_filepath(oid)) from pg_class"
    with database.engine.connect() as connection:
        connection.exec_driver_sql("checkpoint")
        found = connection.exec_driver_sql(
            f"{files} where relname like 'people%%' and relkind in ('r', 'i')"
        )
        return b"".join(bytes(row[0]) for row in found)
