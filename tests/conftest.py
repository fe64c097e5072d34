"""For all tests: Ctrl-C works wherever they were started."""

from __future__ import annotations

import signal


def pytest_configure() -> None:
    """A shell starts what runs behind it deaf to SIGINT, and so would be all that tests start."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
