"""Schemes written in Python from files: known by their source in the store, on the command line, in processes of their own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from python_schemes import ADAPTIVE, OWN, TailDrop, scenario
from wifair import Scheme, SchemeError, Store
from wifair.cli import execute
from wifair.errors import Interrupted
from wifair.scheme import Buffer, Context, Packet
from wifair.study import Cell, Study, StudyInterrupted, run_studies


def test_ctrl_c_stops_the_processes_and_keeps_what_is_finished() -> None:
    endless = scenario(TailDrop, run={"warmup_s": 0.0, "duration_s": 1e6})
    cells = [Cell("short", scenario(TailDrop)), Cell("long", endless)]
    passed: list[float] = []

    def press(share: float) -> None:
        passed.append(share)
        if share > 2e-5:
            raise KeyboardInterrupt

    for threads in (1, 2):
        passed.clear()
        with pytest.raises(StudyInterrupted) as caught:
            run_studies([Study(cells, 1)], threads=threads, progress=press)
        (results,) = caught.value.results
        assert results.missing >= 1
        assert results.runs.height + results.missing == 2
        if threads == 1:  # which come in order
            assert results.runs["scenario"].to_list() == ["short"]
        assert passed == sorted(passed)
    assert issubclass(StudyInterrupted, Interrupted)


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., types.ModuleType]]:
    """Imports a module anew after its file, or a helper's, has been written."""
    monkeypatch.syspath_prepend(str(tmp_path))
    written: set[str] = set()

    def write(**files: str) -> types.ModuleType:
        import importlib

        for name, text in files.items():
            (tmp_path / f"{name}.py").write_text(text)
            written.add(name)
        for name in written:
            sys.modules.pop(name, None)
        importlib.invalidate_caches()
        sys.dont_write_bytecode = True
        return importlib.import_module("own_scheme")

    yield write
    sys.dont_write_bytecode = False
    for name in written:
        sys.modules.pop(name, None)


def test_the_store_knows_results_by_the_source(module: Callable[..., types.ModuleType], tmp_path: Path) -> None:
    def taken(made: types.ModuleType) -> int:
        store = Store(tmp_path / "store")
        scenario(made.Own).run(2, threads=1, store=store)
        return store.taken

    assert taken(module(helper="REASON = 1", own_scheme=OWN)) == 0
    assert taken(module(own_scheme=OWN)) == 2
    assert taken(module(own_scheme=OWN + "# another source")) == 0
    assert taken(module(helper="REASON = 2")) == 0  # what it imports from beside it is a part of it
    assert taken(module(helper="REASON = 1", own_scheme=OWN)) == 2


def test_a_file_that_changes_under_a_running_program_is_not_mistaken_for_its_class(
    module: Callable[..., types.ModuleType], tmp_path: Path
) -> None:
    made = module(helper="REASON = 1", own_scheme=OWN)
    (tmp_path / "own_scheme.py").write_text("it has been edited")
    edited = scenario(made.Own).plan_json
    assert edited == scenario(module(own_scheme=OWN).Own).plan_json


def test_without_a_source_nothing_is_stored_and_a_warning_says_so(tmp_path: Path) -> None:
    names: dict[str, Any] = {"Scheme": Scheme, "__name__": "nowhere"}
    exec(OWN.replace("from helper import REASON", "").replace("from wifair.scheme import Scheme", ""), names)
    for _ in range(2):
        store = Store(tmp_path / "store")
        with pytest.warns(UserWarning, match="Own: there is no source"):
            results = scenario(names["Own"]).run(2, threads=1, store=store)
        assert results.runs.height == 2
        assert store.taken == 0
        assert store.mine.replications().height == 0


def test_a_scheme_that_cannot_travel_is_told(tmp_path: Path) -> None:
    handle = (tmp_path / "open").open("w")

    class Anchored(TailDrop):
        def enqueue(self, arrival: Packet, buffer: Buffer, cx: Context) -> None:
            handle.write("x")
            super().enqueue(arrival, buffer, cx)

    with pytest.raises(SchemeError, match="cannot be sent to other processes"):
        scenario(Anchored).run(2, threads=2)
    handle.close()


Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def wifair(capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs the command line in this process: the tests of the command line itself start one for each."""

    def call(*arguments: object) -> tuple[int, str, str]:
        status = execute([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return status, out, err

    return call


def test_the_command_line_takes_files(wifair: Run, short: Path, tmp_path: Path) -> None:
    own = f"{ADAPTIVE}:AdaptivePushout"
    few = ("--seeds", "2", "--set", "ap.limit_packets=5", "--threads", "1", "--json")
    status, out, err = wifair("compare", short, "--schemes", f"adaptive-pushout,{own}", *few)
    assert (status, err) == (0, "")
    differences = json.loads(out)["differences"]
    assert all(row["identical"] for row in differences)
    assert differences[0]["scenario"] == own
    _, chosen, _ = wifair("run", short, "--scheme", own, *few)
    _, set_by_key, _ = wifair("run", short, "--set", f"ap.scheme={own}", *few)
    _, twin, _ = wifair("run", short, "--scheme", "adaptive-pushout", *few)
    assert json.loads(chosen)["summary"] == json.loads(twin)["summary"]
    assert chosen == set_by_key
    study = tmp_path / "study.toml"
    study.write_text(f'scenario = "{short.name}"\nreplications = 2\n[product]\nap.limit_packets = [5, 20]\n')
    arguments = ("--schemes", f"droptail,{own}", "--store", tmp_path / "store", "--threads", "1", "--json")
    _, swept, _ = wifair("sweep", study, *arguments)
    assert {row["keys"]["ap.scheme"] for row in json.loads(swept)["scenarios"]} == {"droptail", own}
    assert "8 replications were taken from" in wifair("sweep", study, *arguments)[2]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nowhere.py:Own", "nowhere.py: cannot be read"),
        (f"{ADAPTIVE}:AdaptivePushuot", "Did you mean AdaptivePushout?"),
        (f"{ADAPTIVE}:share", "has no scheme 'share'"),
        (f"{ADAPTIVE}:", "expected FILE.py:CLASS"),
    ],
)
def test_wrong_names_on_the_command_line(wifair: Run, short: Path, name: str, message: str) -> None:
    status, out, err = wifair("run", short, "--scheme", name)
    assert (status, out) == (2, "")
    assert err.startswith("wifair: ")
    assert message in err
    assert "Traceback" not in err


def test_a_file_that_fails_is_told_with_its_own_traceback(wifair: Run, short: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.py"
    bad.write_text("import wifair.scheme\nraise OSError('no licence')\n")
    status, _, err = wifair("run", short, "--scheme", f"{bad}:Own")
    assert status == 1
    assert err.startswith(f"wifair: {bad} failed while it was loaded:\nTraceback")
    assert err.endswith("bad.py\", line 2, in <module>\n    raise OSError('no licence')\nOSError: no licence\n")
    bad.write_text("def :\n")
    assert "is no Python" in wifair("run", short, "--scheme", f"{bad}:Own")[2]


def test_a_scenario_file_never_has_code_run(wifair: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("own.py").write_text("raise SystemExit('it has been run')\n")
    Path("cell.toml").write_text('[ap]\nscheme = "own.py:Own"\n[[flows]]\ndirection = "up"\n')
    status, _, err = wifair("run", "cell.toml")
    assert status == 2
    assert "a scenario file never makes anything run its code" in err
    base = 'scenario = { flows = [{ direction = "up" }] }\n'
    Path("study.toml").write_text(base + '[product]\nap.scheme = ["droptail", "own.py:Own"]\n')
    assert "never makes anything run its code" in wifair("sweep", "study.toml")[2]
    external = '[ap]\nscheme = {name = "external", id = "Own@1"}\n[[flows]]\ndirection = "up"\n'
    Path("cell.toml").write_text(external)
    assert "unknown name 'external'" in wifair("run", "cell.toml")[2]


def test_a_script_needs_no_guard(tmp_path: Path) -> None:
    """Worker processes do not run the program again that started them."""
    script = tmp_path / "study.py"
    script.write_text(
        OWN.replace("from helper import REASON", "print('once')")
        + "from wifair import Scenario\n"
        + "cell = Scenario(ap={'scheme': Own}, flows=[{'direction': 'down'}], run={'warmup_s': 1, 'duration_s': 1})\n"
        + "print(cell.run(seeds=3, threads=2).runs.height)\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("once\n3\n", 0), done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_ctrl_c_in_a_terminal_reaches_all_processes_and_only_the_study_speaks(tmp_path: Path) -> None:
    """A terminal sends it to every process of the group, the workers that have just been started included."""
    cell = tmp_path / "long.toml"
    cell.write_text('[run]\nwarmup_s = 0\nduration_s = 1000000\n[[flows]]\ndirection = "up"\n')
    arguments = ["run", str(cell), "--scheme", f"{ADAPTIVE}:AdaptivePushout", "--seeds", "2", "--threads", "2"]
    command = [sys.executable, "-c", "from wifair.cli import main; main()", *arguments]
    process = subprocess.Popen(
        command, start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )

    def group() -> int:
        def member(pid: str) -> bool:
            try:
                return os.getpgid(int(pid)) == process.pid
            except ProcessLookupError:
                return False

        return sum(member(pid) for pid in os.listdir("/proc") if pid.isdigit())

    while process.poll() is None and group() < 4:  # the study, its two workers, what keeps track of their resources
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    _, stderr = process.communicate(timeout=120)
    assert (process.returncode, stderr.count("\n")) == (130, 1), stderr
    assert "0 of 2 replications were finished" in stderr
