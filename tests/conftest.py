"""For all tests: Ctrl-C works wherever they were started; messages speak of options."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from tests import leaks
from tests.chromium import Chromium
from tests.reports.browser import BROWSER, emulate

from trueground.errors import user_messages
from trueground.reports.page import Page

# `make test-long` tries all properties again, with more examples. How long one takes tells of the
# machine, and what a fixture gives is the same for each.
shared = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
settings.register_profile("long", shared, max_examples=200)
settings.register_profile("quick", shared, max_examples=20)
settings.load_profile("quick")
_NUMBERS = count(1)


def pytest_configure() -> None:
    """A shell starts what runs behind it deaf to SIGINT, and so would be all that tests start."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _options_in_messages() -> Iterator[None]:
    """Messages are tested as they were written; how Python shows them is for test_wording."""
    with user_messages.at_terminal():
        yield


@pytest.fixture(scope="session", autouse=True)
def _pages_searched() -> Iterator[None]:
    """Every page that is written passes `Page._for_file`."""
    for_file = Page._for_file

    def checked(page: Page) -> Page:
        leaks.check_page(page)
        return for_file(page)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Page, "_for_file", checked)
        yield


@pytest.fixture(autouse=True)
def _no_leaks() -> Iterator[None]:
    """No page and no screen that the test made shows what only Python reads."""
    yield
    noted, leaks.leaks[:] = leaks.leaks[:], []
    assert not noted


@pytest.fixture(autouse=True)
def _own_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """What one test keeps, no other finds; and nobody's key is used by accident."""
    home = tmp_path_factory.getbasetemp() / f"home-{next(_NUMBERS)}"
    monkeypatch.setenv("TRUEGROUND_HOME", str(home))
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="session")
def running_browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    """To start one takes longer than most tests do in it."""
    assert BROWSER
    with Chromium(BROWSER, tmp_path_factory.mktemp("profile")) as found:
        yield found


@pytest.fixture
def browser(running_browser: Chromium) -> Chromium:
    """As if it had just been started: nothing is open, changed or kept."""
    running_browser.get("about:blank")
    running_browser.resize(1200, 800)
    emulate(running_browser)
    kept = {"origin": "file://", "storageTypes": "local_storage"}
    running_browser.send("Storage.clearDataForOrigin", **kept)
    for left in (running_browser.messages(), running_browser.requests(), running_browser.dialogs):
        left.clear()
    return running_browser


@pytest.fixture
def opened(browser: Chromium, page: Path) -> Iterator[Chromium]:
    """The module's page, of which no script fails."""
    browser.get(page.as_uri())
    yield browser
    assert browser.messages() == []
