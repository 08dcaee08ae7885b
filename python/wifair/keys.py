"""Keys of scenarios: paths, units, the nearest spelling, and features that are not modelled; names and numbers as messages have them."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable, Sequence
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from pathlib import Path

from wifair.errors import InputError, ScenarioError

UNITS = {
    "_ns": "nanoseconds",
    "_us": "microseconds",
    "_ms": "milliseconds",
    "_s": "seconds",
    "_bytes": "bytes",
    "_mbps": "Mbps",
    "_mhz": "MHz",
    "_ghz": "GHz",
    "_packets": "packets",
    "_segments": "segments",
    "_db": "dB",
    "_m": "metres",
    "_packets_per_s": "packets a second",
    "_m_per_s": "metres a second",
}

# Keys that had other names: old and new.
RENAMED = {"port": "tx_queue", "server_hears_link_rate": "server_notified_of_link_rate", "share_port": "share_tx_queue"}

# Real features that are not modelled, by the words for them. For these, suggesting a similar key would mislead.
_MILLIMETRE = "60 GHz, with directional beams and a MAC for them"
NOT_MODELLED = {
    "802.11": "the original PHYs of 1997",
    "802.11ad": _MILLIMETRE,
    "802.11ay": _MILLIMETRE,
    "802.11aj": _MILLIMETRE,
    "802.11ah": "below 1 GHz",
    "802.11af": "television bands",
    "802.11p": "vehicles, outside of a BSS",
    "802.11bd": "vehicles, outside of a BSS",
    "802.11bn": "several APs that coordinate",
    "802.11bb": "light",
    "multi_link": "multi-link operation: a station has one link",
    "mlo": "multi-link operation: a station has one link",
    "links": "multi-link operation: a station has one link",
    "ofdma": "OFDMA: a PPDU has one user",
    "mu_mimo": "MU-MIMO: a PPDU has one user",
    "beamforming": "beamforming",
    "interferers": "interference from outside of the BSS",
    "roaming": "roaming: there is one AP",
    "mesh": "mesh: stations talk to the AP alone",
    "power_save": "power saving",
    "twt": "target wake time",
    "association": "association: stations belong to the BSS from the start",
    "quic": "QUIC: transports are TCP and UDP",
    "timestamps": "TCP timestamps",
}


def missing(name: object) -> str:
    """The unmodelled feature that a name stands for, or an empty text."""
    told = name.lower().replace("-", "_") if isinstance(name, str) else ""
    return NOT_MODELLED.get(told.replace("_", "-") if told.startswith("802") else told, "")


def unknown(kind: str, name: str, known: Iterable[str], where: str = "") -> InputError:
    """The error for a name that does not exist."""
    known = list(known)
    hint = nearest(name, known)
    asked = f" Did you mean {hint}?" if hint else ""
    return InputError(f"{where}there is no {kind} {name!r}.{asked} Allowed here: {', '.join(known)}.")


def missing_file(path: Path, names: Iterable[str] = ()) -> InputError:
    """The error for a file that does not exist: it offers the nearest of `names`, or of the folder's files."""
    files = {found.stem: str(found) for found in path.parent.glob("*.toml")} if path.parent.is_dir() else {}
    known = {name: name for name in names}
    meant = known | files if path.suffix else files | known
    hint = meant.get(nearest(path.stem, meant))
    return InputError(f"{path}: cannot be read: there is no such file.{f' Did you mean {hint}?' if hint else ''}")


# Digits of a number that a message still has in full.
LONG_NUMBER = 20

# Bare or dotted TOML keys, each with optional list indexes or names of entries.
BARE_KEY = re.compile(r"([A-Za-z0-9_-]+(\[[^\[\]\"]+\])*)(\.[A-Za-z0-9_-]+(\[[^\[\]\"]+\])*)*")


def unit_of(key: str) -> str:
    """The unit in a key's name, in words; empty if it has none."""
    suffix = max((suffix for suffix in UNITS if key.endswith(suffix)), key=len, default="")
    return UNITS.get(suffix, "")


def nearest(key: str, known: Iterable[str]) -> str:
    """The known key that `key` most likely means: the same in another case, the same quantity in another unit, or the closest spelling, with or without a unit."""
    known = list(known)
    for name in known:
        if name != key and name.casefold() == key.casefold():
            return name
    for name in known:
        if unit_of(name) and unit_of(key) and _stem(name) == _stem(key):
            return f"{name} (in {unit_of(name)})"
    matches = difflib.get_close_matches(key, known, n=1, cutoff=0.6)
    if not matches:
        stems = {_stem(name): name for name in reversed(known)}
        matches = [stems[stem] for stem in difflib.get_close_matches(key, stems, n=1, cutoff=0.6)]
    return matches[0] if matches else ""


def _stem(key: str) -> str:
    suffix = max((suffix for suffix in UNITS if key.endswith(suffix)), key=len, default="")
    return key.removesuffix(suffix)


def shown(value: str) -> str:
    """A value as a message has it: a number of many digits has six and a power of ten."""
    try:
        return value if len(value) <= LONG_NUMBER else re.sub(r"\.?0+e", "e", f"{Decimal(value):.6g}")
    except InvalidOperation:
        return value


def unknown_key(path: str, key: str, value: object, known: Iterable[str], where: str = "") -> ScenarioError:
    """The error for a key that does not exist."""
    known = sorted(known)
    problem, hint = f"unknown key (value {value!r}){where}", nearest(key, known)
    if (new := RENAMED.get(key)) in known:
        return ScenarioError(
            join(path, key), f"{new} is its name now (value {value!r}){where}", value=value, allowed=", ".join(known)
        )
    if lack := missing(key):
        problem, hint = f"not modelled ({lack})", ""
    return ScenarioError(join(path, key), problem, value=value, allowed=", ".join(known), hint=hint)


def some_of(names: Sequence[str], most: int, last: str = " and ") -> str:
    """The first names in a sentence, and how many more there are."""
    more = f"{last}{len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def join(path: str, key: str) -> str:
    """The path of `key` below `path`, quoted as TOML requires."""
    return f"{path}.{_quoted(key)}" if path else _quoted(key)


@lru_cache(1024)  # every key of a scenario is asked for, most of them many times
def _quoted(key: str) -> str:
    return key if BARE_KEY.fullmatch(key) else json.dumps(key, ensure_ascii=False)
