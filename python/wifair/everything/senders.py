"""The kinds of hosts. An access point cannot choose them, so schemes are judged with each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from wifair.scenario.scenario import Scenario, Table

# Keys of packet sizes, which stay the scenario's with every kind of hosts.
_OF_THE_SCENARIO = ("mss_bytes", "header_bytes")


@dataclass(frozen=True)
class Senders:
    """A kind of hosts. `tcp` is None where the scenario's own are left as they are."""

    id: str
    title: str
    tcp: Mapping[str, Any] | None = None
    # The ACKs that a scheme may remove: its paper's choice, or only those without further information.
    ack_filter: str = "paper"

    def applied(self, scenario: Scenario) -> Scenario:
        """The scenario with these hosts. Today's hosts follow the standards, so the scenario's dialect is dropped."""
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
