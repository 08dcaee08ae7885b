"""The shares of every scheme as a picture. Readable in greyscale."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wifair.everything.contenders import REFERENCE
from wifair.everything.shares import COSTLY, Shares
from wifair.everything.verdict import Standing
from wifair.plots import figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# The rows of the legend: the label, the standings, the offset of the row, and the marker.
SERIES = (
    ("better", (Standing.BETTER,), -0.18, {"color": "#0072B2", "marker": "o", "mfc": "#0072B2"}),
    ("worse, a trade, or transfers do not end", COSTLY, 0.0, {"color": "#000000", "marker": "X", "mfc": "#000000"}),
    ("undecided", (Standing.OPEN,), 0.18, {"color": "#777777", "marker": "s", "mfc": "#ffffff"}),
)


def shares_figure(shares: Shares) -> Figure:
    """A row per scheme: the shares of scenarios in which it is better, costs something, or is undecided, with 95 % intervals."""
    made, [axes] = figure(width=6.4, height=1.4 + 0.45 * len(shares.schemes))
    for label, standings, aside, look in SERIES:
        found = [share.interval(*standings) for share in shares.schemes]
        at = [100 * each.estimate for each in found]
        below = [100 * (each.estimate - (each.low or 0.0)) for each in found]
        above = [100 * ((each.high or 0.0) - each.estimate) for each in found]
        rows = [row + aside for row in range(len(found))]
        axes.errorbar(
            at,
            rows,
            xerr=[below, above],
            linestyle="",
            capsize=2.5,
            markersize=5,
            linewidth=1.2,
            label=label,
            color=look["color"],
            marker=look["marker"],
            markerfacecolor=look["mfc"],
        )
    axes.set_yticks(range(len(shares.schemes)), [share.scheme for share in shares.schemes])
    axes.set_ylim(len(shares.schemes) - 0.5, -0.5)
    axes.set_xlim(-2, 102)
    axes.set_xlabel(f"share of {len(shares.settings)} scenarios, %, against {REFERENCE}")
    axes.set_ylabel("scheme")
    axes.tick_params(labelsize="small")
    axes.grid(alpha=0.25)
    made.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize="small", frameon=False)
    return made
