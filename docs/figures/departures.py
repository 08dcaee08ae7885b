"""How large the departures with a switch are, into docs/scope.md: `make scope`.

Each cell follows the standard but for what its own scenario says. Each row flips one thing alone, and its runs are compared with the
cell's seed by seed. It goes on where it was stopped.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from wifair import Scenario, load
from wifair.cli.output import progress
from wifair.errors import ScenarioError
from wifair.everything.scenarios import OF_PAPERS
from wifair.markdown import Marks, table
from wifair.results import Results
from wifair.scenario.components import has_mcs
from wifair.scenario.dialects import NS_2
from wifair.stats import Interval, Values, holm, p_value, t_interval
from wifair.study import Cell, Study, run_studies

PAGE = Path(__file__).resolve().parents[1] / "scope.md"
STORE = PAGE.parents[1] / "results" / "departures"
MARKS = Marks("departures", "make scope")
SEEDS = 10
LEVEL = 0.05
Settings = Mapping[str, Any]

OF_ACKS = "ap.scheme.redundant"
OF_RESPONSES = "phy.control_rate_mbps"
# What a row is called, and what it sets. Where a cell has that already, or cannot have it, it is left out there.
SWITCHES: dict[str, Settings] = {
    "the whole dialect ns-2": {"dialect": "ns-2"},
    "ns-2: no LLC header, a MAC header of 30 bytes": {f"phy.{key}": value for key, value in NS_2["phy"].items()},
    "ns-2: no access without backoff": {"mac.immediate_access": False, "mac.arrival_within_ifs": "backoff"},
    "ns-2: backoff from 0 to CW − 1": {"mac.backoff_range": "exclusive"},
    "ns-2: EIFS and a DIFS after a collision": {"mac.eifs_plus_difs": True},
    "ns-2: colliders wait an EIFS": {"mac.colliders_wait_eifs": True},
    "ns-2: timeouts of 318 µs, no DIFS after them": {"mac.ack_timeout_us": 268.0, "mac.cts_timeout_us": 268.0},
    "ns-2: the limit counts the frame in service": {
        "ap.limit_counts_in_service": True,
        "station.tx_queue.limit_counts_in_service": True,
    },
    "ns-2: an initial window of 2": {"tcp.initial_window_segments": 2},
    "ns-2: cwnd grows beyond the receiver's window": {"tcp.cwnd_beyond_receiver_window": True},
    "ns-2: a loss halves the window, not FlightSize": {"tcp.loss_reduces": "window"},
    "ns-2: the end of a recovery lets cwnd grow": {"tcp.recovery_end_grows": True},
    "no handshake": {"tcp.handshake": "none"},
    "ns-2: its retransmission timer in ticks of 10 ms": {"tcp.rto": NS_2["tcp"]["rto"]},
    "the same timer without ticks": {"tcp.rto": {**NS_2["tcp"]["rto"], "tick_ms": None}},
    "EIFS off": {"mac.eifs": False},
    "short preamble": {"phy.preamble": "short", "phy.plcp_us": None},
    "RTS and CTS before every data frame": {"mac.rts_threshold_bytes": 0},
    "protection by CTS to self": {"phy.erp_protection": "cts-to-self"},
    "long slots": {"phy.short_slot": False},
    "MAC ACKs at 24 Mbps, not at the lowest mandatory rate": {OF_RESPONSES: 24.0},
    "EDCA with one category": {"mac.edca": {}},
    "EDCA (where there is none: with one category) with DCF's rule of countdown": {"mac.edca.countdown": "dcf"},
    "7 and 4 attempts": {"mac.retry_limit_short": 7, "mac.retry_limit_long": 4},
    "an ACK for every second segment": {"tcp.delayed_ack": {"segments": 2}},
    "an ACK for every segment": {"tcp.delayed_ack": {"segments": 1}},
    "limited transmit off": {"tcp.limited_transmit": False},
    "SACK": {"tcp.sack": {}},
    "no SACK": {"tcp.sack": None},
    "NewReno": {"tcp.congestion_control": {"name": "newreno"}},
    "CUBIC": {"tcp.congestion_control": {"name": "cubic"}},
    "an initial window of 10": {"tcp.initial_window_segments": 10},
    "a random redundant ACK goes": {OF_ACKS: "random"},
    "the newest redundant ACK goes": {OF_ACKS: "newest"},
    "the arrival counts in its kind": {"ap.scheme.count_arrival": True},
    "no ACK goes that carries information": {"ap.scheme.filter": "safe"},
    "ARF": {"mac.rate_adaptation": {"name": "arf"}},
    "AARF": {"mac.rate_adaptation": {"name": "aarf"}},
    "OBSS PD at −72 dBm in all BSSs": {"ap.obss_pd_dbm": -72.0},
    "OBSS PD at −62 dBm in all BSSs": {"ap.obss_pd_dbm": -62.0},
    "OBSS PD at −62 dBm in all BSSs, all of one colour": {"ap.obss_pd_dbm": -62.0, "ap.bss_color": 1},
    "shadowing of 5 dB between BSSs": {"field.shadowing_db": 5.0},
    "energy detection at −82 dBm": {"field.energy_detection_dbm": -82.0},
    "EIFS after energy whose preamble was missed": {"field.eifs_after": "energy"},
    "powers by channel of 20 MHz": {"field.subchannels": True},
    "powers by channel of 20 MHz, dynamic width": {"field.subchannels": True, "mac.width": "dynamic"},
    "powers by channel of 20 MHz, punctured PPDUs": {"field.subchannels": True, "mac.width": "punctured"},
    "powers by channel of 20 MHz, secondary channels busy from −62 dBm": {
        "field.subchannels": True,
        "field.secondary_detection_dbm": -62.0,
    },
    "a firmware with AQL below the scheme": {"ap.hardware": "firmware"},
    "1 % of the MAC ACKs lost": {"station.frame_error_rate": {"ack_up": 0.01, "ack_down": 0.01}},
}
# The last two cells: neighbours receive each other with −70 dBm.
WIDTHS: Settings = {
    "bss[mine].channel": 42,
    "bss[left].channel": 38,
    "bss[left].width_mhz": 40,
    "bss[left].ap.position_m": [-18.0, 0.0],
    "stations[left-laptop].position_m": [-18.0, 3.0],
    "bss[right].channel": 46,
    "bss[right].width_mhz": 40,
    "bss[right].ap.position_m": [18.0, 0.0],
    "stations[right-laptop].position_m": [18.0, 3.0],
}


def cells() -> dict[str, Scenario]:
    """The cells, by what they are."""
    paper = {cell.id: cell for cell in OF_PAPERS}
    symmetric = paper["ten-and-ten"].scenario("quick").override({"dialect": "standard", "run.duration_s": 200.0})
    far = paper["download-among-uploads"].scenario("quick").override({"run.warmup_s": 80.0, "run.duration_s": 100.0})
    errors = [{"rate_mbps": 11.0, "data": 0.5}, {"rate_mbps": 5.5, "data": 0.1}]
    stations = [("near", {}), ("slow", {"rate_mbps": 2.0}), ("edge", {"frame_error_rate": {"by_rate": errors}})]
    mixed = {
        "run": {"warmup_s": 20.0, "duration_s": 200.0},
        "wire": {"rate_mbps": 100.0},
        "stations": [{"name": name, "rate_mbps": 11.0, **more} for name, more in stations],
        "flows": [
            {"name": f"{name}-{way}", "station": name, "direction": way}
            for name, _ in stations
            for way in ("up", "down")
        ],
    }
    in_a_row = load("neighbours").override({"field.gains": [], "run.duration_s": 20.0})
    return {
        "Ten uploads and ten downloads at 11 Mbps, tail drop, 100 packets": symmetric,
        "The same under adaptive pushout": symmetric.override({"ap.scheme": {"name": "adaptive-pushout"}}),
        "One download among ten uploads, 54 Mbps, 200 ms, ALT": far.override({"ap.limit_controller": {"name": "alt"}}),
        "Three stations at 11 and 2 Mbps and at the edge of 11, each up and down, tail drop": Scenario(**mixed),
        "Three flats in a row, which all receive each other, 80 MHz, MCS 7": in_a_row,
        "The same 18 m apart, the outer flats with 40 MHz each in the halves of the channel": in_a_row.override(WIDTHS),
        "The same with 802.11be": in_a_row.override({"phy.name": "802.11be", **WIDTHS}),
    }


def variants(base: Scenario) -> Iterator[tuple[str, Scenario]]:
    """The rows that say something of a cell: those that its plan takes and that change it."""
    for row, settings in SWITCHES.items():
        if base.field is None and any(key.startswith("field.") for key in settings):
            continue
        if has_mcs(base.plan()["bss"]["phy"]["name"]) and OF_RESPONSES in settings:
            continue  # from 802.11n on responses have that rate anyway
        try:
            changed = base.override(settings)
        except ScenarioError:
            continue
        if changed.plan_json != base.plan_json:
            yield row, changed


def measured(results: Results, name: str) -> dict[str, Values]:
    """Each column by seed: goodput, downloads' share of it in %, Jain's index."""
    total, down, jain = (results.values(name, metric).to_numpy() for metric in ("total_mbps", "down_mbps", "jain"))
    return {"goodput": total, "downloads": 100.0 * down / total, "index": jain}


def told(results: Results, base: str, rows: Sequence[str]) -> str:
    """A cell's table: what it measures, then what each row changes, bold where Holm's correction leaves no doubt."""
    own = measured(results, base)
    own_goodput = float(own["goodput"].mean())
    changes: dict[tuple[str, str], Values] = {}
    for row in rows:
        for column, values in measured(results, row).items():
            scale = 100.0 / own_goodput if column == "goodput" else 1.0
            changes[row, column] = (values - own[column]) * scale
    adjusted = dict(zip(changes, holm([p_value(values) for values in changes.values()]), strict=True))
    lines = [["*nothing: the cell itself*", *(t_interval(values).short() for values in own.values())]]
    for row in rows:
        cells_ = []
        for column in own:
            change = signed(t_interval(changes[row, column]))
            cells_.append(f"**{change}**" if adjusted[row, column] < LEVEL else change)
        lines.append([row, *cells_])
    return table(["changed", "goodput, Mbps; then %", "of it down, %; then points", "Jain's index"], lines)


def signed(change: Interval) -> str:
    """A change with its interval."""
    if change.identical and change.estimate == 0.0:
        return "the same"
    return change.short() if change.estimate < 0 else f"+{change.short()}"


def main() -> None:
    """Measures, and writes the page."""
    parts: list[str] = []
    used: set[str] = set()
    studies: list[tuple[str, Study]] = []
    for title, base in cells().items():
        rows = dict(variants(base))
        used |= rows.keys()
        grid = [Cell(title, base), *(Cell(row, changed) for row, changed in rows.items())]
        studies.append((title, Study(grid, SEEDS)))
    if unused := SWITCHES.keys() - used:
        raise SystemExit(f"no cell takes {sorted(unused)}")
    with progress("simulating") as report:
        found = run_studies([study for _, study in studies], progress=report, store=STORE)
    for (title, study), results in zip(studies, found, strict=True):
        parts.append(f"**{title}.**\n\n{told(results, title, [cell.name for cell in study.cells[1:]])}\n")
    MARKS.write(PAGE, "\n".join(parts))


if __name__ == "__main__":
    main()
