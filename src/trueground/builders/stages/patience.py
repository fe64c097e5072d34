"""How many items may fall because calls failed before a build stops rather than go on."""

from __future__ import annotations

from collections import Counter

from trueground.errors import UnreachableError

_SLACK = 1e-9


class Patience:
    """Counts items that fell because calls failed, in all stages of a build together."""

    def __init__(self, most: float, items: int) -> None:
        """`most` is the share of the source's `items` that may fall so."""
        self._most, self._items = most, items
        self._lost = 0.0
        self.failed: Counter[str] = Counter()

    def lost(self, stage: str, came: int, detail: str) -> None:
        """An item of a stage, to which so many came, fell so. UnreachableError: it is too much.

        Where a stage has more items than the source, each is that much less of a share.
        """
        self.failed[stage] += 1
        self._lost += 1 / max(self._items, came)
        if self._lost > self._most + _SLACK:
            n = self.failed.total()
            items = "1 item" if n == 1 else f"{n:,} items"
            raise UnreachableError(
                f"{items} fell because calls failed, the last in the stage {stage} ({detail}); that"
                f" is more than --max-failed {self._most:g} of all. What was made is kept, and of "
                "an earlier build all that it ended in; fix the cause and run the same command "
                "again to go on, or give --max-failed a larger share"
            )
