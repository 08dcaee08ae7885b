"""Writes `python/wifair/gallery/papers`: the papers' cells that `wifair compare --all` runs, as commented scenarios.

    python packaging/paper_cells.py

`tests/test_gallery.py` compares the files with the papers' studies.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from wifair import gallery
from wifair.everything.contenders import with_defaults
from wifair.everything.scenarios import FULL, OF_PAPERS, PaperCell
from wifair.everything.senders import Senders

# The scheme or other value that each paper compares with tail drop.
PROPOSED = {
    "adaptive-pushout": 'ap.scheme = "adaptive-pushout"',
    "spm-af-las": 'ap.scheme = "las" (or "spm-af")',
    "arf-aware-tcp": 'tcp.congestion_control = { name = "arf-aware", max_rate_mbps = 11.0 }',
    "dqm": 'ap.scheme = "dqm"',
    "alt": 'ap.categories.best_effort.limit_controller = "alt"',
}

ABOUT = {
    "dialect=ns-2": "MAC and TCP as in ns-2.35; each difference from the standard is a key",
    "run.warmup_s": "simulated before the measurement begins",
    "run.duration_s": "the measurement",
    "run.record_transfers": "sums by group instead of a row per transfer",
    "phy.slot_us": "slot time",
    "phy.plcp_us": "preamble and PLCP header",
    "phy.llc_bytes": "as in the paper's table; ns-2 has no LLC header",
    "phy.control_rate_mbps": "rate of MAC ACKs",
    "mac.rts_threshold_bytes": "RTS and CTS before every frame",
    "mac.retry_limit_short": "attempts per frame",
    "mac.edca={}": "EDCA with the standard's parameters, without which nothing is aggregated",
    "mac.edca": "four access categories; TCP ACKs have their own",
    "ap.default_limit_packets": "the buffer, ACKs and data together, of schemes without a default limit",
    "ap.scheme": "tail drop; `wifair schemes` lists the others",
    "ap.categories": "the buffer that the scheme manages",
    "phy.streams": "with MCS 11: 1201 Mbps",
    "wire.rate_mbps=10000.0": "no bottleneck",
    "station.mcs": "the highest",
    "station.rate_mbps": "the highest rate unless a station says otherwise",
    "wire.one_way_delay_ms": "between the AP and the servers",
    "tcp.profile": "CUBIC, SACK, ECN, window scaling, an initial window of 10",
    "tcp.receiver_window_segments": "bounds every sender's window",
    "tcp.delayed_ack": "segments per ACK",
    "tcp.initial_ssthresh_segments": "where slow start ends at first",
    "tcp.ecn": "hosts react to marks",
    "tcp.sack": "selective acknowledgements",
    "flows.start_spread_s": "each flow starts at a random time in it",
    "flows.server_notified_of_link_rate": "servers know the rate of the AP's link",
    "events.at_s": "from this time on",
}
WIDTH = 128


def written(cell: PaperCell, senders: Senders) -> str:
    """The scenario file of a cell with these hosts."""
    settings = with_defaults(senders.applied(cell.scenario(FULL))).settings()
    head = f"{cell.title[:1].upper()}{cell.title[1:]}: {cell.source}, with {senders.title}. Why this cell: {cell.why}."
    lines = [f"# {line}" for line in textwrap.wrap(head, WIDTH - 2)]
    lines += [f"# The paper proposes {PROPOSED[cell.paper]}; the cell has tail drop.", ""]
    lines += [_line(key, key, value) for key, value in settings.items() if isinstance(value, str) and value != ""]
    for section, entry in settings.items():
        for table in entry if isinstance(entry, list) else [entry] if isinstance(entry, Mapping) else []:
            lines += ["", f"[[{section}]]" if isinstance(entry, list) else f"[{section}]"]
            lines += [_line(key, f"{section}.{key}", value) for key, value in table.items() if value is not None]
    return "\n".join(lines) + "\n"


def _line(key: str, path: str, value: Any) -> str:
    line = f"{key} = {_value(value)}"
    about = ABOUT.get(f"{path}={value}", ABOUT.get(path))
    return f"{line}  # {about}" if about else line


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        inner = ", ".join(f"{key} = {_value(entry)}" for key, entry in value.items())
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    return json.dumps(value, ensure_ascii=False)


def files() -> dict[Path, str]:
    """Each file with its text."""
    return {
        gallery.PAPERS / cell.id / f"{senders.id}.toml": written(cell, senders)
        for cell in OF_PAPERS
        for senders in cell.senders
    }


if __name__ == "__main__":
    for path, text in files().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
