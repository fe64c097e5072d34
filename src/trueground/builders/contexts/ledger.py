"""What is kept of a build besides its items: what was rejected, and how two judges agreed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from trueground.builders.base import Dropped, Whole
from trueground.builders.contexts.items import Judged, Written

T = TypeVar("T", Written, Judged)
Why = tuple[str, str]  # reason, detail


class Rejected(NamedTuple):
    """A context that fell, and why."""

    stage: str
    reason: str
    detail: str
    written: Written


class Ledger:
    """Filled by the stages that see all items, which are done anew in every run."""

    def __init__(self) -> None:
        self._rejected: dict[str, list[Rejected]] = {}
        # By id: does the first judge find the context valid, and does the second?
        self.verdicts: dict[str, tuple[bool, bool]] = {}
        self.asked: Sequence[Judged] = ()

    @property
    def rejected(self) -> list[Rejected]:
        """All of them, stage by stage."""
        return [one for found in self._rejected.values() for one in found]

    def sieve(
        self,
        name: str,
        doc: str,
        kind: type[T],
        see: Callable[[T], Why | None],
        reasons: Mapping[str, str],
    ) -> Whole[Any, Any]:
        """A stage that lets pass what `see` finds nothing against, and notes the rest."""

        def work(items: Sequence[T]) -> list[T | Dropped]:
            found: list[T | Dropped] = []
            noted = self._rejected[name] = []
            for item in items:
                why = see(item)
                if why is None:
                    found.append(item)
                    continue
                written = item.written if isinstance(item, Judged) else item
                noted.append(Rejected(name, *why, written))
                found.append(Dropped(item.id, *why))
            return found

        return Whole(name, doc, kind, kind, work, reasons)
