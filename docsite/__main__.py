"""Assembles the site: `python -m docsite build/docs`. `make docs` then calls the builder, Zensical.

Hand-written pages are those of `docs/`, which are also readable on a git host. All others are generated here from the
code and not committed, so they are always up to date, and a new component needs no page. Long generated tables of a
hand-written page move to an appendix (`docsite.generated`).
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Collection
from pathlib import Path
from typing import Any

from wifair.papers import OURS, paper_ids, study_ids
from wifair.scenario.components import engine_schema

from docsite import commands, components, dependencies, notebooks, pictures, python, reference
from docsite.generated import appendix
from docsite.keys import KINDS, folder

ROOT = Path(__file__).parent.parent
# Hand-written pages by section of the site, in order. Pages not listed come last among the guides.
START = ("index",)
GUIDES = (
    "first-lecture",
    "explain",
    "neighbours",
    "lab",
    "emulate",
    "sweeps",
    "tune",
    "import",
    "fit",
    "advise",
    "check-prediction",
    "population",
    "report",
    "python-api",
    "traces",
    "own-scheme-in-python",
    "own-scheme-in-rust",
    "adding",
)
CONCEPTS = ("concepts", "scope")
MODELS = ("medium", "rates", "tcp", "traffic", "modern-ap", "air-share", "air-share-linux", "architecture")
QUALITY = (
    "quality",
    "validation",
    "peers",
    "peers-a-mpdus",
    "peers-fields",
    "peers-linux",
    "mutation",
    "fuzzing",
    "coverage",
    "determinism",
    "load",
    "supply",
)


def assemble(folder_: Path) -> Path:
    """Writes pages, pictures and the builder's configuration. Returns the configuration's path."""
    shutil.rmtree(folder_, ignore_errors=True)
    docs = folder_ / "docs"
    shutil.copytree(ROOT / "docs", docs)
    shutil.copy(ROOT / "CHANGELOG.md", docs / "changelog.md")
    for name in ("iframe-worker.js", "site.css"):
        shutil.copy(Path(__file__).parent / name, docs / name)
    appendices = {}
    for path in sorted(docs.glob("*.md")):
        text = _carried(path.read_text(encoding="utf-8"), docs)
        if not path.stem.endswith(("-verdicts", "-calibration")):  # an appendix already
            text, tables = appendix(text, path.stem)
            if tables:
                appendices[f"{path.stem}-tables.md"] = tables
        path.write_text(text, encoding="utf-8")
    generated = {
        **appendices,
        "scenario.md": reference.page(),
        "commands.md": commands.page(),
        "python.md": python.page(),
        "dependencies.md": dependencies.page(),
        "papers.md": _papers(),
        **dict(components.pages()),
    }
    for name, text in generated.items():
        page = docs / name
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(text, encoding="utf-8")
    for path in docs.rglob("*.md"):
        path.write_text(_lists_apart(path.read_text(encoding="utf-8")), encoding="utf-8")
    pictures.draw(docs / "images")
    notebooks.write(docs)
    configuration = folder_ / "mkdocs.yml"
    configuration.write_text(json.dumps(_configuration(docs, appendices), indent=1), encoding="utf-8")  # JSON is YAML
    return configuration


def _papers() -> str:
    """An overview of the papers, with the verdicts of their pages."""
    rows = []
    for paper in paper_ids():
        text = (ROOT / "docs" / f"{paper}.md").read_text(encoding="utf-8")
        counts = re.search(r"^(\d+) claims: (.*)\.$", text, re.MULTILINE)
        title = re.search(r"\*([^*]+)\*", text)
        told = (counts[1], counts[2]) if counts else ("–", "–")
        rows.append(
            f"| [{paper}]({paper}.md) | {' '.join(title[1].split()) if title else ''} | {told[0]} | {told[1]} |"
        )
    return (
        "# Papers\n\nEach paper is a study that runs again with one command; each of its published results has a verdict. "
        "The verdicts below are those of the papers' pages, which were written by `wifair paper ID --full --page`.\n\n"
        "| paper | title | claims | verdicts |\n| --- | --- | --- | --- |\n" + "\n".join(rows) + "\n"
    )


def _carried(text: str, docs: Path) -> str:
    """The page with links to other files of the checkout replaced by links to copies in the site."""

    def carried(link: re.Match[str]) -> str:
        path, anchor = link[1], link[2] or ""
        if path in ("CHANGELOG.md", "README.md"):
            return f"](changelog.md{anchor})" if path == "CHANGELOG.md" else f"](index.md{anchor})"
        if path.startswith("notebooks/"):
            return f"]({path.removesuffix('.ipynb')}.md{anchor})"
        source, copy = ROOT / path, docs / "files" / path
        if source.is_file():
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, copy)
        return f"](files/{path}{anchor})"

    return re.sub(r"\]\(\.\./([^)#]+)(#[^)]*)?\)", carried, text)


def _lists_apart(text: str) -> str:
    """Inserts an empty line between a paragraph and a list, which the builder's Markdown needs."""
    lines: list[str] = []
    in_code = False
    for line in text.split("\n"):
        before = lines[-1] if lines else ""
        if line.lstrip().startswith("```"):
            in_code = not in_code
        begins = re.match(r"([-*]|\d+\.) ", line)
        in_list = re.match(r"\s*([-*]|\d+\.) |\s+\S", before)
        if begins and not in_code and before and not in_list and not _still_in_list(lines):
            lines.append("")
        lines.append(line)
    return "\n".join(lines)


def _still_in_list(lines: list[str]) -> bool:
    """Whether the paragraph that ends here belongs to an item of a list."""
    for line in reversed(lines):
        if not line:
            return False
        if re.match(r"\s*([-*]|\d+\.) ", line):
            return True
    return False


def _configuration(docs: Path, appendices: Collection[str]) -> dict[str, Any]:
    papers = paper_ids()
    tables = sorted(name.removesuffix(".md") for name in appendices)
    verdicts = [name for study in study_ids() if (docs / f"{(name := f'{study}-verdicts')}.md").exists()]
    verdicts += sorted(path.stem for path in docs.glob("*-calibration.md"))
    named = {
        *(*START, *GUIDES, *CONCEPTS, *MODELS, *QUALITY, *papers, *OURS, *tables, *verdicts),
        *("comparison", "scenario", "commands", "python", "papers", "dependencies", "changelog"),
    }
    others = sorted(path.stem for path in docs.glob("*.md") if path.stem not in named)

    def listed(*names: str) -> list[str]:
        return [f"{name}.md" for name in names]

    def kind(name: str) -> dict[str, list[str]]:
        own = folder(name)
        return {KINDS[name][0]: [f"{own}/index.md", *(f"{own}/{c['name']}.md" for c in engine_schema()[name])]}

    return {
        "site_name": "wifair",
        "site_description": "Which buffer and transport scheme gives every TCP flow its fair share of the air?",
        "docs_dir": "docs",
        "site_dir": "site",
        "use_directory_urls": False,
        "theme": {
            "name": "material",
            "font": False,  # the reader's own: nothing is fetched
            "features": ["navigation.tabs", "navigation.indexes", "navigation.top", "content.code.copy", "toc.follow"],
            "palette": [
                {
                    "media": "(prefers-color-scheme: light)",
                    "scheme": "default",
                    "toggle": {"icon": "lucide/sun", "name": "Dark"},
                },
                {
                    "media": "(prefers-color-scheme: dark)",
                    "scheme": "slate",
                    "toggle": {"icon": "lucide/moon", "name": "Light"},
                },
            ],
        },
        "plugins": ["search", "offline"],
        "extra_css": ["site.css"],
        "markdown_extensions": [
            "tables",
            "md_in_html",
            "pymdownx.superfences",
            "pymdownx.highlight",
            {"toc": {"permalink": True}},
        ],
        # Replaces the builder's script, which readers would have to download: search then works from a local folder.
        "extra": {
            "polyfills": [{"path": "iframe-worker.js", "type": "text/javascript", "async": False, "defer": False}]
        },
        "nav": [
            {"Start": listed(*START)},
            {
                "Guides": [
                    *listed(*GUIDES, *others),
                    {"Notebooks": [f"notebooks/{name}.md" for name in notebooks.NOTEBOOKS]},
                ]
            },
            {
                "Reference": [
                    *listed("scenario", "commands", "python"),
                    {"Components": [kind(name) for name in KINDS]},
                    *listed("changelog"),
                ]
            },
            {
                "Background": [
                    *listed(*CONCEPTS),
                    {"Models": listed(*MODELS)},
                    *listed("comparison", *OURS),
                    {"Papers": listed("papers", *papers)},
                    {"Quality": listed(*QUALITY)},
                    {"Appendices": listed(*verdicts, *tables, "dependencies")},
                ]
            },
        ],
    }


if __name__ == "__main__":
    sys.stdout.write(f"{assemble(Path(sys.argv[1]))}\n")
