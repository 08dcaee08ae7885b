"""How often the access point and the stations get the air: an alternative to a scheme, or an addition to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from wifair.everything.contenders import Contender, contenders
from wifair.scenario.scenario import Scenario


@dataclass(frozen=True)
class Access:
    """EDCA parameters of best effort, by key of the scenario; `told` says how an access point gets them, by options of hostapd where it can."""

    id: str
    title: str
    told: str
    keys: Mapping[str, Any]


YIELDING = Access(
    "yielding",
    "stations that yield",
    "`wmm_ac_be_cwmin=6`: stations have CWmin 63",
    {"mac.edca.stations.best_effort.cw_min": 63},
)
CONTROLLED = Access(
    "controlled",
    "stations that yield when needed",
    "`[mac.edca.controller]`: CWmin of stations rises to 63 while uploads crowd out downloads",
    {"mac.edca.controller.max_cw_min": 63},
)
ACCESSES = (
    YIELDING,
    Access(
        "first",
        "an access point that goes first",
        "`tx_queue_data2_aifs=1`, `tx_queue_data2_cwmin=7`: the access point has AIFSN 1 and CWmin 7",
        {"mac.edca.ap.best_effort.aifsn": 1, "mac.edca.ap.best_effort.cw_min": 7},
    ),
    CONTROLLED,
)


@dataclass(frozen=True)
class WithAccess(Contender):
    """A scheme, with EDCA parameters in place of the scenario's."""

    keys: Mapping[str, Any] = field(default_factory=dict)

    def applied(self, scenario: Scenario, ack_filter: str = "paper", bss: str = "") -> Scenario:
        """The scenario under this scheme, with these parameters."""
        return super().applied(scenario.override(self.keys), ack_filter, bss)


def name(scheme: str, access: Access) -> str:
    """The name of a scheme with an access."""
    return f"{scheme}, {access.title}"


def with_accesses(schemes: tuple[str, ...], accesses: Sequence[Access]) -> list[Contender]:
    """The schemes as they are, then each with each access."""
    plain = contenders(schemes)
    own = [{one.name: getattr(each, one.name) for one in fields(Contender)} for each in plain]
    return plain + [
        WithAccess(**{**each, "name": name(each["name"], access)}, keys=access.keys)
        for access in accesses
        for each in own
    ]
