"""A whole page, and the forms in which it is shown: text, Markdown, HTML."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import BinaryIO

import msgspec
from msgspec.structs import replace

from trueground._version import __version__
from trueground.reports.blocks import COLUMNS, Block, Rich, Text, select_blocks


class Page(msgspec.Struct, omit_defaults=True):
    """A page: its title, its blocks, and the notices above them.

    Attributes:
        kind: What the page shows, such as "run".
        mark: The value that identifies pages of trueground among HTML files.
        title: The title.
        blocks: The blocks below the title.
        lead: The text below the title.
        notices: Warnings that every form of the page shows.
        version: The version of trueground that made the run.
        home: The address of the list of runs.
    """

    kind: str
    mark: str
    title: str
    blocks: list[Block]
    lead: Rich = ""
    notices: list[str] = []
    version: str | None = None
    home: str | None = None

    @classmethod
    def of(cls, blocks: Iterable[Block]) -> Page:
        """Return a page without a title, to be shown as text."""
        return cls("", "", "", [*blocks])

    def for_viewer(self) -> Page:
        """Return the page without what other faces show."""
        return replace(self, blocks=[*select_blocks(self.blocks, "page")])

    def to_text(self, width: int = COLUMNS) -> str:
        """Return the page as text: its notices and its blocks, with empty lines between.

        Title and lead are for the page in a browser; who calls a command knows them.

        Args:
            width: The columns of a line. Only paths and names with hyphens are longer.
        """
        from trueground.reports.text import render_text

        notices: list[Block] = [Text(notice, "note") for notice in self.notices]
        return render_text([*notices, *self.blocks], width)

    def to_markdown(self) -> str:
        """Return the page as Markdown: title, lead, and blocks.

        Parts have headings of the second level. Lists that are searched are left out. Of charts of
        one spread the numbers are kept.
        """
        from trueground.reports.markdown import render_markdown

        return render_markdown(self.title, self.lead, self.blocks)

    def to_notebook(self) -> str:
        """Return the texts and tables of the page as a short piece of HTML."""
        from trueground.reports.notebook import render_html

        return render_html(self.blocks)

    def to_html(self) -> str:
        """Return the page as a whole HTML file, which needs no other file."""
        from trueground.reports.viewer import json_block, make_frame

        head, tail = make_frame(self.title, self.mark)
        return (head + json_block("page", self._for_file()) + tail).decode()

    def write(
        self,
        path: Path,
        write_data: Callable[[BinaryIO], None] | None = None,
        *,
        files: bool = False,
    ) -> None:
        """Write the page as an HTML file, atomically.

        Args:
            path: The file.
            write_data: Adds blocks of data after that of the page.
            files: The page may load scripts from its folder.

        Raises:
            WriteError: The file can't be written.
        """
        from trueground.files import OutputPath
        from trueground.reports.viewer import json_block, make_frame

        head, tail = make_frame(self.title, self.mark, files=files)
        with OutputPath(path).replacing() as out:
            out.write(head + json_block("page", self._for_file()))
            if write_data is not None:
                write_data(out)
            out.write(tail)

    def _for_file(self) -> Page:
        """Return what a file has of the page, with the version that wrote it."""
        page = self.for_viewer()
        if page.version is None:
            page.version = __version__
        return page
