"""Problems of a running server in its log: each kind at once, then how often it came again.

Clients decide how often most of these problems occur, so a line for each would let any of them
fill the disk.
"""

from __future__ import annotations

import logging
import threading

from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.web import RequestPayloadError

SUMMARY_SECONDS = 60.0
_MAX_KINDS = 100
_MAX_CHARS = 500
_MALFORMED = "refused a malformed request"
_logger = logging.getLogger("trueground.view")


class ProblemLog:
    """Log each kind of problem once, and its repeats as one count per minute. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._repeats: dict[str, int] = {}  # kind → how often it came again since its last line

    def report(self, kind: str, error: BaseException | None = None) -> None:
        """Log a problem, or count it if its kind was logged in this minute.

        Args:
            kind: A sentence without its period. It must not contain text that a client chose.
            error: A defect of the server, whose traceback is logged with the first of its kind.
        """
        kind = kind[:_MAX_CHARS]
        with self._lock:
            if kind not in self._repeats and len(self._repeats) >= _MAX_KINDS:
                kind, error = "more kinds of problems occurred than are listed", None
            if kind in self._repeats:
                self._repeats[kind] += 1
                return
            self._repeats[kind] = 0
        _logger.warning("WARNING: %s", kind, exc_info=error)

    def summarize(self) -> None:
        """Log how often each kind came again, and forget the kinds that did not."""
        with self._lock:
            repeated = {kind: count for kind, count in self._repeats.items() if count}
            self._repeats = dict.fromkeys(repeated, 0)
        for kind, count in repeated.items():
            _logger.warning("WARNING: %s (%s more)", kind, f"{count:,}")

    def http_logger(self) -> logging.Logger:
        """Return a logger for aiohttp's messages about requests, which reports them here."""
        logger = logging.Logger("trueground.view.http", logging.WARNING)
        logger.addHandler(_ReportHandler(self))
        return logger


class _ReportHandler(logging.Handler):
    """Passes log records on as problems."""

    def __init__(self, problems: ProblemLog) -> None:
        super().__init__()
        self._problems = problems

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        if isinstance(error, ConnectionError):  # clients may leave at any time
            return
        if isinstance(error, HttpProcessingError | RequestPayloadError):
            self._problems.report(_MALFORMED)
            return
        # The unformatted message, because clients choose what is inserted.
        self._problems.report(f"the web server failed: {record.msg}", error)
