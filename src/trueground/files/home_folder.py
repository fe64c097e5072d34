"""Where trueground keeps what it downloads and caches."""

from __future__ import annotations

import os
from pathlib import Path

HOME_VARIABLE = "TRUEGROUND_HOME"


def home() -> Path:
    """Return $TRUEGROUND_HOME, else the platform's cache folder of this user. Makes nothing."""
    chosen = os.environ.get(HOME_VARIABLE)
    if chosen:
        return Path(chosen).expanduser().absolute()
    from platformdirs import user_cache_path

    return user_cache_path("trueground", appauthor=False)
