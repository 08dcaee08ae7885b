"""What `import` and `field import` print of the scenario that they have made, and where they write it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wifair.observed.tables import Document


def report(made: Document, out: Path | None, as_json: bool, remarks: str, following: Mapping[str, str]) -> None:
    """Writes the scenario to `out`, if there is one, and says where its values are from.

    `remarks` is the name of its remarks in JSON; `following` are commands that take the file next, with what they take besides.
    """
    from wifair.cli.output import print_json, print_lines, print_table, say
    from wifair.cli.tables import columns
    from wifair.files import write_scenario
    from wifair.observed.written import HEADINGS, LEFT_OUT, left_out, missed, summary, text

    content = text(made)
    if out:
        write_scenario(out, content)
    rows = summary(made)
    if as_json:
        values = [dict(zip(HEADINGS, row, strict=True)) for row in rows]
        print_json({"scenario": made.settings(), "values": values, remarks: [*made.remarks, *map(str, made.left_out)]})
    elif out:
        print_table("Where the values are from", columns(HEADINGS, rows, left=2, prose=(3,)), keys=2)
        if made.left_out:
            print_table("Heard, and not in the scenario", columns(LEFT_OUT, left_out(made), left=2, prose=(3, 4)))
    else:
        print_lines(content.splitlines())
    for remark in made.remarks:
        say(remark)
    if made.missed:
        say(f"warning: {missed(made)}.")
    if out:
        say(f"the scenario is in {out}; now:")
        for command, more in following.items():
            say(f"  {command} {out}{more}")
