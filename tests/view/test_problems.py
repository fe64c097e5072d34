"""The log of a server's problems."""

from __future__ import annotations

import logging

import pytest
from aiohttp.http_exceptions import BadStatusLine

from trueground.view.problems import ProblemLog


def messages(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records]


def test_repeated_problem_is_one_line_and_one_count(caplog: pytest.LogCaptureFixture) -> None:
    problems = ProblemLog()
    for _ in range(1_201):
        problems.report("no disk")
    problems.report("no network")
    assert messages(caplog) == ["WARNING: no disk", "WARNING: no network"]
    problems.summarize()
    assert messages(caplog)[2:] == ["WARNING: no disk (1,200 more)"]
    problems.report("no disk")
    problems.report("no network")
    assert messages(caplog)[3:] == ["WARNING: no network"]  # of "no disk" the count says it
    problems.summarize()
    problems.summarize()
    assert messages(caplog)[4:] == ["WARNING: no disk (1 more)"]


def test_kinds_and_their_length_are_limited(caplog: pytest.LogCaptureFixture) -> None:
    problems = ProblemLog()
    for number in range(10_000):
        problems.report(f"{number} " + "x" * 10_000)
    assert len(caplog.records) <= 101
    assert max(map(len, messages(caplog))) < 600


def test_defect_is_logged_with_its_traceback_once(caplog: pytest.LogCaptureFixture) -> None:
    problems = ProblemLog()
    for _ in range(3):
        problems.report("the page failed", ZeroDivisionError("zero"))
    assert [record.exc_info is not None for record in caplog.records] == [True]


def test_messages_of_aiohttp_are_reported_by_kind(caplog: pytest.LogCaptureFixture) -> None:
    logger = ProblemLog().http_logger()
    for number in range(3):
        for error in (BadStatusLine(f"line {number}"), ConnectionResetError("left")):
            logger.error("Error from %s", f"client {number}", exc_info=error)
    logger.debug("a detail")
    assert messages(caplog) == ["WARNING: refused a malformed request"]
    assert caplog.records[0].exc_info is None
    assert caplog.records[0].levelno == logging.WARNING
