"""What is known about the models: family, size, organisation, from the models table."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class ModelFacts:
    """One model's line of the models table. `size` is in billions of parameters."""

    family: str
    base: str
    size: float | None
    training: str
    organisation: str
    open: bool | None


def facts_of(names: Iterable[str], extra: Path | None) -> dict[str, ModelFacts]:
    """Name → facts, for the names that the table has. `extra` adds the user's own lines.

    Raises InputError where `extra` cannot be read.
    """
    from trueground.benchmarks.model_table import find_model, load_models

    models = load_models(extra)
    found = {}
    for name in names:
        info = find_model(name, models)
        if info is not None:
            found[name] = ModelFacts(
                info.family, info.base, info.size, info.training, info.organisation, info.open
            )
    return found
