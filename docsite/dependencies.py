"""The page of dependencies: versions from `Cargo.lock` and `constraints.txt`, reasons from `packaging/dependencies.toml`."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
# The tables of `packaging/dependencies.toml`, with their headings on the page.
HEADS = {
    "linked": "Linked into the wheel (Rust)",
    "tested": "Used by tests and benchmarks alone (Rust)",
    "installed": "Installed with the package (Python)",
    "extras": "Installed with extras (Python)",
}


def toml(name: str | Path) -> dict[str, Any]:
    """A TOML file of the checkout."""
    return tomllib.loads((ROOT / name).read_text(encoding="utf-8"))


def pinned() -> dict[str, str]:
    """Every version in `constraints.txt`, by canonical name."""
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pairs = (line.partition("==") for line in lines if not line.startswith("#"))
    return {canonicalize_name(name): version for name, _, version in pairs}


def versions() -> dict[str, dict[str, str]]:
    """The dependencies in the manifests by table, with exact versions."""
    locked = {package["name"]: package["version"] for package in toml("Cargo.lock")["package"]}
    manifests = [toml(path) for folder in ("crates", "benches") for path in (ROOT / folder).glob("*/Cargo.toml")]
    of_systems = [system for manifest in manifests for system in manifest.get("target", {}).values()]

    def crates(*tables: str) -> dict[str, str]:
        names = {name for manifest in manifests + of_systems for table in tables for name in manifest.get(table, {})}
        return {name: locked[name] for name in names if not name.startswith("wifair-")}

    def packages(requirements: list[str]) -> dict[str, str]:
        names = (canonicalize_name(Requirement(text).name) for text in requirements)
        return {name: pinned()[name] for name in names}

    project = toml("pyproject.toml")["project"]
    linked = crates("dependencies", "build-dependencies")
    return {
        "linked": linked,
        "tested": {name: version for name, version in crates("dev-dependencies").items() if name not in linked},
        "installed": packages(project["dependencies"]),
        "extras": packages([text for texts in project["optional-dependencies"].values() for text in texts]),
    }


def reasons() -> dict[str, dict[str, str]]:
    """The reason for each dependency."""
    return toml("packaging/dependencies.toml")


def page() -> str:
    """The page, with a table for each kind of dependency."""
    text = "# Dependencies\n\nWhat is checked about them: [Supply chain](supply.md).\n"
    why = reasons()
    for table, named in versions().items():
        text += f"\n## {HEADS[table]}\n\n| package | version | what for |\n| --- | --- | --- |\n"
        text += "".join(f"| `{name}` | {named[name]} | {why[table][name]} |\n" for name in sorted(named))
    return text
