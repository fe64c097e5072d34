"""Where downloaded data, the response cache and indexes are kept."""

from __future__ import annotations

import os
from pathlib import Path

HOME_VARIABLE = "TRUEGROUND_HOME"


def home() -> Path:
    """$TRUEGROUND_HOME, else the platform's cache folder of this user. Nothing is made here."""
    chosen = os.environ.get(HOME_VARIABLE)
    if chosen:
        return Path(chosen).expanduser().absolute()
    from platformdirs import user_cache_path

    return user_cache_path("trueground", appauthor=False)
