"""For all tests: Ctrl-C works wherever they were started; messages speak of options."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from trueground.errors import at_terminal

# `make test-long` tries all properties again, with more examples. How long one takes tells of the
# machine, and what a fixture gives is the same for each.
shared = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
settings.register_profile("long", shared, max_examples=200)
settings.register_profile("quick", shared, max_examples=20)
settings.load_profile("quick")


def pytest_configure() -> None:
    """A shell starts what runs behind it deaf to SIGINT, and so would be all that tests start."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _options_in_messages() -> Iterator[None]:
    """Messages are tested as they were written; how Python shows them is for test_wording."""
    with at_terminal():
        yield
