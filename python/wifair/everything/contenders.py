"""The schemes: all registered ones with their source's parameters, and those that also change the limit or the senders.

Every scheme has its own default limit, and the scenario's buffer if it has none, unless the user has set a limit
(`wifair.scenario.limits`). So have variants of registered schemes, and schemes written in Python. A scheme that removes ACKs removes those of its paper with
the paper's hosts. With today's hosts, whose ACKs carry SACK blocks and ECN echoes, it removes only ACKs without other
information (`filter = "safe"`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from wifair.analysis.sweep import label
from wifair.errors import InputError
from wifair.keys import join, unknown
from wifair.papers.alt.study import Q_MIN
from wifair.papers.spm_af_las.study import SPM_SENDER
from wifair.scenario.components import components
from wifair.scenario.limits import KEY as DEFAULT_LIMIT
from wifair.scenario.scenario import Scenario, Table
from wifair.scheme.python import PythonScheme

# Linux's present scheme, and its former one.
REFERENCE = "mac80211"
PLAIN = "droptail"

# The keys of an access point, and of its categories, that size a buffer.
LIMITS = ("limit_packets", DEFAULT_LIMIT)

# CAKE's default ACK filter mode, if it is on.
_ACK_FILTER = {"ack_filter": "conservative"}


@dataclass(frozen=True)
class Contender:
    """A scheme, with the other settings of the AP's transmit queue and of the hosts."""

    name: str
    about: str
    scheme: Mapping[str, Any]
    tx_queue: Mapping[str, Any] = field(default_factory=dict)
    tcp: Mapping[str, Any] = field(default_factory=dict)

    def applied(self, scenario: Scenario, ack_filter: str = "paper", bss: str = "") -> Scenario:
        """The scenario under this scheme: of several BSSs that of the named one, or of the first. Raises `InputError` if they are incompatible."""
        settings = scenario.settings()
        scheme = {**self.scheme, "filter": ack_filter} if _filters(self.scheme["name"]) else self.scheme
        if scenario.bss:
            own = next(table.ap for table in scenario.bss if bss in ("", table.name))
            tx_queue = {"scheme": dict(scheme), **self.tx_queue, **_limit_of(settings.get("ap", {})), **_limit_of(own)}
            at_ap = {join(scenario.bss_key(bss), f"ap.{key}"): value for key, value in tx_queue.items()}
            return scenario.override(at_ap | {f"tcp.{key}": value for key, value in self.tcp.items()})
        ap: Table = {**settings.get("ap", {}), "scheme": dict(scheme)}
        # If the scenario sets the buffer size of a category separately, that buffer is the one compared.
        categories: Mapping[str, Table] = ap.get("categories", {})
        users = _limit_of(ap)
        sized = {
            name: {**tx_queue, **self.tx_queue, **users, **_limit_of(tx_queue)}
            for name, tx_queue in categories.items()
            if tx_queue.keys() & LIMITS
        }
        ap = {**ap, "categories": {**categories, **sized}} if sized else {**ap, **self.tx_queue, **users}
        tcp = {**settings.get("tcp", {}), **self.tcp}
        return Scenario.from_settings({**settings, "ap": ap, **({"tcp": tcp} if tcp else {})})


def _limit_of(tx_queue: Table) -> Table:
    return {key: value for key, value in tx_queue.items() if key == "limit_packets"}


@dataclass(frozen=True)
class ArfAware(Contender):
    """ARF-aware senders, which know their link's rate, on top of their congestion control; tail drop at the AP."""

    def applied(self, scenario: Scenario, ack_filter: str = "paper", bss: str = "") -> Scenario:
        """The scenario with these senders. Raises `InputError` if no link is ever slow."""
        plan = scenario.plan()
        rates = {station["label"]: station["rate_mbps"] for station in plan["bss"]["stations"]}
        changes = {
            event["station"]["label"] for event in plan["events"] if (event.get("station") or {}).get("rate_mbps")
        }
        if None in rates.values():
            raise InputError("arf-aware knows rates before 802.11n, and stations of this scenario have an MCS.")
        highest = max(rates.values())
        adapts = plan["bss"]["mac"]["rate_adaptation"]["name"] != "fixed"
        notified = [flow for flow in plan["flows"] if flow["direction"] == "up" or flow["server_notified_of_link_rate"]]
        if not any(adapts or rates[flow["station"]] < highest or flow["station"] in changes for flow in notified):
            raise InputError("no sender has a link below the highest rate: the same as droptail.")
        over = next(flow["tcp"]["congestion_control"] for flow in notified if "tcp" in flow)
        control = {"name": "arf-aware", "over": over, "max_rate_mbps": highest}
        return super().applied(scenario.override({"tcp.congestion_control": control}), ack_filter, bss)


def contenders(names: Sequence[str | Mapping[str, Any]] = ()) -> list[Contender]:
    """All contenders, or those in `names`, in the order of the registries."""
    every = [_scheme(told) for told in components("schemes")]
    every += [_controlled(told) for told in components("limit_controllers")]
    every += [
        replace(
            _scheme(_component("fq-codel")),
            name="fq-codel-ack-filter",
            about="fq-codel with CAKE's ACK filter on its queues",
            scheme={"name": "fq-codel", **_ACK_FILTER},
        ),
        replace(
            _scheme(_component(REFERENCE)),
            name="mac80211-2016",
            about="mac80211 of 2016 to 2025, easier on slow stations",
            scheme={"name": REFERENCE, "slow_station_rule": True},
        ),
        Contender(
            "spm-af-marking",
            "spm-af, and senders mark data sent at a small window; they count segments",
            {"name": "spm-af", "variant": "sender-marking"},
            tcp=SPM_SENDER,
        ),
        ArfAware("arf-aware", "senders that divide their window on a slow link; tail drop", {"name": PLAIN}),
    ]
    every += [
        Contender(str(name), "written in Python", {"name": name}) for name in names if isinstance(name, PythonScheme)
    ]
    every += [_variant(name) for name in names if isinstance(name, Mapping)]
    known = [contender.name for contender in every]
    wanted = [label(name) for name in names]
    for name in wanted:
        if name not in known:
            raise unknown("scheme", name, known, "schemes: ")
    return [contender for contender in every if not names or contender.name in wanted]


def _component(name: str) -> Mapping[str, Any]:
    return next(told for told in components("schemes") if told["name"] == name)


def _filters(name: str) -> bool:
    """Whether it is a registered scheme with a parameter for its ACK filter."""
    registered = (told for told in components("schemes") if told["name"] == name)
    return any("filter" in told["parameters"].get("properties", {}) for told in registered)


def _scheme(told: Mapping[str, Any]) -> Contender:
    return Contender(told["name"], told["idea"], {"name": told["name"]})


def _controlled(told: Mapping[str, Any], parameters: Mapping[str, Any] | None = None) -> Contender:
    """Tail drop whose limit a controller moves, from the smallest limit of its paper on."""
    given = parameters or {}
    tx_queue = {"limit_packets": given.get("min_packets", Q_MIN), "limit_controller": {**given, "name": told["name"]}}
    return Contender(told["name"], f"{told['idea']} Tail drop.", {"name": PLAIN}, tx_queue)


def _variant(given: Mapping[str, Any]) -> Contender:
    """A registered scheme, a limit controller or a scheme written in Python, with parameters."""
    for told in components("limit_controllers"):
        if told["name"] == given["name"]:
            return replace(_controlled(told, given), name=label(given), about="a variant")
    return Contender(label(given), "a variant", given)


def with_defaults(scenario: Scenario) -> Scenario:
    """The scenario with its buffer as the default of schemes without one, where it would bind every scheme."""

    def freed(tx_queue: Table) -> Table:
        return {DEFAULT_LIMIT if key == "limit_packets" else key: value for key, value in tx_queue.items()}

    settings = scenario.settings()
    ap = freed(settings.get("ap", {}))
    if "categories" in ap:
        ap["categories"] = {name: freed(tx_queue) for name, tx_queue in ap["categories"].items()}
    return Scenario.from_settings({**settings, **({"ap": ap} if ap else {})})
