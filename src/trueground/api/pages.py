"""The hook that the functions of this package and the commands pass down.

`trueground.reports` is imported when a page is written, so that bad input fails fast.
"""

from __future__ import annotations

from pathlib import Path


def write_page(run_dir: Path, *, is_sample: bool = False) -> Path:
    """Write the page of a run directory; see `trueground.evaluate.page_writer.PageWriter`."""
    from trueground.reports import write_run_page

    return write_run_page(run_dir, is_sample=is_sample)
