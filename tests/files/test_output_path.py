"""Files that a command may write, and what it leaves alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from trueground.errors import OutputError, UsageError
from trueground.files.output_path import OutputPath

MARK = "trueground-validation-1"
OURS = f'<!doctype html><head><meta name="generator" content="{MARK}"></head>'


def test_a_page_of_another_is_never_replaced(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    OutputPath(page).check_page(MARK, overwrite=False)
    for text in ("<!doctype html><p>mine", OURS.replace("-1", "-12"), f"{MARK} is only named"):
        page.write_text(text, encoding="utf-8")
        for overwrite in (False, True):
            with pytest.raises(OutputError, match=r"is no validation page of ours, so it stays"):
                OutputPath(page).check_page(MARK, overwrite=overwrite)
        assert page.read_text(encoding="utf-8") == text


def test_a_page_of_ours_is_replaced_when_asked(tmp_path: Path) -> None:
    page = tmp_path / "page.htm"
    page.write_text(OURS, encoding="utf-8")
    OutputPath(page).check_page(MARK, overwrite=True)
    with pytest.raises(OutputError, match="pass --overwrite to replace it"):
        OutputPath(page).check_page(MARK, overwrite=False)


def test_the_option_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"^--page .*page\.json: .* name it FILE\.html"):
        OutputPath(tmp_path / "page.json", "--page").check_page(MARK, overwrite=True)
    (tmp_path / "folder.html").mkdir()
    with pytest.raises(OutputError, match=r"--page must name a file, such as .*validation\.html"):
        OutputPath(tmp_path / "folder.html", "--page").check_page(MARK, overwrite=True)
