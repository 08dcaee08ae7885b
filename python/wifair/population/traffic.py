"""What a station does, as groups of flows of a scenario file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from wifair.population.draws import Draws, rounded

# Activities with a large transfer from the station.
UPLOADING = ("upload", "backup")
APPLE = ("iOS", "macOS")
# The profile of uploads, by system; the others have the TCP of Linux, which is the scenario's.
PROFILES = {"Windows": "windows", **dict.fromkeys(APPLE, "apple")}
# A flow starts within so many seconds, at the beginning of the warm-up.
SPREAD_S = 2
READERS_SPREAD_S = 8
PICTURE_BYTES = 1200
CONNECTIONS = 6


@dataclass(frozen=True)
class Host:
    """What the flows of a station depend on."""

    draws: Draws
    number: int
    system: str
    # Of the scenario.
    video_mbps: float
    marked: bool
    # The line of each upload; None if it is the shared wire.
    upload_line_mbps: float | None


@dataclass(frozen=True)
class Flow:
    """A group of one flow: its name, a remark, and its other keys."""

    name: str
    remark: str
    keys: Mapping[str, Any] = field(default_factory=dict)


def flows(host: Host, activity: str) -> list[Flow]:
    """The flows of an activity."""
    return _ACTIVITIES[activity](host)


def ping(host: Host) -> Flow:
    """The probe."""
    return _flow(host, "ping", "up", "what any short exchange waits", {"application": "ping"})


def _pages(host: Host) -> list[Flow]:
    control = host.draws.draw("page_control", f"station {host.number}")
    low, high = host.draws.draw("page_size")
    application = {
        "name": "web",
        "connections": CONNECTIONS,
        "min_bytes": low * 1000,
        "max_bytes": high * 1000,
        "step_bytes": 100_000,
        "think_mean_s": host.draws.draw("reading_time"),
    }
    keys = {"application": application, **_from_server(host, control)}
    return [_flow(host, "pages", "down", "somebody reads", keys, READERS_SPREAD_S)]


def _video(host: Host) -> list[Flow]:
    control = host.draws.draw("server_control", f"station {host.number}")
    segment_s = host.draws.draw("segment")
    quarter = round(host.video_mbps * 1e6 / 8 * segment_s / 4)
    application = {
        "name": "web",
        "min_bytes": 3 * quarter,
        "max_bytes": 5 * quarter,
        "step_bytes": quarter // 4,
        "think_mean_s": segment_s,
    }
    keys = {"application": application, **_from_server(host, control)}
    remark = f"segments of {segment_s:g} s at {host.video_mbps:g} Mbps"
    return [_flow(host, "video", "down", remark, keys, READERS_SPREAD_S)]


def _download(host: Host) -> list[Flow]:
    control = host.draws.draw("server_control", f"station {host.number}")
    return [_flow(host, "download", "down", "without end, such as a game or an update", _from_server(host, control))]


def _upload(host: Host) -> list[Flow]:
    return [_flow(host, "upload", "up", "without end, such as a film", _from_station(host))]


def _backup(host: Host) -> list[Flow]:
    size = round(host.draws.draw("chunk") * 1e6)
    keys = {"application": {"name": "transfers", "transfer_bytes": size}, **_from_station(host)}
    return [_flow(host, "backup", "up", "file after file", keys)]


def _voice(host: Host) -> list[Flow]:
    voip = "voip" if host.marked else {"name": "voip", "dscp": 0}
    return [_flow(host, "voice", "down", "a call, both ways", {"application": voip})]


def _video_call(host: Host) -> list[Flow]:
    rate = host.draws.draw("call_rate", f"station {host.number}")
    picture = {"application": {"name": "udp", "rate_mbps": rate, "payload_bytes": PICTURE_BYTES}}
    return [
        *_voice(host),
        _flow(host, "picture-out", "up", "the picture of that call", picture),
        _flow(host, "picture-in", "down", "and that of the other side", picture),
    ]


def _game(host: Host) -> list[Flow]:
    return [_flow(host, "game", "down", "a game, both ways", {"application": "game"})]


_ACTIVITIES: Mapping[str, Callable[[Host], list[Flow]]] = {
    "pages": _pages,
    "video": _video,
    "download": _download,
    "upload": _upload,
    "backup": _backup,
    "voice": _voice,
    "video-call": _video_call,
    "game": _game,
}


def _flow(
    host: Host, name: str, direction: str, remark: str, keys: Mapping[str, Any], spread_s: float = SPREAD_S
) -> Flow:
    delay_ms = rounded(host.draws.draw("round_trip", f"station {host.number} {name}") / 2)
    own = {"direction": direction, "start_spread_s": spread_s, "one_way_delay_ms": delay_ms}
    return Flow(f"{name}-{host.number}", remark, {**own, **keys})


def _from_server(host: Host, control: str) -> Mapping[str, Any]:
    if control == "bbr":
        return {"tcp": {"congestion_control": "bbr", "ecn": False}}
    return {} if host.system in APPLE else {"tcp": {"ecn": False}}


def _from_station(host: Host) -> Mapping[str, Any]:
    tcp = {"profile": PROFILES[host.system]} if host.system in PROFILES else {"ecn": False}
    line = {} if host.upload_line_mbps is None else {"wire_rate_mbps": host.upload_line_mbps}
    return {**line, "tcp": tcp}
