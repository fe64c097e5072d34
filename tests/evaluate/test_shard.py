"""One shard of a run, as users write it."""

from __future__ import annotations

import pytest

from trueground.errors import UsageError
from trueground.evaluate.shard import Shard


@pytest.mark.parametrize("text", ["5/4", "0/4", "x", "1/", "/4", "1/x", "-1/4"])
def test_parse_shard_of_no_pair_raises(text: str) -> None:
    with pytest.raises(UsageError, match="expected I/N"):
        Shard.parse(text)


def test_parse_shard_counts_from_zero() -> None:
    assert Shard.parse("3/16") == (2, 16)


def test_shard_as_text_counts_from_one() -> None:
    assert str(Shard(2, 16)) == "3/16"
