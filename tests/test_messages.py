"""Messages of the command line and of Python: what is wrong, what is allowed, what to do."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
import wifair
from conftest import ROOT, Cli
from wifair.cli.output import say_of
from wifair.keys import missing
from wifair.scenario.components import components
from wifair.study.store import Store

SCHEMES = "examples/adaptive_pushout.py"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["run", "home", "--set", "ap.limit_packets=-5"],
            "ap.limit_packets: -5 is not allowed; allowed here: 1 to 100000.",
        ),
        (
            ["run", "home", "--set", "ap.limit_packets=1e9"],
            "ap.limit_packets: 1000000000 is not allowed; allowed here: 1 to 100000",
        ),
        (["run", "home", "--set", f"ap.limit_packets={10**30}"], "allowed here: 1 to 100000."),
        (
            ["run", "home", "--set", "tcp.receiver_window_segments=4294967296"],
            "tcp.receiver_window_segments: 4294967296 is not allowed; allowed here: whole numbers from 0 to 4294967295.",
        ),
        (
            ["run", "home", "--set", "run.duration_s=1e300"],
            "run.duration_s: 1e+300 is not allowed; allowed here: 0.001",
        ),
        (
            ["run", "home", "--set", f"ap.limit_packets={10**300}"],
            "ap.limit_packets: 1e+300 is not allowed; allowed here",
        ),
        (["run", "home", "--set", f"ap.limit_packets={'9' * 5000}"], "ap.limit_packets: '9999"),
        (["run", "home", "--set", "run.duration_s=123456789.5"], "run.duration_s: 123456789.5 is not allowed"),
        (["run", "home", "--set", "ap.limt=3"], "ap.limt: unknown key (value 3); did you mean limit_packets?"),
        (["tune", "home", "--goal", "total", "--over", "ap.limt=3..5"], "did you mean limit_packets?"),
        (["run", "cafee"], "cafee: cannot be read: there is no such file. Did you mean cafe?"),
        (["run", "cafe.tml"], "cafe.tml: cannot be read: there is no such file. Did you mean cafe?"),
        (
            ["run", SCHEMES],
            f"Schemes in Python go to an option after the scenario: --scheme {SCHEMES}:CLASS, --schemes in commands that",
        ),
        (["run", "scenarios/five-line.toml"], "Did you mean scenarios/five-lines.toml?"),
        (["import", "nowhere.txt"], "nowhere.txt: cannot be read: there is no such file."),
        (["fit", "home", "nowhere"], "nowhere: cannot be read: there is no such file."),
        (["new", "home", "nowhere/x.toml"], "nowhere/x.toml: cannot be written: there is no folder nowhere."),
        (["sweep", "home"], "home: is a scenario, not a study; run it with `wifair run home`."),
        (["sweep", "scenarios/studies/buffer-size.toml"], "Did you mean scenarios/studies/buffer-sizes.toml?"),
        (
            ["compare", "home", "--dask", "local"],
            "there is no option --dask. `fit`, `advise`, `sweep` and `tune` have it.",
        ),
        (["compare", "home", "--scheme", "las"], "there is no option --scheme. Did you mean --schemes?"),
        (["sweep", "x.toml", "--seeds", "3"], "A study file has the key `replications` for it. `run`, `compare`,"),
        (["run", "scenarios/studies/buffer-sizes.toml"], "is a study, not a scenario; run it with `wifair sweep"),
        (["sweep", "scenarios/five-lines.toml"], "is a scenario, not a study; run it with `wifair run"),
        (["run", "home", "--scheme", SCHEMES], f"which scheme of the file? Allowed here: {SCHEMES}:AdaptivePushout."),
        (["run", "home", "--seeds", "10000000"], "10000000 replications are too many; allowed here: 1 to 100000."),
        (["run", "home", "--set", "phy.name=802.11ad"], "phy: 802.11ad is not modelled (60 GHz"),
        (["run", "home", "--set", "mac.multi_link=true"], "mac.multi_link: not modelled (multi-link operation"),
        (["new", "ten-and-tne"], "Did you mean ten-and-ten?"),
        (["compare", "home", "--schemes", "las(x"], "a bracket is not closed"),
        (["compare", "home", "--schemes", "las(x)"], "'x' is no parameter"),
        (["compare", "home", "--schemes", "lass"], "Did you mean las?"),
        (
            ["compare", "home", "--schemes", ""],
            "--schemes: '' names no scheme; allowed here: names that `wifair schemes`",
        ),
        (["compare", "home", "--judge", "--schemes", ","], "--schemes: ',' names no scheme"),
        (["report", "home", "--schemes", " "], "--schemes: ' ' names no scheme"),
        (["sweep", "scenarios/studies/buffer-sizes.toml", "--schemes", ""], "--schemes: '' names no scheme"),
        (["tune", "home", "--over", "ap.scheme=,"], "--over ap.scheme: ',' names no scheme"),
        (["run", "home", "--seeds", "0"], "--seeds: 0 is not allowed; allowed here: numbers from 1 on."),
        (["run", "home", "--seeds", "x"], "--seeds: 'x' is not allowed; allowed here: whole numbers from 1 on."),
        (["sweep", "x.toml", "--width-in", "wide"], "--width-in: 'wide' is not allowed; allowed here: numbers."),
        (["run", "home", "--seeds"], "--seeds: needs a value."),
        (["run", "home", "--json=3"], "--json: takes no value."),
        (["run"], "wifair: SCENARIO.toml is missing. `wifair run --help` says what it is."),
        (["import"], "wifair: FILE is missing. `wifair import --help` says what it is."),
        (["runn"], "wifair: there is no command runn. Did you mean run? `wifair --help` lists the commands."),
        (["results", "lst"], "there is no command lst. Did you mean list? `wifair results --help` lists"),
        (["results", "--store", "x"], "there is no option --store. `wifair results --help` lists the options."),
        (["--sed"], "there is no option --sed. `wifair --help` lists the options."),
        (["run", "home", "extra"], "extra: is more than the command takes. `wifair run --help` says what it takes."),
        (["report", "home", "--out", "r.pdf"], "--out: r.pdf is not allowed; allowed here: FILE.html."),
        (["run", "home", "--scheme", ""], "ap.scheme: unknown name ''; allowed here: ack-filtering"),
    ],
)
def test_what_is_wrong_is_said_with_what_is_allowed(here: Cli, arguments: list[str], message: str) -> None:
    done = here(*arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_capture_in_place_of_a_scenario_is_for_import(here: Cli, tmp_path: Path) -> None:
    capture = tmp_path / "home.pcapng"
    capture.write_bytes(b"\x0a\x0d\x0d\x0a\xff")
    for command in ("run", "sweep", "report"):
        done = here(command, capture)
        assert done.returncode == 2
        assert done.stderr.endswith(f" are TOML files. Captures are for wifair import {capture}.\n")


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        ("Station 02:00:0a:00:00:01 (on wlan0)\n\trx bytes:\t1842120\n", "a station dump"),
        ("Survey data from wlan0\n\tfrequency:\t\t\t5180 MHz [in use]\n", "a survey dump"),
        ("Interface wlan0\n\ttype AP\n", "the info"),
    ],
)
def test_what_iw_prints_in_place_of_a_scenario_is_for_import(
    here: Cli, tmp_path: Path, content: str, kind: str
) -> None:
    path = tmp_path / "dump.txt"
    path.write_text(content)
    done = here("advise", path)
    assert done.returncode == 2
    assert done.stderr == f"wifair: {path}: this is {kind} of iw. It is for wifair import {path}.\n"


@pytest.mark.parametrize(("taken", "told"), [(1, "1 replication was"), (2, "2 replications were")])
def test_replications_of_the_store_are_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], taken: int, told: str
) -> None:
    store = Store(tmp_path)
    store.taken = taken
    say_of(store)
    assert capsys.readouterr().err == f"{told} taken from {tmp_path}\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ["import", "tests/data/station.txt"],
        ["field", "import", "laptop=examples/scan.txt"],
        ["fit", "home", "tests/data"],
    ],
)
def test_a_scenario_is_written_into_a_folder_that_exists(here: Cli, tmp_path: Path, arguments: list[str]) -> None:
    out = tmp_path / "nowhere" / "x.toml"
    done = here(*arguments, "--out", out)
    assert done.returncode == 2
    assert done.stderr == f"wifair: --out {out}: cannot be written: there is no folder {out.parent}.\n"
    assert not out.parent.exists()


def test_a_misspelt_key_that_is_needed_is_named() -> None:
    with pytest.raises(
        wifair.InputError, match=r"^flows\[0\]\.direction: this key is needed; 'directon' is none; allowed here: "
    ):
        wifair.Scenario(flows=[{"directon": "up"}])
    with pytest.raises(wifair.InputError, match=r"^flows\[0\]\.direction: this key is needed; allowed here: "):
        wifair.Scenario(flows=[{"count": 2}])


@pytest.mark.parametrize("seeds", ["ten", 1.5, True, [1, "2"], [-1]])
def test_seeds_that_are_none(seeds: object) -> None:
    with pytest.raises(wifair.InputError, match="seeds: "):
        wifair.load("home").run(seeds=seeds)  # type: ignore[arg-type]


def test_what_is_modelled_is_not_said_to_be_missing() -> None:
    for kind in ("phys", "schemes", "congestion_controls", "rate_adaptations", "applications"):
        still = [listed["name"] for listed in components(kind) if missing(listed["name"])]
        assert not still, "take them out of NOT_MODELLED, python/wifair/keys.py"


def test_few_transfers_are_pointed_out(here: Cli, tmp_path: Path) -> None:
    path = tmp_path / "files.toml"
    path.write_text(
        "[run]\nwarmup_s = 0\nduration_s = 2\n[[flows]]\nname = 'files'\ndirection = 'down'\n"
        "application = { name = 'transfers', transfer_bytes = 500_000 }\n"
    )
    done = here("run", path, "--seeds", "2")
    assert "warning: files: a run completed only" in done.stderr
    once = here("run", path, "--seeds", "1", "--set", "run.duration_s=0.9")
    assert (
        "warning: files: a run completed only 1 transfer, too few for their times; raise run.duration_s." in once.stderr
    )
    more = "[[flows]]\nname = 'small'\ndirection = 'down'\napplication = { name = 'transfers', transfer_bytes = 300_000 }\n"
    path.write_text(path.read_text() + more)
    [warning] = [line for line in here("run", path, "--seeds", "1").stderr.splitlines() if "completed only" in line]
    assert re.fullmatch(r"warning: files, small: a run completed only \d to \d transfers, too few .*", warning)
    assert "completed only" not in here("run", path, "--seeds", "2", "--set", "run.duration_s=20").stderr


@pytest.mark.whole
def test_no_message_names_a_folder_that_an_installed_package_does_not_have() -> None:
    for path in (ROOT / "python").rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        with_docstring = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
        docstrings = {
            ast.get_docstring(node, clean=False) for node in ast.walk(tree) if isinstance(node, with_docstring)
        }
        texts = [
            node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)
        ]
        named = [text for text in texts if text not in docstrings and re.search(r"\b(docs|scenarios)/", text)]
        assert not named or path.name in ("page.py", "summary.py"), (path, named)  # they write the repository's pages


def test_public_names_are_listed() -> None:
    assert set(wifair.__all__) <= set(dir(wifair))


@pytest.mark.whole
def test_frames_go_to_pandas() -> None:
    """What the extra `pandas` is for."""
    results = wifair.load("scenarios/five-lines.toml").override({"run.warmup_s": 0.5, "run.duration_s": 1}).run(seeds=2)
    flows = results.flows.to_pandas()
    assert list(flows.columns) == results.flows.columns
    assert flows["goodput_mbps"].sum() == pytest.approx(results.flows["goodput_mbps"].sum())
