"""The command line as a user meets it: one message and an exit status for each bad input, JSON alone on stdout."""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest
from conftest import ROOT, Cli
from wifair.cli import execute

FLOWS = '[[flows]]\ncount = 2\ndirection = "up"\n'

BAD_FILES = {
    "unknown key": ('[ap]\nschem = "droptail"\n' + FLOWS, "ap.schem"),
    "wrong unit": ("[run]\nwarmup_ms = 5\n" + FLOWS, "did you mean warmup_s (in seconds)?"),
    "negative rate": ("[station]\nrate_mbps = -1.0\n" + FLOWS, "station.rate_mbps: -1"),
    "no flows": ('[ap]\nscheme = "droptail"\n', "a scenario needs flows"),
    "one flow": ('[[flow]]\ncount = 2\ndirection = "up"\n', "did you mean flows?"),
    "another key and no flows": ("[wier]\nrate_mbps = 5\n", "did you mean wire?"),
    "foreign parameter": (
        '[ap]\nscheme = {name = "droptail", redundant = "oldest"}\n' + FLOWS,
        "belongs to ack-pushout",
    ),
    "rate that the PHY lacks": ("[station]\nrate_mbps = 54.0\n" + FLOWS, "one of 1, 2, 5.5, 11 Mbps"),
    "no stations": ('[[flows]]\ncount = 0\ndirection = "up"\n', "flows[0].count: 0"),
    "too many stations": ('[[flows]]\ncount = 20001\ndirection = "up"\n', "1 to 20000 stations"),
    "a table for a list of tables": (
        "[stations]\nname = 'sofa'\n" + FLOWS,
        "stations: {'name': 'sofa'} is not accepted; allowed here: a list of tables, each below [[stations]] with double",
    ),
    "a number for a list of numbers": (
        "[[bss]]\nname = 'mine'\npunctured = 36\n" + FLOWS,
        "bss[0].punctured: 36 is not accepted; allowed here: a list.",
    ),
    "truncated": ("[[flows]]\ncount = 2\ndirec", "not valid TOML"),
    "no text": ("\udcff\udcfe", "it is no UTF-8 text. Scenarios and studies are TOML files.\n"),
}


def assert_refused(done: subprocess.CompletedProcess[str], message: str) -> None:
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert done.stderr.startswith("wifair: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(("text", "message"), BAD_FILES.values(), ids=list(BAD_FILES))
def test_bad_scenarios(here: Cli, tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "bad.toml"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    assert_refused(here("run", path), message)


@pytest.mark.whole
def test_a_file_that_is_not_there(cli: Cli) -> None:
    assert_refused(cli("run", "nowhere.toml"), "nowhere.toml: cannot be read")


@pytest.mark.whole
def test_a_folder_that_cannot_be_written_is_refused_before_the_work(cli: Cli, short: Path) -> None:
    (short.parent / "file").write_text("")
    assert_refused(
        cli("run", short, "--set", "run.duration_s=100000", "--out", short.parent / "file"), "cannot be written"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--set", "nothing"], "key.path=value"),
        (["--set", "run.duration_ms=3"], "duration_s"),
        (["--set", "flows[7].count=3"], "flows.7"),
    ],
)
def test_bad_overrides(here: Cli, short: Path, arguments: list[str], message: str) -> None:
    assert_refused(here("run", short, *arguments), message)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["paper", "adaptive-pushuot"], "Did you mean adaptive-pushout?"),
        (["paper", "adaptive-pushout", "--figure", "9"], "3a, 3b, 4, 5a, 5b, 6"),
        (["schemes", "drop-tail"], "Did you mean droptail?"),
        (["keys", "buildng"], "Did you mean building?"),
        (["keys", "edca"], "Did you mean mac.edca?"),
        (["keys", "rate_mbps"], "Did you mean wire.rate_mbps, station.rate_mbps"),
        (["keys", "drop-tail"], "Did you mean droptail?"),
        (["keys", "mac.edca.ap.video.aifs"], "Did you mean mac.edca.ap.video.aifsn?"),
        (
            ["keys", "flows.application.voip"],
            "there is no key 'flows.application.voip'. Did you mean voip? It is a value of ",
        ),
        (["keys", "ap.scheme.codel.target_ms"], "Did you mean codel?"),
        (["keys", "run.duration_ms"], "Did you mean run.duration_s"),
        (["keys", "phy.ofdma"], "not modelled (OFDMA"),
        (["keys", "802.11ay"], "not modelled (60 GHz"),
        (["keys", ""], "Allowed here: run, phy, mac"),
        (["compare", "scenarios/five-lines.toml", "--schemes", "droptail,las9"], "las9"),
        (["compare", "scenarios/five-lines.toml", "--schemes", "droptail,droptail"], "none twice"),
    ],
)
def test_bad_names(here: Cli, tmp_path: Path, arguments: list[str], message: str) -> None:
    assert_refused(here(*arguments), message)


@pytest.mark.parametrize(
    "arguments", [["run"], ["frobnicate"], ["run", "x.toml", "--seeds", "0"], ["run", "x", "--frob"]]
)
def test_wrong_usage(here: Cli, arguments: list[str]) -> None:
    done = here(*arguments)
    assert done.returncode == 2
    assert done.stderr != ""
    assert "Traceback" not in done.stderr


@pytest.mark.whole
def test_run_json_is_one_document(cli: Cli, short: Path) -> None:
    done = cli("run", short, "--seeds", "3", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    document = json.loads(done.stdout)
    jain = next(row for row in document["summary"] if row["metric"] == "jain")
    assert jain["ci_low"] <= jain["mean"] <= jain["ci_high"]
    assert [flow["flow"] for flow in document["flows"]] == ["up-1", "up-2", "down"]
    assert document["seeds"] == [1, 2, 3]


def test_differences_have_the_same_columns_at_every_width(
    here: Cli, short: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The correlation was printed where the terminal had room for it, without a word of what it is."""
    heads = []
    for width in ("80", "200"):
        monkeypatch.setenv("COLUMNS", width)
        done = here("compare", short, "--schemes", "droptail,codel", "--seeds", "2")
        assert done.returncode == 0, done.stderr
        [head] = re.findall(r"paired by seed\n(.*?)\n-", done.stdout, re.DOTALL)
        heads.append(sorted(head.split()))
    assert heads[0] == heads[1] == sorted(["metric", "difference", "95", "%", "interval", "p", "(Holm)"])


def test_compare_json_has_paired_differences(here: Cli, short: Path) -> None:
    done = here(
        "compare",
        short,
        "--schemes",
        "droptail,adaptive-pushout",
        "--seeds",
        "3",
        "--json",
        "--set",
        "ap.limit_packets=5",
    )
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    found = {row["metric"]: row for row in document["differences"]}
    assert set(found) >= {"jain", "total_mbps"}
    assert found["jain"]["scenario"] == "adaptive-pushout"
    assert found["jain"]["against"] == "droptail"
    assert found["jain"]["p"] <= found["jain"]["p_holm"] <= 1


def test_a_single_run_is_not_shown_as_a_result(here: Cli, short: Path) -> None:
    done = here("run", short, "--seeds", "1")
    assert done.returncode == 0
    assert "\nOne run\nmetric" in done.stdout
    assert "n/a" not in done.stdout
    assert "±" not in done.stdout
    assert "mean" not in done.stdout
    assert "not as a result" in done.stderr
    document = json.loads(here("run", short, "--seeds", "1", "--json").stdout)
    assert all(row["ci_low"] is None for row in document["summary"])


@pytest.mark.whole
def test_tables_are_readable_and_files_written(cli: Cli, short: Path) -> None:
    out = short.parent / "out"
    done = cli("run", short, "--seeds", "2", "--out", out, "--set", "ap.scheme=droptail")
    assert done.returncode == 0, done.stderr
    assert "Jain's index" in done.stdout
    assert "\x1b" not in done.stdout
    assert pl.read_parquet(out / "runs.parquet").height == 2
    assert json.loads((out / "plan.json").read_text())["short"]["bss"]["ap"]["tx_queue"]["scheme"]["name"] == "droptail"


def test_schemes_say_what_they_are(here: Cli) -> None:
    done = here("schemes", "--json")
    schemes = {scheme["name"]: scheme for scheme in json.loads(done.stdout)["schemes"]}
    assert set(schemes) >= {"droptail", "ack-filtering", "spm-af", "ack-pushout", "adaptive-pushout"}
    for scheme in schemes.values():
        assert scheme["source"]
        assert scheme["idea"]
        assert all(parameter["description"] for parameter in scheme["parameters"])
    redundant = next(p for p in schemes["ack-pushout"]["parameters"] if p["name"] == "redundant")
    assert set(redundant["choices"]) == {"oldest", "newest", "random"}
    assert redundant["default"] in redundant["choices"]
    assert "redundant" in here("schemes", "ack-pushout").stdout
    assert json.loads(done.stdout)["limit_controllers"]
    assert "increase_packets_per_s [packets a second] = 10.0" in here("schemes", "alt").stdout


@pytest.mark.parametrize("columns", [80, 140])
def test_schemes_are_listed_in_one_line_each(here: Cli, monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    monkeypatch.setenv("COLUMNS", f"{columns}")
    listed = [line for line in here("schemes").stdout.splitlines() if line.startswith("  ")]
    assert not [line for line in listed if "…" in line], "the first clause of an idea fits a line"
    names = [line.split()[0] for line in listed]
    assert {"droptail", "mac80211", "alt", "arf-aware"} <= set(names)
    assert len(set(names)) == len(names)
    assert all(len(line) <= columns for line in listed)


@pytest.mark.whole
@pytest.mark.parametrize("arguments", [["run", "plain", "--check-warmup"], ["explain", "plain", "--figure"]])
def test_figures_come_in_the_formats_that_are_named(here: Cli, tmp_path: Path, arguments: list[str]) -> None:
    brief = ["--seeds", "2", "--set", "run.warmup_s=1", "--set", "run.duration_s=2"]
    done = here(*arguments, tmp_path / "a" / "why.png", *brief, "--format", "svg,pdf")
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == ["why.pdf", "why.svg"]
    wrong = here(*arguments, tmp_path / "a" / "why.png", *brief, "--format", "pgn")
    assert wrong.returncode == 2
    assert "unknown format 'pgn'; did you mean png?" in wrong.stderr


def test_help_imports_nothing_heavy() -> None:
    heavy = ["polars", "numpy", "scipy", "matplotlib", "pydantic", "wifair._native", "wifair.scenario.scenario"]
    program = (
        "import sys\nfrom wifair.cli import execute\nassert execute(['--help']) == 0\n"
        f"sys.exit(','.join(name for name in {heavy} if name in sys.modules) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_help_is_fast() -> None:
    def cpu_s() -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(
            [sys.executable, "-c", "from wifair.cli import main; main()", "--help"], capture_output=True, check=True
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    # Processor time and the best of several: other programs may be using the machine.
    assert min(cpu_s() for _ in range(5)) < 0.3 * float(os.environ.get("WIFAIR_SLOW_MACHINE", "1"))


def cpu_s(process: subprocess.Popen[str]) -> float:
    """Processor time that a running process has used."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def interrupted(arguments: list[str], ready_cpu_s: float) -> tuple[int, str, str]:
    """Starts a command, presses Ctrl-C when it is at work, and waits for its end."""
    command = [sys.executable, "-c", "from wifair.cli import main; main()", *arguments]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    # Processor time, not time: other programs may be using the machine.
    while process.poll() is None and cpu_s(process) < ready_cpu_s:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=120)
    return process.returncode, stdout, stderr


def test_ctrl_c_before_the_work_is_told(
    short: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def pressed(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("wifair.scenario.Scenario.from_toml", pressed)
    assert execute(["run", str(short)]) == 130
    assert capsys.readouterr().err == "wifair: interrupted.\n"


@pytest.mark.whole
def test_ctrl_c_keeps_what_was_computed(short: Path) -> None:
    # One thread: the short scheme's replications come first, the long flows never end.
    out = short.parent / "kept"
    endless = ["run", str(short), "--seeds", "100000", "--threads", "1", "--out", str(out)]
    for ready_cpu_s in (4.0, 8.0, 16.0, 32.0):
        status, stdout, stderr = interrupted(endless, ready_cpu_s)
        assert status == 130, stderr
        if stderr != "wifair: interrupted.\n":  # else it was not at work yet: a busy machine needs longer to start it
            break
    assert "Traceback" not in stderr
    assert "replications were finished; they are kept in" in stderr
    assert stdout == ""
    manifest = json.loads((out / "manifest.json").read_text())
    finished = pl.read_parquet(out / "runs.parquet").height
    assert finished > 0
    assert manifest["replications_missing"] == 100_000 - finished
