"""For all tests: Ctrl-C works wherever they were started; messages speak of options."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

from trueground.wording import at_terminal


def pytest_configure() -> None:
    """A shell starts what runs behind it deaf to SIGINT, and so would be all that tests start."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _options_in_messages() -> Iterator[None]:
    """Messages are tested as they were written; how Python shows them is for test_wording."""
    with at_terminal():
        yield
