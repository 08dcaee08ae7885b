"""`wifair cite`: how to cite wifair, as BibTeX."""

from __future__ import annotations

EXAMPLE = "Example: wifair cite"


def cite() -> None:
    """Print a BibTeX entry for wifair."""
    from wifair.citation import bibtex, facts
    from wifair.cli.output import print_lines, say

    print_lines([bibtex()])
    say(facts()["message"])
