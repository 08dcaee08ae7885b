"""The matrices as pictures: winners by setting, and each scheme against `mac80211`. Readable in greyscale."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING

from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from wifair.everything.contenders import REFERENCE
from wifair.everything.contest import Judged
from wifair.everything.criteria import Criterion, Kind
from wifair.everything.findings import Overview
from wifair.everything.verdict import Place, Standing
from wifair.plots import figure, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# A matrix cell: its mark, its shade, and whether it is hatched.
Look = tuple[str, str, bool]

PLACES: dict[Place, Look] = {
    Place.BEST: ("★", "#0072B2", False),
    Place.UNBEATEN: ("●", "#8cc0e0", False),
    Place.OPEN: ("?", "#f7f7f7", False),
    Place.BEATEN: ("−", "#dca58d", False),
    Place.UNFINISHED: ("×", "#9a9a9a", False),
}
ITSELF: Look = ("", "#ffffff", False)
REFUSED: Look = ("", "#ffffff", True)

STANDINGS: dict[Standing, Look] = {
    Standing.BETTER: ("+", "#0072B2", False),
    Standing.EQUAL: ("=", "#dddddd", False),
    Standing.THRESHOLD: ("~", "#eeeeee", False),
    Standing.OPEN: ("?", "#f7f7f7", False),
    Standing.UNFINISHED: ("×", "#9a9a9a", False),
    Standing.TRADE: ("±", "#f0d9a8", False),
    Standing.WORSE: ("−", "#c8603c", False),
}
# A legend of three columns needs so many inches.
LEAST_WIDTH = 7.2
# A row's label has at most so many characters.
LABEL = 48
DARK = {"#0072B2", "#c8603c"}


def draw(overview: Overview, folder: Path, endings: Sequence[str] = ("png",)) -> dict[str, list[Path]]:
    """Writes both matrices."""
    made = {"conclusions": conclusions(overview)}
    if REFERENCE in overview.contenders:
        made[f"against-{REFERENCE}"] = against(overview)
    return {name: save(each, folder, f"comparison-{name}", endings) for name, each in made.items()}


def conclusions(overview: Overview) -> Figure:
    """A row per setting, a column per scheme: its place there."""
    made, [axes] = figure(width=_width(overview), height=_height(len(overview.settings)))

    def look(judged: Judged, name: str) -> Look:
        return PLACES[judged.verdict.place(name)] if name in judged.verdict.contenders else REFUSED

    _settings(axes, overview, overview.settings, look)
    _legend(
        made,
        {
            "best by everything": PLACES[Place.BEST],
            "shown to be unbeaten": PLACES[Place.UNBEATEN],
            "neither shown to be unbeaten nor beaten": PLACES[Place.OPEN],
            "beaten": PLACES[Place.BEATEN],
            "transfers do not end": PLACES[Place.UNFINISHED],
            "cannot run there": REFUSED,
        },
    )
    return made


def against(overview: Overview) -> Figure:
    """A panel per kind of criterion: better or worse than the reference, in the settings judged by it.

    Of one setting it is one panel with a row per criterion.
    """
    one = len(overview.settings) == 1
    made = _by_criterion(overview, overview.settings[0]) if one else _by_kind(overview)
    words = {
        Standing.BETTER: "better",
        Standing.EQUAL: "no difference that matters",
        Standing.THRESHOLD: "on the threshold",
        Standing.OPEN: "undecided",
        Standing.UNFINISHED: "transfers do not end",
        Standing.TRADE: "better by one, worse by another",
        Standing.WORSE: "worse",
    }
    looks = {**{words[standing]: look for standing, look in STANDINGS.items()}, "cannot run there": REFUSED}
    _legend(made, looks)
    return made


def _by_criterion(overview: Overview, judged: Judged) -> Figure:
    criteria = judged.verdict.judged
    made, [axes] = figure(width=_width(overview), height=_height(len(criteria)))

    def look(row: int, name: str) -> Look:
        return _standing(judged, name, [criteria[row]])

    _matrix(
        axes, overview.contenders, [shorten(criterion.title, LABEL, placeholder=" …") for criterion in criteria], look
    )
    axes.set_title(f"against {REFERENCE}", fontsize="medium", loc="left")
    return made


def _by_kind(overview: Overview) -> Figure:
    rows = {
        kind: [judged for judged in overview.settings if any(c.kind == kind for c in judged.verdict.judged)]
        for kind in overview.kinds
    }
    height = sum(_height(len(mine)) - 1.2 for mine in rows.values()) + 1.8
    made = Figure(figsize=(_width(overview), height), dpi=150, layout="constrained")
    ratios = [len(mine) for mine in rows.values()]
    panels = made.subplots(len(rows), 1, height_ratios=ratios, squeeze=False)[:, 0]
    for axes, (kind, mine) in zip(panels, rows.items(), strict=True):
        _settings(axes, overview, mine, _standing_by(kind))
        axes.set_title(f"{kind}, against {REFERENCE}", fontsize="medium", loc="left")
        if axes is not panels[0]:
            axes.set_xticks([])
        if axes is not panels[-1]:
            axes.set_xlabel("")
    return made


def _standing(judged: Judged, name: str, criteria: Sequence[Criterion]) -> Look:
    verdict = judged.verdict
    if not {name, REFERENCE} <= set(verdict.contenders):
        return REFUSED
    if name == REFERENCE:
        return ITSELF
    if criteria[0].kind == "completion" and name in verdict.out:
        return STANDINGS[Standing.UNFINISHED]
    return STANDINGS[verdict.standing(name, REFERENCE, criteria)]


def _standing_by(kind: Kind) -> Callable[[Judged, str], Look]:
    def look(judged: Judged, name: str) -> Look:
        return _standing(judged, name, [criterion for criterion in judged.verdict.judged if criterion.kind == kind])

    return look


def _width(overview: Overview) -> float:
    return max(2.6 + 0.32 * len(overview.contenders), LEAST_WIDTH)


def _height(rows: int) -> float:
    return 2.1 + 0.2 * rows


def _settings(axes: Axes, overview: Overview, settings: Sequence[Judged], look: Callable[[Judged, str], Look]) -> None:
    """A matrix with a row per setting."""
    names = [judged.setting.id for judged in settings]
    _matrix(axes, overview.contenders, names, lambda row, name: look(settings[row], name))
    if len(names) > 1:
        axes.set_ylabel("scenario / senders")


def _matrix(axes: Axes, names: Sequence[str], rows: Sequence[str], look: Callable[[int, str], Look]) -> None:
    for row in range(len(rows)):
        for column, name in enumerate(names):
            mark, shade, hatched = look(row, name)
            hatch = "////" if hatched else None
            place = (column - 0.5, row - 0.5)
            axes.add_patch(Rectangle(place, 1, 1, facecolor=shade, edgecolor="#bbbbbb", linewidth=0.5, hatch=hatch))
            ink = "#ffffff" if shade in DARK else "#000000"
            axes.text(column, row, mark, ha="center", va="center_baseline", fontsize=8, color=ink)
    axes.set_xlim(-0.5, len(names) - 0.5)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xticks(range(len(names)), names, rotation=60, ha="left", rotation_mode="anchor")
    axes.set_yticks(range(len(rows)), rows)
    axes.xaxis.tick_top()
    axes.tick_params(length=0, labelsize="small")
    axes.set_xlabel("scheme")
    for side in axes.spines.values():
        side.set_visible(False)


def _legend(made: Figure, looks: dict[str, Look]) -> None:
    handles = [
        Rectangle((0, 0), 1, 1, facecolor=shade, edgecolor="#777777", hatch="////" if hatched else None)
        for _, shade, hatched in looks.values()
    ]
    titles = [f"{mark}  {title}".strip() for title, (mark, _, _) in looks.items()]
    made.legend(handles, titles, loc="outside lower center", ncols=3, fontsize="small", frameon=False)
