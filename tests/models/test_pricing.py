"""Tables of prices: what a call costs, and what is no price."""

from __future__ import annotations

from pathlib import Path

import pytest

from trueground.errors import InputError, UsageError
from trueground.models.prices import Price, read_prices


def test_a_table_gives_dollars(tmp_path: Path) -> None:
    path = tmp_path / "prices.json"
    path.write_text(
        '{"m": {"input": 1, "output": 2.5, "cached_input": 0}, "n": {"input": 4e-1, "output": 0}}'
    )
    prices = read_prices(path)
    assert prices["m"].cost(3_000_000, 2_000_000, cached=1_000_000) == pytest.approx(2 + 5)
    assert prices["n"].cost(1_000_000, 7, cached=500_000) == pytest.approx(0.4)
    with pytest.raises(UsageError, match="Known: m, n"):
        Price.of(prices, "x")


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ('{"input": -1, "output": 2}', "input is -1.0, which is no price"),
        ('{"input": 1, "output": NaN}', "output is nan, which is no price"),
        ('{"input": 1, "output": 2, "cached_input": Infinity}', "cached_input is inf, which"),
        ('{"input": 1e999, "output": 2}', "input is inf, which is no price"),
        ('{"input": "1", "output": 2}', r"got `str` - at `\$\.input`"),
        ('{"input": 1}', "missing required field `output`"),
        ('{"input": 1, "output": 2, "ouput": 2}', "unknown field `ouput`"),
        ("3", "Expected `object`, got `int`"),
    ],
)
def test_invalid_price_error_names_model_and_field(entry: str, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "prices.json"
    path.write_text(f'{{"good": {{"input": 1, "output": 2}}, "org/bad": {entry}}}')
    with pytest.raises(InputError, match=rf"prices\.json, model 'org/bad': .*{reason}"):
        read_prices(path)


@pytest.mark.parametrize("text", [b"[1]", b"{", b"\xff\xfe{", b"", b"[" * 100_000])
def test_invalid_price_table_error_names_file(text: bytes, tmp_path: Path) -> None:
    path = tmp_path / "prices.json"
    path.write_bytes(text)
    with pytest.raises(InputError, match=r"--prices .*prices\.json: .*US dollars"):
        read_prices(path)
    with pytest.raises(InputError, match=r"gone\.json can't be read: No such file"):
        read_prices(tmp_path / "gone.json")


def test_no_price_is_made_in_python_either() -> None:
    with pytest.raises(ValueError, match="output is -2"):
        Price(1.0, -2.0)
