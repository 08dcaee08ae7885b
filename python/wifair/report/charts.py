"""Interactive panels as Altair charts. Their colours come from the page's (or notebook's) theme.

Series differ by colour, shape and dashes, so they are distinguishable in greyscale. Means have 95 % intervals, with the
replications as small dots behind them. A click on a name in a legend highlights its series.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import altair as alt

from wifair.stats import Interval

Row = dict[str, Any]
Panel: TypeAlias = alt.TopLevelMixin

# Width of the whole chart in pixels; panels fill it.
HEIGHT = 260
ROW_HEIGHT = 26


def interval_row(found: Interval) -> Row:
    """The columns that all panels use for an interval; without an interval both ends are the mean."""
    mean = found.estimate
    return {
        "mean": mean,
        "low": mean if found.low is None else found.low,
        "high": mean if found.high is None else found.high,
        "interval": str(found),
    }


def _data(rows: Iterable[Mapping[str, Any]]) -> alt.InlineData:
    return alt.InlineData(values=[dict(row) for row in rows])


def _sized(chart: Any, title: str, height: float) -> Panel:
    sized: Panel = chart.properties(width="container", height=height, title=title, description=title)
    return sized


def _legend(names: Sequence[str], **settings: Any) -> alt.Legend | None:
    return alt.Legend(title=None, **settings) if len(names) > 1 else None


def _looks(field: str, names: Sequence[str]) -> dict[str, Any]:
    """Colour and shape encodings by name, in the order of `names`, with a common legend."""
    scale = alt.Scale(domain=list(names))
    legend = _legend(names, symbolStrokeWidth=0)  # filled; an outline would be dashed like their lines
    return {
        "color": alt.Color(f"{field}:N", scale=scale, legend=legend),
        "shape": alt.Shape(f"{field}:N", scale=scale, legend=legend),
    }


def _scale(log: bool, domain: tuple[float, float] | None, least: float | None = None) -> alt.Scale:
    settings: dict[str, Any] = {"domain": list(domain), "nice": False} if domain else {}
    if least is not None and not domain and not log:
        settings |= {"domainMin": least, "nice": True}
    return alt.Scale(type="log" if log else "linear", **settings)


def by_name(
    means: Sequence[tuple[str, Interval]],
    runs: Sequence[tuple[str, int, float]],
    *,
    title: str,
    x_title: str,
    domain: tuple[float, float] | None = None,
    least: float | None = None,
    zero_line: bool = False,
) -> Panel:
    """A row per name: mean, interval, and a dot per replication (`runs`: name, seed, value).

    Intervals that reach below `least`, where no value can be, are cut there.
    """
    names = [name for name, _ in means]
    y = alt.Y("name:N", sort=names, title=None, scale=alt.Scale(domain=names))
    scale = alt.Scale(domain=list(domain)) if domain else alt.Scale(zero=False)
    if least is not None and not domain and any(found.low is not None and found.low < least for _, found in means):
        scale = alt.Scale(zero=False, domainMin=least, nice=True)
    x_axis: dict[str, Any] = {"title": x_title, "scale": scale, "axis": alt.Axis(tickCount=5, labelOverlap=True)}
    dots = alt.Chart(_data({"name": n, "seed": s, "value": v} for n, s, v in runs))
    told = alt.Chart(_data({"name": name, **interval_row(found)} for name, found in means))
    tooltip = [alt.Tooltip("name:N", title="scenario"), alt.Tooltip("interval:N", title=x_title)]
    layers: list[alt.Chart] = []
    if zero_line:
        layers.append(alt.Chart(_data([{"at": 0}])).mark_rule(strokeDash=[3, 3]).encode(x=alt.X("at:Q", **x_axis)))
    if runs:
        seen = [alt.Tooltip("name:N", title="scenario"), alt.Tooltip("seed:O", title="seed")]
        seen.append(alt.Tooltip("value:Q", title=x_title, format=".4g"))
        small = dots.mark_point(filled=True, size=14, opacity=0.35, shape="circle")
        layers.append(small.encode(x=alt.X("value:Q", **x_axis), y=y, tooltip=seen))
    layers += [
        told.mark_rule(strokeWidth=2, clip=True).encode(x=alt.X("low:Q", **x_axis), x2="high:Q", y=y, tooltip=tooltip),
        told.mark_point(filled=True, size=70, opacity=1).encode(x=alt.X("mean:Q", **x_axis), y=y, tooltip=tooltip),
    ]
    return _sized(alt.layer(*layers), title, max(ROW_HEIGHT * len(names), 60))


def flows(
    means: Sequence[tuple[str, str, Interval]],
    runs: Sequence[tuple[str, str, int, float]],
    *,
    title: str,
    y_title: str,
    top: float,
) -> Panel:
    """A column per flow (label, direction): mean, interval, and a dot per replication.

    The dots show flows that are locked out in some runs only, which a mean hides.
    """
    labels = [label for label, _, _ in means]
    directions = list(dict.fromkeys(direction for _, direction, _ in means))
    many = len(labels) > 24
    axis = alt.Axis(labels=not many, ticks=not many, labelAngle=-45 if len(labels) > 6 else 0)
    x = alt.X("flow:N", sort=labels, title="flow" if many else None, axis=axis)
    y_axis: dict[str, Any] = {"title": y_title, "scale": alt.Scale(domain=[0, top])}
    dots = alt.Chart(_data({"flow": f, "direction": d, "seed": s, "value": v} for f, d, s, v in runs))
    told = alt.Chart(_data({"flow": f, "direction": d, **interval_row(found)} for f, d, found in means))
    whose = [alt.Tooltip("flow:N"), alt.Tooltip("direction:N")]
    looks = _looks("direction", directions)
    tooltip = [*whose, alt.Tooltip("interval:N", title=y_title)]
    layers = [
        dots.mark_point(filled=True, size=12, opacity=0.35, shape="circle").encode(
            x=x,
            y=alt.Y("value:Q", **y_axis),
            color=looks["color"],
            tooltip=[*whose, alt.Tooltip("seed:O"), alt.Tooltip("value:Q", title=y_title, format=".4g")],
        ),
        told.mark_rule(strokeWidth=2, clip=True).encode(
            x=x, y=alt.Y("low:Q", **y_axis), y2="high:Q", color=looks["color"], tooltip=tooltip
        ),
        told.mark_point(filled=True, size=55, opacity=1).encode(
            x=x, y=alt.Y("mean:Q", **y_axis), tooltip=tooltip, **looks
        ),
    ]
    return _sized(alt.layer(*layers), title, HEIGHT)


def shares(rows: Sequence[tuple[str, str, float]], *, title: str, x_title: str) -> Panel:
    """A bar per name, made of parts that add up to one (name, part, share)."""
    names = list(dict.fromkeys(name for name, _, _ in rows))
    parts = list(dict.fromkeys(part for _, part, _ in rows))
    told: list[Row] = []
    reached = dict.fromkeys(names, 0.0)
    for name, part, share in rows:
        begin, reached[name] = reached[name], reached[name] + share
        row = {"name": name, "part": part, "share": share, "begin": begin, "end": reached[name]}
        told.append({**row, "middle": begin + share / 2, "label": f"{100 * share:.0f} %" if share > 0.06 else ""})
    base = alt.Chart(_data(told)).encode(
        y=alt.Y("name:N", sort=names, title=None, scale=alt.Scale(domain=names)),
        tooltip=[alt.Tooltip("name:N", title="scenario"), "part:N", alt.Tooltip("share:Q", format=".1%")],
    )
    x_axis: dict[str, Any] = {
        "title": x_title,
        "axis": alt.Axis(format="%"),
        "scale": alt.Scale(domain=[0, 1], nice=False),
    }
    bars = base.mark_bar(strokeWidth=1).encode(
        x=alt.X("begin:Q", **x_axis),
        x2="end:Q",
        color=alt.Color("part:N", scale=alt.Scale(domain=parts), legend=_legend(parts)),
    )
    texts = base.mark_text(fontSize=11, fontWeight=600).encode(x=alt.X("middle:Q", **x_axis), text="label:N")
    return _sized(alt.layer(bars, texts), title, max(32 * len(names), 60))


def lines(
    rows: Sequence[Mapping[str, Any]],
    *,
    title: str,
    x_title: str,
    y_title: str,
    series: Sequence[str],
    x_domain: tuple[float, float] | None = None,
    y_domain: tuple[float, float] | None = None,
    y_least: float | None = None,
    x_log: bool = False,
    y_log: bool = False,
    points: bool = True,
    rules: Sequence[tuple[str, float]] = (),
    x_values: Sequence[float] = (),
) -> Panel:
    """A line per series over x. A row: `series`, `x`, and the columns of `interval_row`.

    Without points the intervals are a band. Intervals that reach below `y_least` are cut there. `rules` are straight lines across the panel: the axis ("x" or "y") and the
    value.
    """
    x_scale, y_scale = _scale(x_log, x_domain), _scale(y_log, y_domain, y_least)
    x_axis = alt.Axis(values=list(x_values), labelOverlap=True) if len(x_values) else alt.Axis()
    x = alt.X("x:Q", title=x_title, scale=x_scale, axis=x_axis)
    y_axis: dict[str, Any] = {"title": y_title, "scale": y_scale}
    looks = _looks("series", series)
    legend = _legend(series, symbolStrokeWidth=0) if points else _legend(series)
    if not points:
        looks["color"] = alt.Color("series:N", scale=alt.Scale(domain=list(series)), legend=legend)
    picked = alt.selection_point(fields=["series"], bind="legend")
    faded = alt.when(picked).then(alt.value(1.0)).otherwise(alt.value(0.15))
    base = alt.Chart(_data(rows))
    tooltip = [
        alt.Tooltip("series:N", title="series"),
        alt.Tooltip("x:Q", title=x_title, format=".6~g"),
        alt.Tooltip("interval:N", title=y_title),
    ]
    layers: list[alt.Chart] = []
    for way, at in rules:
        rule = alt.Chart(_data([{"at": at}])).mark_rule(strokeDash=[3, 3], opacity=0.6)
        place = alt.X("at:Q", title=x_title, scale=x_scale) if way == "x" else alt.Y("at:Q", **y_axis)
        layers.append(rule.encode(**{way: place}))
    dashes = alt.StrokeDash("series:N", scale=alt.Scale(domain=list(series)), legend=legend)
    low = alt.Y("low:Q", **y_axis)
    if points:
        layers.append(
            base.mark_rule(strokeWidth=1.5, clip=True).encode(
                x=x, y=low, y2="high:Q", color=looks["color"], opacity=faded, tooltip=tooltip
            )
        )
    elif any(row["high"] > row["low"] for row in rows):
        band = alt.when(picked).then(alt.value(0.2)).otherwise(alt.value(0.03))
        layers.append(base.mark_area(clip=True).encode(x=x, y=low, y2="high:Q", color=looks["color"], opacity=band))
    mean = alt.Y("mean:Q", **y_axis)
    line = base.mark_line(strokeWidth=1.8, clip=True).encode(
        x=x, y=mean, color=looks["color"], strokeDash=dashes, opacity=faded
    )
    layers.append(line if points else line.encode(tooltip=tooltip))
    if points:
        layers.append(
            base.mark_point(filled=True, size=50).encode(x=x, y=mean, opacity=faded, tooltip=tooltip, **looks)
        )
    layers[-1] = layers[-1].add_params(picked)
    return _sized(alt.layer(*layers), title, HEIGHT)


def bars(
    rows: Sequence[Mapping[str, Any]],
    *,
    title: str,
    x_title: str,
    y_title: str,
    series: Sequence[str],
    y_domain: tuple[float, float],
) -> Panel:
    """A group of bars at each x, one per series. A row: `series`, `x`, and the columns of `interval_row`."""
    several = len({row["x"] for row in rows}) < len(rows)
    x = alt.X("x:O", title=x_title, axis=alt.Axis(labelAngle=0, labelOverlap=True))
    beside: dict[str, Any] = {"xOffset": alt.XOffset("series:N", sort=list(series))} if several else {}
    looks = _looks("series", series)
    tooltip = [
        alt.Tooltip("series:N"),
        alt.Tooltip("x:O", title=x_title),
        alt.Tooltip("interval:N", title=y_title),
    ]
    base = alt.Chart(_data(rows)).encode(x=x, tooltip=tooltip, **beside)
    y_axis: dict[str, Any] = {"title": y_title, "scale": _scale(False, y_domain)}
    layers = [
        base.mark_bar(strokeWidth=1).encode(y=alt.Y("mean:Q", **y_axis), color=looks["color"]),
        base.mark_rule(strokeWidth=1.5, clip=True).encode(y=alt.Y("low:Q", **y_axis), y2="high:Q"),
    ]
    return _sized(alt.layer(*layers), title, HEIGHT)
