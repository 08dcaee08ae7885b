"""Every dependency has a reason, a version and a permissive licence; and files from others are data."""

from __future__ import annotations

import json
import re
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]
from conftest import ROOT, Cli, Strangers
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version
from wifair import Scenario, _native

from docsite.dependencies import page, pinned, reasons, toml, versions


def test_versions_are_pinned() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    assert all(re.fullmatch(r"#.*|[\w.-]+==[\w.]+", line) for line in lines)


def test_every_dependency_has_a_reason() -> None:
    named, why = versions(), reasons()
    assert {table: sorted(names) for table, names in named.items()} == {table: list(why[table]) for table in named}
    assert all(len(reason) > 3 for table in why.values() for reason in table.values())
    linked_or_tested = {*named["linked"], *named["tested"]}
    workspace = {name for name in toml("Cargo.toml")["workspace"]["dependencies"] if not name.startswith("wifair-")}
    assert workspace == linked_or_tested
    assert all(f"| `{name}` | {version} |" in page() for table in named.values() for name, version in table.items())


def test_the_workflow_builds_with_what_is_pinned_and_calls_what_make_has() -> None:
    workflow = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8"))
    assert {"lint", "rust", "python", "system", "supply"} <= workflow["jobs"].keys()
    assert workflow["env"]["MATURIN"] == f"v{pinned()['maturin']}"
    toolchain, oldest = workflow["env"]["RUSTUP_TOOLCHAIN"], toml("Cargo.toml")["workspace"]["package"]["rust-version"]
    assert re.fullmatch(r"1\.\d+\.\d+", toolchain)
    assert Version(toolchain) >= Version(oldest)
    steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
    called = {target for step in steps for target in re.findall(r"^make ([\w-]+)$", step.get("run", ""), re.M)}
    assert called == {"lint", "test-rust", "test-python", "test-system", "supply"}
    assert called <= set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M))


# As the packages' metadata say it: an SPDX expression, a classifier's end, or a word of their own.
PERMISSIVE = re.compile(
    r"(0BSD|Apache([ -]2\.0|( Software)? License)?|BSD([ -][23]-Clause)?( License)?|CC0-1\.0|ISC( License \(ISCL\))?"
    r"|MIT(-CMU| License)?|PSF-2\.0|Python Software Foundation License|Unlicense|Zlib)"
)
# Packages without a licence in their metadata, and the licence of the file that they install.
BY_FILE = {"axe-playwright-python": "MIT"}
# For developers alone.
COPYLEFT_BY_FILE = re.compile(r"MPL-2\.0|Mozilla Public License 2\.0 \(MPL 2\.0\)")


def licences(package: str) -> list[str]:
    """The licences that apply to an installed package; of a choice, every one that may be chosen."""
    told: Any = metadata(package)
    if package in BY_FILE:
        return [BY_FILE[package]]
    if expression := told.get("License-Expression"):
        return re.split(r" AND | OR ", re.sub(r"[()]", "", expression))
    classified = [c.split(" :: ")[-1] for c in told.get_all("Classifier") or [] if c.startswith("License ::")]
    written = (told.get("License") or "no licence stated").split("\n")[0]
    return [c for c in classified if c != "OSI Approved"] or re.split(r" AND | OR ", written)


def brought(package: str, extras: frozenset[str] = frozenset()) -> set[str]:
    """All that an installation of a package brings here, the package itself included."""
    found: set[str] = set()
    waiting = [(package, extras)]
    while waiting:
        name, wanted = waiting.pop()
        name = canonicalize_name(name)
        try:
            requirements = metadata(name).get_all("Requires-Dist") or []
        except PackageNotFoundError:
            continue  # for another platform
        if name in found:
            continue
        found.add(name)
        for requirement in map(Requirement, requirements):
            markers = [{"extra": extra} for extra in wanted] or [{"extra": ""}]
            if requirement.marker is None or any(requirement.marker.evaluate(given) for given in markers):
                waiting.append((requirement.name, frozenset(requirement.extras)))
    return found


def test_licences_of_python_packages() -> None:
    of_users = brought("wifair") | brought("wifair", frozenset({"dask"}))
    assert {"polars", "distributed", "markupsafe"} <= of_users
    assert "pytest" not in of_users
    for package in sorted((of_users - {"wifair"}) | pinned().keys()):
        for licence in licences(package):
            known = PERMISSIVE.fullmatch(licence) or (package not in of_users and COPYLEFT_BY_FILE.fullmatch(licence))
            assert known, f"{package}: {licence}"


def test_everything_that_is_installed_is_pinned() -> None:
    assert brought("wifair", frozenset({"dev"})) - {"wifair"} <= pinned().keys()


# A file that would leave a trace.
TRAP = "from pathlib import Path\nPath(__file__).with_name('it-ran').touch()\nfrom wifair import Scheme\n"
OWN = TRAP + (
    "class Own(Scheme):\n"
    "    def enqueue(self, arrival, buffer, cx):\n"
    "        buffer.refuse(arrival) if buffer.is_full else buffer.append(arrival)\n"
)


@pytest.fixture
def trap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.py").write_text(OWN)
    return tmp_path / "it-ran"


def test_the_trap_works(trap: Path, here: Cli) -> None:
    Path("cell.toml").write_text('[run]\nwarmup_s = 0\nduration_s = 1\n[[flows]]\ndirection = "up"\n')
    run = here("run", "cell.toml", "--scheme", "own.py:Own", "--seeds", "1", "--threads", "1", "--store", "store")
    assert run.returncode == 0, run.stderr
    assert trap.exists()
    # The store now knows results of that scheme; without the file named, nothing of it is loaded.
    trap.unlink()
    for arguments in (
        ["results", "list", "--store", "store"],
        ["results", "export", "cell", "--store", "store", "--out", "out"],
    ):
        assert here(*arguments).returncode == 0
    assert list(Path("store").rglob("*.zip"))
    assert not trap.exists()


@pytest.mark.parametrize("scheme", ['"own.py:Own"', '{name = "own.py:Own"}', '{name = "external", id = "Own@1"}'])
def test_a_scenario_is_data(trap: Path, here: Cli, scheme: str) -> None:
    flows = '[[flows]]\ndirection = "up"\n'
    Path("cell.toml").write_text(f"[ap]\nscheme = {scheme}\n{flows}")
    Path("station.toml").write_text(f"[station.tx_queue]\nscheme = {scheme}\n{flows}")
    Path("study.toml").write_text('scenario = "cell.toml"\n[product]\nap.limit_packets = [5, 20]\n')
    commands = [["run", "cell.toml"], ["run", "station.toml"], ["check", "cell.toml"], ["explain", "cell.toml"]]
    for command in [
        *commands,
        ["report", "cell.toml"],
        ["sweep", "study.toml"],
        ["compare", "cell.toml", "--schemes", "las"],
    ]:
        assert here(*command).returncode == 2, command
    assert not trap.exists()


def test_a_plan_is_data(trap: Path) -> None:
    plan = Scenario(flows=[{"direction": "up"}]).plan()
    for scheme in ({"name": "external", "id": "own.py:Own", "parameters": {}}, {"name": "own.py:Own"}):
        plan["bss"]["ap"]["tx_queue"]["scheme"] = scheme
        with pytest.raises(_native.PlanError):
            _native.canonical(json.dumps(plan), {})
        with pytest.raises(_native.PlanError):
            _native.Batch([(json.dumps(plan), 1)], 1)
    assert not trap.exists()


def test_no_object_is_unpickled_from_a_file() -> None:
    """The one place that unpickles is what a worker process gets from the process that started it."""
    places = set()
    for path in (ROOT / "python/wifair").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if re.search(r"pickle|marshal|shelve|joblib|np\.load|allow_pickle|yaml\.(?!safe_load)|\beval\(|\bexec\(", text):
            places.add(f"{path.parent.name}/{path.name}")
    assert places == {"study/workers.py", "scheme/python.py"}  # the second runs the file that was named


@pytest.mark.parametrize(
    "words",
    [
        "run cell.toml --seeds 2 --threads 2 --scheme own.py:Own",
        "sweep study.toml --dask local --threads 1 --store store --schemes own.py:Own",
    ],
)
def test_no_code_is_run_from_the_current_directory(strangers: Strangers, words: str) -> None:
    done = strangers.wifair(*words.split())
    assert done.returncode == 0, done.stderr
    assert strangers.ran() == ""


def test_every_child_interpreter_is_safe_from_the_current_directory() -> None:
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "python/wifair").rglob("*.py")]
    started = [call for text in texts for call in re.findall(r'sys\.executable, "(.*?)"', text)]
    assert len(started) == 3
    assert set(started) == {"-P"}
