"""What calls cost, by the user's table of prices."""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import inf
from pathlib import Path
from typing import Annotated

import msgspec

from trueground.errors import InputError, UsageError
from trueground.options import Option


class Price(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """US dollars per million tokens; cached input costs as other input where no price is given."""

    input: float
    output: float
    cached_input: float | None = None

    def __post_init__(self) -> None:
        """Raises ValueError for what is no price."""
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if value is not None and not 0 <= value < inf:
                raise ValueError(f"{name} is {value}, which is no price")

    @classmethod
    def of(cls, prices: Mapping[str, Price], model: str) -> Price:
        """Return the price of a model. Raises UsageError if the prices have none."""
        if model not in prices:
            raise UsageError.unknown_name("model in the table of prices", model, prices)
        return prices[model]

    def cost(self, tokens_in: int, tokens_out: int, cached: int = 0) -> float:
        """Return US dollars; `cached` is how many of `tokens_in` the endpoint had cached."""
        cached_price = self.input if self.cached_input is None else self.cached_input
        return (
            (tokens_in - cached) * self.input + cached * cached_price + tokens_out * self.output
        ) / 1_000_000


def read_prices(path: Path) -> dict[str, Price]:
    """Return the prices in a file by model. Raises InputError."""
    source = f"--prices {path}"
    try:
        # Python's parser accepts NaN and Infinity, so that the error can name model and field.
        table = msgspec.convert(json.loads(path.read_bytes()), dict[str, object])
        prices = {}
        for model, entry in table.items():
            source = f"--prices {path}, model {model!r}"
            prices[model] = msgspec.convert(entry, Price)
        return prices
    except OSError as error:
        raise InputError(f"{source} can't be read: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"{source}: {error}. Expected, in US dollars per million tokens: "
            '{"model-name": {"input": 2.5, "output": 10.0, "cached_input": 1.25}}'
        ) from None


PriceTable = Annotated[
    Mapping[str, Price] | None,
    Option(
        ('JSON file of prices in USD per million tokens: {"MODEL": {"input": 1, "output": 2}}'),
        type=Path | None,
        parse=read_prices,
    ),
]
