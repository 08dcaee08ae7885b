"""Dialects: how a simulator's habits depart from the standard, as data laid under a scenario's own keys.

`standard` departs in nothing. `ns-2` sets what ns-2.34 and ns-2.35 do differently, as found by reading and running
them; every line says what. RTS stays off: ns-2's RTS on every frame is a default of its configuration, not of its
model, and is set with `mac.rts_threshold_bytes = 0`.
"""

from __future__ import annotations

from typing import Any

STANDARD: dict[str, Any] = {}

DIALECTS: dict[str, dict[str, Any]] = {"standard": STANDARD}
