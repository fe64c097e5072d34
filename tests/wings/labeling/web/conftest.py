"""Projects on both kinds of database."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.postgres import Postgres, find_binaries, postgres


@pytest.fixture(scope="session")
def running_postgres() -> Iterator[Postgres]:
    if find_binaries() is None:
        pytest.skip("PostgreSQL is not installed (Debian: postgresql)")
    with postgres() as started:
        yield started


# What is read of answers and tasks, and a start, hang little on the database: their tests take the
# other kind of it in the long suite only.
ALIKE = ("test_lead.py", "test_tasks.py", "test_serve.py")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.name in ALIKE and "postgresql" in item.name and "_kill" not in item.name:
            item.add_marker(pytest.mark.long)


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A new project's database, of each kind in turn."""
    if request.param == "sqlite":
        return str(tmp_path / "labels.db")
    started: Postgres = request.getfixturevalue("running_postgres")
    return started.new_database()


@pytest.fixture
def new_place(request: pytest.FixtureRequest, tmp_path: Path, place: str) -> Callable[[], str]:
    """Another empty database of the same kind."""
    numbers = iter(range(100))

    def make() -> str:
        if "://" not in place:
            return str(tmp_path / f"other-{next(numbers)}.db")
        started: Postgres = request.getfixturevalue("running_postgres")
        return started.new_database()

    return make
