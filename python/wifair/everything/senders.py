"""Which hosts: an access point cannot choose them, so a scheme must do with either."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from wifair.scenario.scenario import Scenario, Table

# What a packet carries is the scenario's, with every sender.
_OF_THE_SCENARIO = ("mss_bytes", "header_bytes")


@dataclass(frozen=True)
class Senders:
    """A kind of hosts. `tcp` is None where the scenario's own are left as they are."""

    id: str
    title: str
    tcp: Mapping[str, Any] | None = None
    # Which ACKs a scheme may remove: its paper's choice, or those alone that carry no further information.
    ack_filter: str = "paper"

    def applied(self, scenario: Scenario) -> Scenario:
        """The scenario with these hosts. Today's go by the standards: a simulator's habits go with its hosts."""
        if self.tcp is None:
            return scenario
        settings = scenario.settings()
        own: Table = settings.get("tcp", {})
        kept = {key: own[key] for key in _OF_THE_SCENARIO if key in own}
        return Scenario.from_settings({**settings, "dialect": "standard", "tcp": {**self.tcp, **kept}})


PAPERS = Senders("paper", "the paper's senders")
TODAYS = Senders("today", "today's senders: CUBIC, SACK, ECN", {"profile": "today"}, "safe")
# The gallery's scenarios have them already.
GALLERYS = replace(TODAYS, tcp=None)
