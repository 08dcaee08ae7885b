"""The file of a scenario: TOML with comments that say what was drawn."""

from __future__ import annotations

from typing import Any

from wifair.population.drawn import DURATION_S, SCHEME, WARMUP_S, Drawn, Station
from wifair.population.quantities import version
from wifair.population.radio import width_of
from wifair.toml_text import value

ARTICLES = {"office": "An"}


def text(drawn: Drawn) -> str:
    """The whole file."""
    parts = [_head(drawn), _cell(drawn)]
    parts += [_station(drawn, station) for station in drawn.stations]
    for station in drawn.stations:
        for flow in drawn.flows_of(station):
            keys = {"name": flow.name, "station": station.name, **flow.keys}
            lines = [f"{key} = {value(each)}" for key, each in keys.items()]
            parts.append("\n".join([f"[[flows]]{_remark(flow.remark)}", *lines]))
    return "\n\n".join(parts) + "\n"


def _head(drawn: Drawn) -> str:
    silent = drawn.activities.count("silent")
    busy = ", ".join(f"{count} {name}" for name, count in counted(drawn).items())
    return "\n".join(
        [
            f"# {ARTICLES.get(drawn.kind, 'A')} {drawn.kind}, number {drawn.index}, of population {version()} with seed {drawn.seed}:",
            f"# `wifair population --kinds {drawn.kind} --count {drawn.index} --seed {drawn.seed}` writes it.",
            f"# {drawn.connected} {'station is' if drawn.connected == 1 else 'stations are'} connected: {busy}{f', {silent} silent' if silent else ''}.",
            "# `wifair population --distributions` lists the distributions and their sources.",
        ]
    )


def counted(drawn: Drawn) -> dict[str, int]:
    """The number of stations by activity, silent ones left out."""
    names = [name for name in drawn.activities if name != "silent"]
    return {name: names.count(name) for name in dict.fromkeys(names)}


def _cell(drawn: Drawn) -> str:
    down, up = drawn.wire_mbps
    up_told = "" if up >= down else f"; {up:g} Mbps up, which uploads share equally"
    buffer = drawn.draws.draw("buffer")
    return f"""title = {value(drawn.name)}

[run]
warmup_s = {WARMUP_S}
duration_s = {DURATION_S}
record_transfers = false

[phy]
name = {value(drawn.generation)}
band_ghz = {drawn.band_ghz:g}
width_mhz = {drawn.width_mhz}
streams = 2

[mac.edca]
classify = "dscp"             # the upper three bits, as Linux does by default

[ap]
scheme = {value(SCHEME)}
default_limit_packets = {buffer}  # under schemes without a default limit
hardware = {value(drawn.hardware)}

[wire]
rate_mbps = {down:g}{_remark(f"down{up_told}")}

[tcp]
profile = "today"

[station]
tx_queue = {{ limit_packets = {buffer} }}"""


def _station(drawn: Drawn, station: Station) -> str:
    path = station.path
    between = [f"{path.walls} {'wall' if path.walls == 1 else 'walls'}"] if path.walls else []
    between += ["a floor"] if path.floors else []
    away = f"{path.distance_m:g} m away{f' behind {_and(between)}' if between else ''}"
    told = (
        f"{station.activity}; {station.system}; {away}: {station.down_dbm:.0f} dBm there, {station.up_dbm:.0f} dBm here"
    )
    keys: dict[str, Any] = {"name": station.name}
    if station.generation != drawn.generation:
        keys["phy"] = station.generation
        width = width_of(station.generation, drawn.band_ghz, drawn.width_mhz)
        if width != drawn.width_mhz:
            keys["phy"] = {"name": station.generation, "width_mhz": width}
    keys |= {"streams": station.streams, "mcs": station.mcs_up}
    keys |= {"mcs_down": station.mcs_down} if station.mcs_down != station.mcs_up else {}
    keys["frame_error_rate"] = {"data_up": station.error_up, "data_down": station.error_down}
    return "\n".join([f"[[stations]]{_remark(told)}", *(f"{key} = {value(each)}" for key, each in keys.items())])


def _remark(told: str) -> str:
    return f"  # {told}"


def _and(words: list[str]) -> str:
    return " and ".join(words)
