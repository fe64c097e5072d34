"""What calls cost, by a table of the user's.

    {"gpt-4o": {"input": 2.5, "output": 10.0, "cached_input": 1.25}}

Prices are in US dollars per million tokens. No prices come with the package: they change too often.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from trueground.errors import InputError, unknown_name


class Price(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """US dollars per million tokens; cached input costs as other input where no price is given."""

    input: float
    output: float
    cached_input: float | None = None

    def cost(self, tokens_in: int, tokens_out: int, cached: int = 0) -> float:
        """US dollars; `cached` are those of `tokens_in` that the endpoint had kept."""
        kept = self.input if self.cached_input is None else self.cached_input
        return (
            (tokens_in - cached) * self.input + cached * kept + tokens_out * self.output
        ) / 1_000_000


Prices = Mapping[str, Price]


def read_prices(path: Path) -> Prices:
    """The table in a file. Raises InputError."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, Price])
    except OSError as error:
        raise InputError(f"--prices {path} cannot be read: {error.strerror or error}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InputError(
            f"--prices {path}: {error}. Expected, in US dollars per million tokens: "
            '{"model-name": {"input": 2.5, "output": 10.0, "cached_input": 1.25}}'
        ) from None


def price_of(model: str, prices: Prices) -> Price:
    """The price of a model. Raises UsageError where the table has none."""
    if model not in prices:
        raise unknown_name("model in the table of prices", model, prices)
    return prices[model]
