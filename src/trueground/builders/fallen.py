"""How an item falls while a stage works on it."""

from __future__ import annotations

from typing import Any


class Fallen(Exception):  # noqa: N818 - an outcome, not a mistake
    """The item that a stage works on falls here, and why.

    `reason` is one of the stage's `reasons` or of asking.asked.REASONS; `detail` says what was
    found, in words for the builder's author, `made` is the text or item that was refused (anything
    that JSON can hold), so that it can be looked at. With `passing` the cause may pass, as a call
    that failed: the next run tries the item again.
    """

    def __init__(
        self, reason: str, detail: str = "", *, passing: bool = False, made: Any = None
    ) -> None:
        super().__init__(reason)
        self.reason, self.detail, self.passing, self.made = reason, detail, passing, made
