"""How often verdicts of answers agree with people: measured on labelled sets, for one judge.

The counts ship in lexical/data/verdicts.json; `training/trust/verdicts.py` makes them. They hold
for one signature: other judges, other ways to split answers into claims, were not measured.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path

import msgspec

FILE = Path(__file__).parent / "lexical" / "data" / "verdicts.json"


class VerdictCount(msgspec.Struct, frozen=True, array_like=True):
    """Answers with a verdict, and how many of them people called unsupported."""

    n: int
    unsupported: int

    @property
    def share(self) -> float | None:
        """The share that people called unsupported; None of no answers."""
        return self.unsupported / self.n if self.n else None


class SetCounts(msgspec.Struct, frozen=True):
    """One labelled set; `unit` is what people labelled: response, sentence or claim. `verdicts` has
    the counts of grounded, partly and not.
    """

    name: str
    unit: str
    verdicts: dict[str, VerdictCount]

    @property
    def total(self) -> VerdictCount:
        """All answers with one of these verdicts: `share` is the prevalence of the unsupported."""
        return _sum(self.verdicts.values())


class LabelledVerdicts(msgspec.Struct, frozen=True):
    """What was measured for the verdicts of this signature, set by set."""

    signature: str
    sets: list[SetCounts]

    def pooled(self, verdict: str) -> VerdictCount:
        """The answers of all sets with this verdict: large sets weigh more."""
        return _sum(one.verdicts[verdict] for one in self.sets)

    def mean(self, verdict: str) -> float | None:
        """The mean over sets of the share that people called unsupported: every set weighs alike.

        Sets without an answer of this verdict are left out; None where all are.
        """
        shares = [one.verdicts[verdict].share for one in self.sets]
        known = [share for share in shares if share is not None]
        return sum(known) / len(known) if known else None

    @property
    def total(self) -> VerdictCount:
        """All answers of all sets."""
        return _sum(one.total for one in self.sets)

    def sentence(self) -> str:
        """How often answers of each verdict were unsupported to people, pooled over the sets."""
        words = {"not": "not grounded", "partly": "partly", "grounded": "grounded"}
        shares = [(word, self.pooled(name).share) for name, word in words.items()]
        (first, most), *rest = [(word, share) for word, share in shares if share is not None]
        others = "".join(f", called {word} {_of_100(share)} times" for word, share in rest)
        total = self.total
        return (
            f"On {len(self.sets)} labelled sets, answers called {first} were unsupported "
            f"{_of_100(most)} times of 100{others} ({total.n:,} answers pooled, "
            f"{_of_100(total.share or 0)} of 100 unsupported)."
        )


def _of_100(share: float) -> str:
    return f"{100 * share:.0f}"


def _sum(counts: Iterable[VerdictCount]) -> VerdictCount:
    """All these together."""
    every = list(counts)
    return VerdictCount(sum(c.n for c in every), sum(c.unsupported for c in every))


@cache
def _measured() -> LabelledVerdicts:
    return msgspec.json.decode(FILE.read_bytes(), type=LabelledVerdicts)


def labelled_verdicts(signature: str) -> LabelledVerdicts | None:
    """What was measured for verdicts with this signature (`verdicts` of summary.json has it); None:
    not measured for this judge.
    """
    found = _measured()
    return found if found.signature == signature else None
