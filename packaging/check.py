"""Checks that the wheel does what the README says, without this checkout and without Rust: `python packaging/check.py WHEEL`.

It is installed into an empty environment, alone with what it depends on, and run from an empty folder: a paper in its quick form,
the pinned trajectories, and every block of the page on schemes in Python.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TOOLS = ("cargo", "rustc", "maturin")


def main(wheel: Path) -> None:
    """Says what it does; a step that fails ends it."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch).resolve()
        home = folder / "environment"
        say(f"installing {wheel.name} into an empty environment")
        subprocess.run([sys.executable, "-m", "venv", home], check=True)
        python = home / "bin" / "python"
        constraints = ["--constraint", ROOT / "constraints.txt"]
        run([sys.executable, "-m", "uv", "pip", "install", "--quiet", "--python", python, *constraints, wheel], folder)
        environment = without_rust(home / "bin")
        for tool in TOOLS:
            if shutil.which(tool, path=environment["PATH"]):
                raise SystemExit(f"{tool} is on the path: this would prove nothing")
        where = run([python, "-c", "import wifair; print(wifair.__file__)"], folder, environment)
        if not Path(where.strip()).is_relative_to(home):
            raise SystemExit(f"wifair came from {where.strip()}")
        say(run(["wifair", "--version"], folder, environment).strip())
        run(["wifair", "cite"], folder, environment)  # the facts lie in the package
        say("wifair paper adaptive-pushout --quick")
        run(["wifair", "paper", "adaptive-pushout", "--quick", "--out", "paper"], folder, environment)
        written = sorted(path.name for path in (folder / "paper").iterdir())
        if "verdicts.md" not in written or not any(name.endswith(".png") for name in written):
            raise SystemExit(f"the paper's verdicts or figures are missing: there is {', '.join(written)}")
        pinned = shutil.copy(ROOT / "tests" / "pinned.py", folder)
        trajectories = shutil.copytree(ROOT / "crates/wifair-sim/tests/trajectories", folder / "trajectories")
        say(run([python, pinned, trajectories], folder, environment).strip())
        pages = shutil.copy(ROOT / "tests" / "pages.py", folder)
        page = shutil.copy(ROOT / "docs" / "own-scheme-in-python.md", folder)
        say(run([python, pages, page], folder, environment).strip())
    say("the wheel does what it should")


def without_rust(first: Path) -> dict[str, str]:
    """The environment of this process, but `first` first on the path, and nothing there of Rust or of this checkout."""
    kept = [
        part
        for part in os.environ["PATH"].split(os.pathsep)
        if not any(shutil.which(tool, path=part) for tool in TOOLS) and not Path(part).is_relative_to(ROOT)
    ]
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "VIRTUAL_ENV"))}
    return {**environment, "PATH": os.pathsep.join([str(first), *kept])}


def run(command: list[str | Path], folder: Path, environment: dict[str, str] | None = None) -> str:
    """What a command prints; if it fails, all of that, and the end."""
    path = (environment or os.environ)["PATH"]
    program = shutil.which(str(command[0]), path=path) or str(command[0])
    done = subprocess.run(
        [program, *map(str, command[1:])], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def say(text: str) -> None:
    """Prints a line on standard output and flushes it."""
    print(text, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
