"""What may be opened as a project, and older databases that become new ones."""

from __future__ import annotations

import sqlite3
import stat
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sql
from sqlalchemy import Connection
from tests.wings.labeling.web.labeling import make_project

from trueground.errors import InputError, UsageError
from trueground.wings.labeling.web import schema
from trueground.wings.labeling.web.database import LabelDatabase, read_meta, write_meta
from trueground.wings.labeling.web.gathered import back_up
from trueground.wings.labeling.web.people import People
from trueground.wings.labeling.web.queue import Queue, Save


def test_a_new_project_has_all_tables_and_opens_again(place: str) -> None:
    with LabelDatabase(place) as made, made.read() as connection:
        assert read_meta(connection)["version"] == str(schema.VERSION)
    with LabelDatabase(place) as again, again.read() as connection:
        assert set(sql.inspect(connection).get_table_names()) == set(schema.metadata.tables)


def test_a_file_may_be_read_by_its_owner_only_and_waits_for_the_disk(tmp_path: Path) -> None:
    path = tmp_path / "labels.db"
    with LabelDatabase(str(path)) as made, made.read() as connection:
        wanted = {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "secure_delete": 1}
        found = {name: connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in wanted}
    assert found == wanted
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_url_names_the_same_file(tmp_path: Path) -> None:
    LabelDatabase(f"sqlite:///{tmp_path}/labels.db").close()
    assert (tmp_path / "labels.db").exists()


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("mysql://localhost/labels", "unknown kind of database 'mysql'"),
        ("sqlite://labels.db", "sqlite:///FILE"),
        ("postgresql://a:b:c@host:port/x", "cannot be read as an address"),
        ("missing/folder/labels.db", "does not exist; create it"),
    ],
)
def test_database_invalid_name_raises(place: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        LabelDatabase(place)


def test_a_folder_is_no_database(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"is a folder; name a file in it"):
        LabelDatabase(str(tmp_path))


def test_a_file_of_something_else_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "tasks-1.jsonl"
    path.write_text('{"kind": "support"}\n')
    with pytest.raises(InputError, match="is no database"):
        LabelDatabase(str(path))
    assert path.read_text() == '{"kind": "support"}\n'


def test_a_database_of_something_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "music.db"
    with closing(sqlite3.connect(path)) as music:
        music.execute("CREATE TABLE songs (name TEXT)")
        music.commit()
    with pytest.raises(InputError, match=r"has other tables \(songs\)"):
        LabelDatabase(str(path))


def test_database_broken_file_raises_input_error(tmp_path: Path) -> None:
    path = tmp_path / "labels.db"
    path.write_bytes(b"SQLite format 3\0" + b"\xff" * 5000)
    with pytest.raises(InputError, match="cannot be opened"):
        LabelDatabase(str(path))


def test_database_unreachable_server_hides_password() -> None:
    with pytest.raises(InputError) as caught:
        LabelDatabase("postgresql://ann:hunter22secret@127.0.0.1:1/labels")
    assert "hunter22secret" not in str(caught.value)
    assert "cannot be opened" in str(caught.value)


def test_a_newer_version_is_refused(place: str) -> None:
    with LabelDatabase(place) as made:
        made.write(lambda connection: write_meta(connection, {"version": "999"}))
    with pytest.raises(InputError, match="newer version of trueground"):
        LabelDatabase(place)


def test_tables_of_another_program_called_alike_are_refused(place: str) -> None:
    with LabelDatabase(place) as made:
        made.write(lambda connection: write_meta(connection, {"format": "another"}))
    with pytest.raises(InputError, match="is not a labeling project"):
        LabelDatabase(place)


def _add_color(connection: Connection) -> None:
    connection.execute(sql.text("ALTER TABLE people ADD COLUMN color TEXT"))
    connection.execute(sql.text("UPDATE people SET color = 'green'"))


def _fail(connection: Connection) -> None:
    connection.execute(sql.text("ALTER TABLE people ADD COLUMN size TEXT"))
    connection.execute(sql.text("SELECT nothing FROM nowhere"))


def test_an_older_project_is_brought_up_to_date(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with LabelDatabase(place) as old:
        People(old).add("Ann", "annotator")
    start = schema.VERSION
    monkeypatch.setattr(schema, "VERSION", start + 2)
    monkeypatch.setattr(schema, "STEPS", {start: _add_color, start + 1: lambda _: None})
    with LabelDatabase(place) as new, new.read() as connection:
        assert read_meta(connection)["version"] == str(start + 2)
        assert connection.scalar(sql.text("SELECT color FROM people")) == "green"
    LabelDatabase(place).close()  # once


def test_a_step_that_fails_leaves_the_project_as_it_was(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    LabelDatabase(place).close()
    start = schema.VERSION
    with monkeypatch.context() as newer:
        newer.setattr(schema, "VERSION", start + 2)
        newer.setattr(schema, "STEPS", {start: _add_color, start + 1: _fail})
        with pytest.raises(InputError, match="cannot be opened"):
            LabelDatabase(place)
    with LabelDatabase(place) as same, same.read() as connection:
        assert read_meta(connection)["version"] == str(start)
        columns = {column["name"] for column in sql.inspect(connection).get_columns("people")}
        assert not {"color", "size"} & columns


def test_every_version_has_a_step() -> None:
    assert set(schema.STEPS) == set(range(1, schema.VERSION))


def test_a_backup_of_a_project_in_use_is_a_project(
    place: str, tmp_path: Path, new_place: Callable[[], str]
) -> None:
    opened = make_project(place, tmp_path)
    with opened.database as database:
        people = People(database)
        ann, token = people.add("Ann", "annotator")
        people.enter(token)
        queue = Queue(database, opened.project)
        task, _, _ = queue.next(ann)
        assert task is not None
        queue.save(ann, Save(task["task"], "key-00001", "done", {"support": "not"}, "x", 1.0))
        copy = back_up(database)
        try:
            assert not list(copy.parent.glob(f"{copy.name}-*"))
            with LabelDatabase(str(copy)) as other, other.read() as there, database.read() as here:
                for table in schema.metadata.sorted_tables:
                    rows = sql.select(table)
                    found = sorted(map(repr, there.execute(rows)))
                    wanted = [] if table is schema.sessions else here.execute(rows)
                    assert found == sorted(map(repr, wanted)), table.name
            with LabelDatabase(str(copy)) as other:
                assert People(other).enter(token) is not None  # links stay
        finally:
            copy.unlink()
