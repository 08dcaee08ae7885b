"""The reference of a scenario's keys, from the model's sections and the engine's schema."""

from __future__ import annotations

from wifair.scenario.dialects import DIALECTS
from wifair.scenario.reference import sections

from docsite.keys import table

_SPREAD = """Two groups of flows at one group of stations begin at the same station unless `first_station` says otherwise:

```toml
[[stations]]
name = "table"
count = 12

[[flows]]
name = "reading"
station = "table"             # table-1 to table-10
count = 10
direction = "down"
application = "web"

[[flows]]
name = "photographs"
station = "table"
first_station = "next"        # table-11 and table-12
count = 2
direction = "up"

[[flows]]
name = "call"
station = "table-3"           # this one station
direction = "up"
application = "voip"
```"""


def page() -> str:
    """The page as Markdown."""
    parts = [
        "# Scenario reference",
        "Every key of a scenario file, from the model and the engine's own schema. A key that is not here is an error, which names "
        "the nearest one. Units stand in the names. What has a default may be left out; `–` as a default means that the key is "
        "not set.",
        "Any key can be set from the command line: `--set ap.limit_packets=50`, `--set flows[0].count=3`.",
    ]
    for section in sections():
        spread = [_SPREAD] if section.name == "flows" else []
        parts += [f"## {section.heading}", *([section.about] if section.about else []), *spread, table(section.keys)]
    parts += [
        "## Dialects",
        "`dialect` sets defaults for what other simulators do differently; what the file says itself comes first.",
        *_dialects(),
    ]
    return "\n\n".join(parts) + "\n"


def _dialects() -> list[str]:
    parts = []
    for name, tables in DIALECTS.items():
        rows = [f"| `{section}.{key}` | `{value}` |" for section, told in tables.items() for key, value in told.items()]
        if rows:
            parts += [f"### `{name}`", "| key | value |\n| --- | --- |\n" + "\n".join(rows)]
    return parts
