"""Runs the code of a page of the documentation, block by block, as a reader would: `python tests/pages.py PAGE.md`.

A block whose first line is a comment with a file's name is that file. Of the others, `python` blocks run one after the other in one
program, and the lines of `sh` blocks that begin with `wifair` run on the command line. A `text` block is what the block before
it has printed.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"# ([\w-]+\.\w+)\n")


def blocks(page: Path) -> Iterator[tuple[str, str]]:
    """The language and the text of each block."""
    for found in BLOCK.finditer(page.read_text(encoding="utf-8")):
        yield found[1], found[2]


def run_page(page: Path, folder: Path) -> int:
    """Runs a page in an empty folder and returns the number of blocks. Raises an exception if a result differs from the page."""
    from wifair.cli import execute

    names: dict[str, Any] = {"__name__": "page"}
    printed, count = "", 0
    page = page.resolve()
    before = Path.cwd()
    os.chdir(folder)
    sys.path.insert(0, str(folder))
    try:
        for language, text in blocks(page):
            count += 1
            out = io.StringIO()
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
                if head := FILE.match(text):
                    Path(head[1]).write_text(text, encoding="utf-8")
                elif language == "python":
                    exec(compile(text, f"{page.name}, block {count}", "exec"), names)
                elif language == "sh":
                    for line in text.splitlines():
                        if line.startswith("wifair ") and (status := execute(shlex.split(line, comments=True)[1:])):
                            raise AssertionError(f"{line}: exit status {status}\n{out.getvalue()}")
                elif language == "text" and text.strip() != printed.strip():
                    raise AssertionError(f"block {count} says\n{text}\nbut this was printed:\n{printed}")
            printed = out.getvalue()
    finally:
        sys.path.remove(str(folder))
        os.chdir(before)
    return count


if __name__ == "__main__":
    for name in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as scratch:
            number = run_page(Path(name), Path(scratch).resolve())
        sys.stdout.write(f"{name}: {number} blocks, all as the page says\n")
