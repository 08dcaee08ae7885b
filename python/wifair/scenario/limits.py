"""The limit of an access point's transmit queues where the user sets none: the scheme's own, or the scenario's default for schemes without one.

`default_limit_packets` is a key of `[ap]` and of its categories that plans do not have. A scenario that is compared under many
schemes sets it in place of `limit_packets`, which holds under every scheme.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from wifair import _native
from wifair.errors import ScenarioError
from wifair.scenario.components import Node, properties

if TYPE_CHECKING:
    from wifair.scheme.python import PythonScheme

Table = dict[str, Any]

KEY = "default_limit_packets"
NODE: Node = {
    "type": "integer",
    "format": "uint32",
    "description": "Greatest number of packets in the buffer, 1 to 100000, under schemes without a default limit "
    "(fq-codel has 10,240, mac80211 and air-share 8,192). limit_packets sets it under every scheme.",
}
# The limits that a transmit queue accepts.
_ALLOWED = range(1, 100_001)


def with_default_limits(tx_queues: Mapping[str, Node]) -> dict[str, Node]:
    """The keys of `[ap]` with the default limit, in its categories too."""
    categories = properties(tx_queues["categories"])
    keyed = {
        name: {"type": "object", "properties": {**properties(node), KEY: NODE}} for name, node in categories.items()
    }
    return {**tx_queues, "categories": {"type": "object", "properties": keyed}, KEY: NODE}


def limited(ap: Table, schemes: Mapping[str, PythonScheme]) -> Table:
    """The table `[ap]` of a scenario with the limits that its defaults give, and without these keys."""
    ap, default = _parted(ap, "ap")
    categories: dict[str, Table] = ap.get("categories") or {}
    parted = {name: _parted(tx_queue, f"ap.categories.{name}") for name, tx_queue in categories.items()}
    if "limit_packets" not in ap:
        for tx_queue, own_default in parted.values():
            scheme = tx_queue.get("scheme") or ap.get("scheme")
            if own_default is not None and "limit_packets" not in tx_queue and not _moved(tx_queue, ap):
                tx_queue["limit_packets"] = own_limit_packets(scheme, schemes) or own_default
        if not _moved(ap):
            limit = own_limit_packets(ap.get("scheme"), schemes) or default
            ap = {**ap, "limit_packets": limit} if limit else ap
    return {**ap, "categories": {name: tx_queue for name, (tx_queue, _) in parted.items()}} if categories else ap


def _parted(tx_queue: Table, path: str) -> tuple[Table, int | None]:
    """A transmit queue's table without its default limit, and that."""
    default = tx_queue.get(KEY)
    if default is not None and default not in _ALLOWED:
        raise ScenarioError(f"{path}.{KEY}", f"{default} is not allowed", value=default, allowed="1 to 100000 packets")
    return {key: value for key, value in tx_queue.items() if key != KEY}, default


def _moved(*tx_queues: Table) -> bool:
    """Whether a limit controller moves the limit, which then begins within the controller's bounds."""
    return any(tx_queue.get("limit_controller") for tx_queue in tx_queues)


def own_limit_packets(scheme: Table | None, schemes: Mapping[str, PythonScheme]) -> int | None:
    """The default limit that a scheme (as a table of the plan) brings; None if it brings none."""
    if scheme is None:
        return None
    if scheme["name"] == "external":
        return schemes[scheme["id"]].cls.usual_limit_packets
    limit = _usual(json.dumps(scheme))
    return None if limit == _usual('{"name": "droptail"}') else limit


@cache
def _usual(scheme: str) -> int | None:
    """The limit that the engine gives a transmit queue under a registered scheme; None for a scheme that it rejects."""
    tx_queue = {"scheme": json.loads(scheme)}
    flow = {"label": "flow", "station": "station", "direction": "down"}
    plan = {
        "schema_version": 1,
        "bss": {"ap": {"tx_queue": tx_queue}, "stations": [{"label": "station"}]},
        "flows": [flow],
    }
    try:
        return int(json.loads(_native.canonical(json.dumps(plan), {}))["bss"]["ap"]["tx_queue"]["limit_packets"])
    except _native.PlanError:
        return None
