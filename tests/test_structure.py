"""The structure of the Python package: imports have no cycles, and former names of modules still work."""

import ast
import re
import subprocess
import sys
from collections import defaultdict
from graphlib import TopologicalSorter
from importlib import import_module
from pathlib import Path

import pytest
from wifair.names import FORMER

PACKAGE = Path(__file__).parents[1] / "python" / "wifair"


def name_of(path: Path) -> str:
    parts = ["wifair", *path.relative_to(PACKAGE).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {name_of(path): path for path in PACKAGE.rglob("*.py")}


def docstring(path: Path) -> str:
    return ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")), clean=False) or ""


def imported(path: Path) -> set[str]:
    """The modules of the package that a file imports, wherever in it, for types or on use."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            while name and name not in MODULES:
                name = name.rpartition(".")[0]
            found.add(name)
    return found - {"", "wifair"}


def test_arrows_between_files_run_one_way() -> None:
    arrows = {name: imported(path) - {name} for name, path in MODULES.items() if name != "wifair"}
    assert arrows["wifair.study.study"] >= {"wifair.study.job", "wifair.study.store"}
    tuple(TopologicalSorter(arrows).static_order())  # raises CycleError, which names the files of a circle


def test_arrows_between_folders_run_one_way() -> None:
    arrows = defaultdict(set)
    for name, path in MODULES.items():
        for other in imported(path):
            one, two = name.split(".")[1:2], other.split(".")[1:2]
            if one and one != two:
                arrows[one[0]].add(two[0])
    assert "results" in arrows["study"]
    tuple(TopologicalSorter(arrows).static_order())


@pytest.mark.parametrize("former", FORMER)
def test_former_names_work_and_warn(former: str) -> None:
    sys.modules.pop(former, None)
    with pytest.warns(DeprecationWarning, match=f"{former} has moved: import {FORMER[former]}"):
        found = import_module(former)
    assert found is import_module(FORMER[former])


def test_the_warning_of_a_former_name_shows_the_line_that_uses_it(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("from wifair.comparison import paired\nfrom wifair.study import Cell, run_studies\n")
    done = subprocess.run([sys.executable, "-W", "always", str(script)], capture_output=True, text=True, check=True)
    assert f"{script}:1: DeprecationWarning: wifair.comparison has moved" in done.stderr
    assert done.stderr.count("DeprecationWarning") == 1


def test_a_name_that_never_was_is_not_found() -> None:
    with pytest.raises(ModuleNotFoundError):
        import_module("wifair.nowhere")
    for package in ("wifair.study", "wifair.results", "wifair.scenario"):
        with pytest.raises(AttributeError, match="nowhere"):
            _ = import_module(package).nowhere


LISTING = [name for name, path in MODULES.items() if re.search(r"^ *\w+\.py\b", docstring(path), re.MULTILINE)]


@pytest.mark.parametrize("name", LISTING)
def test_a_package_names_each_file_on_a_line_with_what_it_is(name: str) -> None:
    text, folder = docstring(MODULES[name]), MODULES[name].parent
    rows = re.findall(r"^ *([\w/]+(?:\.py)?(?:, \w+\.py)*)  +\S", text, re.MULTILINE)
    listed = [file for row in rows for file in row.split(", ")]
    assert sorted(file for file in listed if file.endswith(".py")) == sorted(re.findall(r"\w+\.py\b", text))
    assert [file for file in listed if not (folder / file).exists()] == []
