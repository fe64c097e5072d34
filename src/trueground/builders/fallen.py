"""How an item falls while a stage works on it."""

from __future__ import annotations


class Fallen(Exception):  # noqa: N818 - an outcome, not a mistake
    """The item that a stage works on falls here, and why.

    `reason` is one of the stage's `reasons` or of ask.REASONS; `detail` says what was found, in
    words for the builder's author. With `passing` the cause may pass, as a call that failed: the
    next run tries the item again.
    """

    def __init__(self, reason: str, detail: str = "", *, passing: bool = False) -> None:
        super().__init__(reason)
        self.reason, self.detail, self.passing = reason, detail, passing
