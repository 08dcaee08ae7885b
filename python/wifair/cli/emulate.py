"""`wifair emulate` and `wifair exec`: real hosts on the simulated air."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wifair.cli.options import Json, Pcap, PcapServers, PcapStations, Scheme, Set, Verbose

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from wifair.emulate.replay import Compared
    from wifair.emulate.session import Session, Settings
    from wifair.scenario.scenario import Scenario

EXAMPLE = "Example: wifair emulate home --scheme mac80211 -- bash"
EXEC_EXAMPLE = "Example: wifair exec phone -- ping -c 3 server"

Emulated = Annotated[
    Path | None,
    typer.Argument(
        metavar="SCENARIO.toml",
        help="The scenario: a file, or a name that `wifair new` lists. Only --test opens its flows.",
        show_default=False,
    ),
]
Command = Annotated[
    list[str] | None,
    typer.Argument(metavar="-- COMMAND", help="The command to run; by default a shell.", show_default=False),
]
Host = Annotated[str, typer.Option("--in", metavar="HOST", help="Run the command on this host.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of backoff and errors; runs are not repeatable.")]
Duration = Annotated[
    float | None,
    typer.Option(
        metavar="S", min=0.1, help="End after S seconds; with --test, measure for S seconds.", show_default=False
    ),
]
Warmup = Annotated[
    float | None,
    typer.Option(
        metavar="S", min=0, help="Measure from S seconds on; with --test, run.warmup_s by default.", show_default=False
    ),
]
Realtime = Annotated[bool, typer.Option("--realtime", help="Run the engine under SCHED_FIFO; needs root or RTPRIO.")]
Spin = Annotated[float, typer.Option("--spin-us", min=0, help="Busy-wait for this time before each event.")]
LateMs = Annotated[
    float, typer.Option("--late-ms", min=0, help="An exchange counts as late from this lateness on, in ms.")
]
LateShare = Annotated[
    float, typer.Option("--late-share", min=0, max=1, help="Share of late exchanges that makes a run invalid.")
]
Control = Annotated[
    str | None,
    typer.Option(
        "--congestion-control",
        metavar="NAME",
        help="Congestion control of the kernel for all connections; by default cubic, and with --test that of the scenario.",
        show_default=False,
    ),
]
Sysctls = Annotated[
    list[str],
    typer.Option(
        "--sysctl",
        metavar="KEY=VALUE",
        help="Set a sysctl of all hosts, such as net.ipv4.tcp_recovery=0; may be repeated.",
        show_default=False,
    ),
]
Routes = Annotated[
    list[str],
    typer.Option(
        "--route",
        metavar="KEY=VALUE",
        help="Set a metric of all routes, such as quickack=1 (ip-route(8)); may be repeated.",
        show_default=False,
    ),
]
TestName = Annotated[
    str | None,
    typer.Option(
        "--test",
        metavar="NAME",
        help="Open the flows of the scenario with real hosts, and also simulate them: tcp-up-down, rrul, voip or web.",
        show_default=False,
    ),
]
Runs = Annotated[int, typer.Option(min=1, help="With --test: number of emulated runs.")]
PcapFull = Annotated[
    bool, typer.Option("--pcap-full", help="With --pcap: capture payload and FCS in addition to headers.")
]
Explain = Annotated[bool, typer.Option("--explain", help="Say what limited each flow.")]
Page = Annotated[
    Path | None,
    typer.Option(
        "--report", metavar="FILE.html", help="Write a report of the run as one HTML file.", show_default=False
    ),
]
RunName = Annotated[
    str | None, typer.Option("--run", metavar="RUN", help="The run, if there are several.", show_default=False)
]


@dataclass(frozen=True)
class Wanted:
    """The outputs that the options ask for."""

    json: bool
    verbose: bool
    explain: bool
    page: Path | None
    arguments: Sequence[str]

    def give(self, settings: Settings, reports: Sequence[dict[str, Any]], rows: Sequence[Compared] = ()) -> None:
        """Prints the explanation of the first run, writes the page, and prints the captures' folder."""
        from wifair.cli.output import print_text, say
        from wifair.emulate import explained

        if self.explain and not self.json:
            for sentence in explained.sentences(reports[0]):
                print_text(sentence, indent="  ", first="- ")
        if self.page:
            from wifair.report.page import write

            say(f"the report is in {write(explained.page(settings, reports, self.arguments, rows), self.page)}")
        if settings.traces:
            say(settings.traces.remark())


def emulate(
    context: typer.Context,
    scenario: Emulated = None,
    command: Command = None,
    scheme: Scheme = None,
    host: Host = "server",
    seed: Seed = 1,
    duration: Duration = None,
    warmup: Warmup = None,
    realtime: Realtime = False,
    spin_us: Spin = 0.0,
    late_ms: LateMs = 1.0,
    late_share: LateShare = 0.01,
    congestion_control: Control = None,
    sysctl: Sysctls = [],  # noqa: B006 -- typer copies the default
    route: Routes = [],  # noqa: B006
    test: TestName = None,
    runs: Runs = 3,
    pcap: Pcap = None,
    pcap_station: PcapStations = [],  # noqa: B006
    pcap_servers: PcapServers = False,
    pcap_full: PcapFull = False,
    explain: Explain = False,
    report: Page = None,
    verbose: Verbose = False,
    json: Json = False,
    set: Set = [],  # noqa: B006
) -> None:
    """Run a scenario's cell in real time with real hosts (Linux).

    Each station is a network namespace, and so is the server. The command runs in the server's namespace, or in that of --in.
    """
    from wifair.cli.schemes_of_files import assignments
    from wifair.emulate.session import Settings
    from wifair.errors import InputError
    from wifair.keys import unknown
    from wifair.scenario.scenario import Scenario
    from wifair.study.traces import Traces

    wanted_output = Wanted(json, verbose, explain, report, context.obj)
    overrides = list(assignments(set, scheme))
    traced = pcap or pcap_station or pcap_servers or pcap_full
    shared: dict[str, Any] = {
        "seed": seed,
        "late_ms": late_ms,
        "late_share": late_share,
        "spin_us": spin_us,
        "realtime": realtime,
        "congestion_control": congestion_control or "cubic",
        "sysctls": _pairs("--sysctl", sysctl),
        "route": _pairs("--route", route),
        "traces": Traces(pcap, None, pcap_station, pcap_servers, pcap_full) if traced else None,
    }
    if test is None:
        loaded = _without_python(Scenario.from_toml(scenario or Path("home"), overrides))
        own = command or _shell(duration)
        settings = Settings(loaded.plan(), loaded.title, own, host, **shared)
        settings.duration_s, settings.warmup_s = duration, warmup or 0.0
        if not own or own == _shell(None):
            settings.services = _iperf3(settings.names)
        return _interactive(settings, wanted_output)
    from wifair.emulate import replay

    if command:
        raise InputError(f"--test {test}: runs its own command; leave {' '.join(command)} out.")
    if congestion_control:
        raise InputError("--congestion-control: with --test it is the scenario's; --set tcp.congestion_control=NAME.")
    if test not in replay.TESTS:
        raise unknown("test", test, list(replay.TESTS))
    wanted = replay.TESTS[test]
    lengths = [("run.warmup_s", warmup), ("run.duration_s", duration)]
    overrides += [(key, value) for key, value in lengths if value is not None]
    loaded = _without_python(Scenario.from_toml(scenario or Path(wanted.scenario), overrides))
    loaded = replay.narrowed(loaded, wanted, test)
    _test(loaded, Settings(loaded.plan(), loaded.title, [], **shared), runs, wanted_output)


def enter(host: Annotated[str, typer.Argument(metavar="HOST")], command: Command = None, run: RunName = None) -> None:
    """Run a command on a host of a running emulation, or a shell."""
    import os

    from wifair.emulate.runs import chosen

    words = chosen(run).enter(host, command or _shell(None))
    os.execvp(words[0], words)


def _pairs(option: str, texts: list[str]) -> dict[str, str]:
    """Parses an option's KEY=VALUE assignments."""
    from wifair.errors import InputError

    for text in texts:
        if "=" not in text:
            raise InputError(f"{option} {text}: expected KEY=VALUE.")
    return dict(text.split("=", 1) for text in texts)


def _shell(duration: float | None) -> list[str]:
    """The user's shell, or no command if a duration ends the run."""
    import os

    return [] if duration else [os.environ.get("SHELL") or "/bin/sh"]


def _iperf3(names: list[str]) -> list[tuple[str, list[str]]]:
    """An iperf3 server per station, on the server host, if iperf3 is installed."""
    import shutil

    from wifair.emulate.session import IPERF3_PORT, SERVER

    program = shutil.which("iperf3")
    if not program:
        return []
    ports = [str(IPERF3_PORT + number) for number in range(len(names))]
    return [(SERVER, [program, "--server", "--logfile", "/dev/null", "--port", port]) for port in ports]


def _without_python(scenario: Scenario) -> Scenario:
    from wifair.errors import InputError

    if scenario.python_schemes:
        raise InputError(
            "--scheme: allowed here: the engine's schemes; those written in Python are too slow for an emulation."
        )
    return scenario


def _interactive(settings: Settings, wanted: Wanted) -> None:
    import sys

    from wifair.cli.output import print_json, say
    from wifair.cli.printed_emulation import print_emulation
    from wifair.emulate.explained import sentences
    from wifair.emulate.session import IPERF3_PORT, started
    from wifair.emulate.verdict import STATUS, is_valid, verdict

    with started(settings) as session, _interrupts(session):
        for host in session.hosts:
            say(f"{host['name']:16} {host['ipv4']:14} {host['ipv6']}")
        if settings.services:
            say(
                f"iperf3 listens on the server: port {IPERF3_PORT} for the first station, one more for each further one"
            )
        say(f"seed {settings.seed}; runs with real hosts are not repeatable")
        say(f"`wifair exec {settings.names[0]} -- COMMAND` runs a command on a host; run {session.folder.name}")
        session.go()
        report = session.wait(_progress(not settings.command and sys.stderr.isatty()))
    if wanted.json:
        explained = {"explained": [verdict(report), *sentences(report)]} if wanted.explain else {}
        print_json(report | explained)
    else:
        print_emulation(report, wanted.verbose)
    wanted.give(settings, [report])
    if status := report["status"] or (0 if is_valid(report) else STATUS):
        raise typer.Exit(status)


def _progress(wanted: bool) -> Any:
    """Shows the progress of the run every second."""
    import sys

    def each_second(at_s: float) -> None:
        if wanted:
            sys.stderr.write(f"\r{at_s:.0f} s ")

    return each_second


def _interrupts(session: Session) -> Any:
    """Leaves Ctrl-C to the command; the third one stops the run. Without a command the first does, and SIGTERM always does."""
    import signal
    from contextlib import contextmanager

    @contextmanager
    def handled() -> Iterator[None]:
        presses = 0

        def stop(number: int, frame: object) -> None:
            nonlocal presses
            presses += 1
            if number == signal.SIGTERM or not session.settings.command or presses > 2:
                session.stop()

        before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    return handled()


def _test(scenario: Scenario, settings: Settings, runs: int, wanted: Wanted) -> None:
    from wifair.cli.output import print_json, progress
    from wifair.cli.printed_emulation import print_comparison, print_emulation
    from wifair.emulate import replay
    from wifair.emulate.verdict import STATUS, is_valid

    plan = settings.plan
    seeds = range(settings.seed, settings.seed + runs)
    length = scenario.simulated_s()
    outcomes = []
    with progress("emulating") as report:
        for done, seed in enumerate(seeds):

            def each_second(at_s: float, done: int = done) -> None:
                if report:
                    report((done + min(at_s / length, 1)) / runs)

            outcomes.append(replay.emulated(settings, seed, each_second))
    results = scenario.run(max(runs, 10))
    kernel = [replay.of_kernel(plan, outcome) for outcome in outcomes]
    rows = replay.compared(kernel, replay.of_simulation(results))
    if wanted.json:
        print_json({"compared": [row.document() for row in rows], "runs": [vars(outcome) for outcome in outcomes]})
    else:
        print_comparison(scenario.title, [outcome.report for outcome in outcomes], max(runs, 10), rows)
        if wanted.verbose:
            print_emulation(outcomes[0].report, wanted.verbose)
    wanted.give(settings, [outcome.report for outcome in outcomes], rows)
    if not all(is_valid(outcome.report) for outcome in outcomes):
        raise typer.Exit(STATUS)
