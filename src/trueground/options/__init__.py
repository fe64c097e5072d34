"""Options: declared once, converted, checked and split in one place.

The door of the package. `Option` declares; `declared_options` reads declarations; `parse_options`
makes settings of text; `check_settings` checks the ranges; `takes_fields_of` lets a public function
take the fields of a request; `split_pair` reads NAME=VALUE.
"""

from trueground.options.declaration import (
    UNSET,
    DeclaredOption,
    Option,
    declare,
    declared_options,
    option_of,
    parameters_of,
)
from trueground.options.pairs import split_pair
from trueground.options.parsing import (
    Value,
    default_of,
    format_options,
    parse_options,
    resolve_options,
    unused_options,
)
from trueground.options.requests import takes_fields_of
from trueground.options.shared import (
    Cache,
    LabelsDrawn,
    Level,
    Note,
    OnBadRow,
    Overwrite,
    Progress,
    RateLabels,
    Resamples,
    Seed,
    ShowProgress,
    Workers,
    check_draws,
    check_resamples,
    no_note,
    no_progress,
    parse_shard,
)
from trueground.options.values import (
    MAX_SEED,
    MAX_WHOLE,
    ValueRejectedError,
    check_arguments,
    check_named,
    check_settings,
    check_value,
    parse_value,
)

__all__ = [
    "MAX_SEED",
    "MAX_WHOLE",
    "UNSET",
    "Cache",
    "DeclaredOption",
    "LabelsDrawn",
    "Level",
    "Note",
    "OnBadRow",
    "Option",
    "Overwrite",
    "Progress",
    "RateLabels",
    "Resamples",
    "Seed",
    "ShowProgress",
    "Value",
    "ValueRejectedError",
    "Workers",
    "check_arguments",
    "check_draws",
    "check_named",
    "check_resamples",
    "check_settings",
    "check_value",
    "declare",
    "declared_options",
    "default_of",
    "format_options",
    "no_note",
    "no_progress",
    "option_of",
    "parameters_of",
    "parse_options",
    "parse_shard",
    "parse_value",
    "resolve_options",
    "split_pair",
    "takes_fields_of",
    "unused_options",
]
