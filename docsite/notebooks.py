"""The notebooks as pages, with the outputs of a run when the site is built: those that are kept would be of yesterday's engine."""

from __future__ import annotations

import asyncio
import base64
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).parent.parent
NOTEBOOKS = ("first-steps", "buffer-or-scheme", *(path.stem for path in sorted((ROOT / "notebooks").glob("lecture-*"))))
FOLDER = "notebooks"


def write(docs: Path) -> None:
    """Runs every notebook and writes its page, with its pictures next to it, into `docs/notebooks`."""
    (docs / FOLDER).mkdir()
    for name, notebook in zip(NOTEBOOKS, asyncio.run(_run_all()), strict=True):
        page = "\n\n".join(_parts(name, notebook, docs / FOLDER))
        (docs / FOLDER / f"{name}.md").write_text(page + "\n", encoding="utf-8")


async def _run_all() -> list[Any]:
    """The notebooks with their outputs, each run by a kernel of its own."""
    return await asyncio.gather(*(_run(name) for name in NOTEBOOKS))


async def _run(name: str) -> Any:
    notebook: Any = nbformat.read(ROOT / "notebooks" / f"{name}.ipynb", as_version=4)  # type: ignore[no-untyped-call]
    return await NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(ROOT)}}).async_execute()


def _parts(name: str, notebook: Any, folder: Path) -> Iterator[str]:
    """The cells as Markdown, code followed by what it shows."""
    headed = False
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            yield cell.source.replace("<details>", '<details markdown="1">')
            if not headed:
                yield f"*A notebook: `notebooks/{name}.ipynb` of the source, run when this page was built.*"
                headed = True
            continue
        yield f"```python\n{cell.source}\n```"
        for number, output in enumerate(cell.outputs):
            yield _shown(output, folder / f"{name}-{cell.id}-{number}.png")


def _shown(output: Mapping[str, Any], picture: Path) -> str:
    """An output in the first of the forms that it has: picture, table, text."""
    data = output.get("data", {})
    if "image/png" in data:
        picture.write_bytes(base64.b64decode(data["image/png"]))
        return f"![{_described(data)}]({picture.name})"
    if "text/html" in data:
        # Markdown ends an element of HTML at an empty line.
        whole = re.sub(r"\n\s*\n", "\n", data["text/html"])
        return f'<div class="output">\n{whole}\n</div>'
    return f"```text\n{output.get('text') or data.get('text/plain', '')}\n```"


def _described(data: Mapping[str, Any]) -> str:
    """What a chart says of itself."""
    chart = data.get("application/vnd.vegalite.v6+json", {})
    panels = chart.get("hconcat") or chart.get("vconcat") or chart.get("concat") or [chart]
    titles = [panel.get("title", "") for panel in panels]
    return ", ".join(title if isinstance(title, str) else title.get("text", "") for title in titles) or "chart"
