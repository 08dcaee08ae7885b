"""Figures for a paper: fonts, sizes, panels, lines and labels."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from conftest import Cli
from matplotlib.container import ErrorbarContainer
from wifair import InputError, Metric, Results, Scenario, ScenarioError, Sweep, compare, differences, plots
from wifair.report import on_paper
from wifair.report.layout import arranged, key_label
from wifair.study import Cell

RUN = {"warmup_s": 0.5, "duration_s": 1.0, "sample_interval_s": 0.25}
FLOWS = [{"count": 2, "direction": "down"}, {"count": 2, "direction": "up"}]
GRID = {"ap.scheme": ["droptail", "las"], "ap.limit_packets": [5, 20, 80], "wire.one_way_delay_ms": [1, 20]}
CHARTS = ("plot", "plot_flows", "plot_air", "plot_series")


@pytest.fixture(scope="module")
def grid() -> Results:
    """Two schemes, three buffers, two delays."""
    return Sweep({"run": RUN, "flows": FLOWS}, product=GRID, replications=2).run(threads=1)


@pytest.fixture(scope="module")
def schemes() -> Results:
    """Two schemes."""
    return compare(Scenario(run=RUN, flows=FLOWS), ["droptail", "las"], seeds=2, threads=1)


def cells(**axes: list[Any]) -> list[Cell]:
    scenario: Any = None
    names = [path.replace("__", ".") for path in axes]
    points = [dict(zip(names, values, strict=True)) for values in itertools.product(*axes.values())]
    return [Cell(str(point), scenario, point) for point in points]


@pytest.mark.whole
def test_a_figure_of_a_column_has_its_width_and_truetype_fonts(grid: Results, tmp_path: Path) -> None:
    data = grid.plot("jain", "total_mbps").save(tmp_path / "a" / "figure.pdf", width_in=3.5).read_bytes()
    [box] = re.findall(rb"/MediaBox \[ 0 0 ([\d.]+) ([\d.]+) \]", data)
    assert float(box[0]) == pytest.approx(3.5 * 72)
    assert b"/Subtype /Type3" not in data
    assert b"/FontFile2" in data  # TrueType, embedded
    assert grid.plot("jain").save(tmp_path / "figure.svg").read_text(encoding="utf-8").startswith("<?xml")
    assert grid.plot("jain").save(tmp_path / "figure.png").stat().st_size > 10_000


def test_figures_of_papers_have_truetype_fonts(tmp_path: Path) -> None:
    made, [axes] = plots.figure()
    plots.lines(axes, [1.0, 2.0], {"a": [[1.0, 2.0], [3.0, 2.0]]}, x_label="x", y_label="y")
    [path] = plots.save(made, tmp_path, "figure", ("pdf",))
    assert b"/Subtype /Type3" not in path.read_bytes()


@pytest.mark.parametrize("width_in", [3.5, 7.0])
def test_nothing_is_clipped_or_too_small(grid: Results, width_in: float) -> None:
    with plots.on_paper():
        made = on_paper.metrics(grid, ["jain", "ap_sojourn_mean_ms"], {})(width_in)
        plots.tidy(made)
        made.draw_without_rendering()
        inside = made.get_tightbbox()
        texts = [text for axes in made.axes for text in (axes.xaxis.label, axes.title, *axes.get_xticklabels())]
        texts += [text for legend in made.legends for text in legend.get_texts()]
    assert inside is not None
    assert inside.x0 >= -0.01
    assert inside.x1 <= width_in + 0.01
    assert min(float(text.get_fontsize()) for text in texts) >= 6.9
    assert [text.get_text() for text in made.legends[0].get_texts()] == ["droptail", "las"]


def test_long_names_of_scenarios_fit(schemes: Results) -> None:
    scenario: Any = schemes.cells[0].scenario
    cells = tuple(
        Cell(c.name, scenario, {"ap.scheme": c.name, "a.b": f"a long value of {c.name}", "same": 1})
        for c in schemes.cells
    )
    long = Results(cells, schemes.seeds, schemes.frames)
    with plots.on_paper():
        made = on_paper.metrics(long, ["jain_airtime"], {})(3.5)
        made.draw_without_rendering()
        inside = made.get_tightbbox()
    assert inside is not None
    assert inside.x1 <= 3.51
    assert [text.get_text() for text in made.axes[0].get_yticklabels()][1] == "las, a long value of las"


def test_names_of_several_lines_do_not_cover_each_other(schemes: Results) -> None:
    scenario: Any = schemes.cells[0].scenario
    cells = tuple(
        Cell(c.name, scenario, {"ap.scheme": c.name, "a.b": f"{c.name} and so on " * 4}) for c in schemes.cells
    )
    with plots.on_paper():
        made = on_paper.metrics(Results(cells, schemes.seeds, schemes.frames), ["jain_airtime"], {})(3.5)
        made.draw_without_rendering()
        upper, lower = (text.get_window_extent() for text in made.axes[0].get_yticklabels())
    assert upper.y0 >= lower.y1


def down_less_up(run: Results) -> float:
    """The goodput of downloads less that of uploads, which may be negative."""
    by_way = run.flows.group_by("direction").agg(pl.col("goodput_mbps").sum())
    ways = dict(by_way.iter_rows())
    return float(ways["down"] - ways["up"])


BIAS = Metric("bias", down_less_up, unit="Mbps")


def reach(results: Results, metric: str) -> float:
    """The lowest end of the intervals of a metric."""
    found = [results.interval(cell.name, metric) for cell in results.cells]
    return min(each.estimate if each.low is None else each.low for each in found)


def specs(results: Results, metric: str) -> list[dict[str, Any]]:
    """The panels of a chart of one metric."""
    chart: Any = results.plot(metric)
    found: list[dict[str, Any]] = chart.specs
    return found


def axes_of(spec: dict[str, Any], way: str) -> list[dict[str, Any]]:
    """The scales of the layers of a chart along one axis."""
    return [layer["encoding"][way]["scale"] for layer in spec["layer"] if layer["encoding"][way].get("scale")]


@pytest.mark.parametrize(("metric", "way"), [("collision_ratio", "x"), ("up_mbps", "y"), ("ap_sojourn_mean_ms", "y")])
def test_an_axis_of_what_cannot_be_negative_begins_at_zero(
    request: pytest.FixtureRequest, metric: str, way: str
) -> None:
    results: Results = request.getfixturevalue("schemes" if way == "x" else "grid")
    assert reach(results, metric) < 0, "an interval of two seeds is wide"
    made = on_paper.metrics(results, [metric], {})(7)
    assert {axes.get_xlim()[0] if way == "x" else axes.get_ylim()[0] for axes in made.axes} == {0}
    [spec] = specs(results, metric)
    assert all(scale["domainMin"] == 0 for scale in axes_of(spec, way))
    intervals = [layer["mark"] for layer in spec["layer"] if layer["mark"]["type"] == "rule"]
    assert intervals
    assert all(mark["clip"] for mark in intervals)


def test_an_axis_of_what_can_be_negative_shows_all(grid: Results, schemes: Results) -> None:
    mine = grid.with_metrics(BIAS), schemes.with_metrics(BIAS)
    assert all(reach(results, "bias") < 0 for results in mine)
    over_grid, by_name = (on_paper.metrics(results, ["bias"], {})(7) for results in mine)
    assert min(axes.get_ylim()[0] for axes in over_grid.axes) < reach(mine[0], "bias")
    assert by_name.axes[0].get_xlim()[0] < reach(mine[1], "bias")
    assert not any("domainMin" in scale for scale in axes_of(specs(mine[1], "bias")[0], "x"))
    assert not any("domainMin" in scale for scale in axes_of(specs(mine[0], "bias")[0], "y"))
    rows = [row for row in differences(schemes, ["collision_ratio"]) if row["ci_low"] < 0]
    made = on_paper.differences(rows, {})(7)
    assert made.axes[0].get_xlim()[0] < min(row["ci_low"] for row in rows)


def names_below(axes: Any) -> list[str]:
    """The names of the ticks, which must not cover each other."""
    axes.figure.draw_without_rendering()
    texts = axes.get_xticklabels()
    boxes = [text.get_window_extent() for text in texts]
    assert all(one.x1 <= other.x0 for one, other in itertools.pairwise(boxes))
    assert min(float(text.get_fontsize()) for text in texts) >= 6.9
    return [text.get_text() for text in texts]


def test_bars_have_the_names_of_their_flows(schemes: Results) -> None:
    with plots.on_paper():
        made = on_paper.flows(schemes)(3.5)
        named = [names_below(axes) for axes in made.axes]
    assert named == [["up-1", "up-2", "down-1", "down-2"]] * 2


@pytest.mark.parametrize(
    ("sizes", "names"),
    [
        ({"film": 1, "the-far-download": 1}, ["film", "the-far-download"]),
        (
            {"reading": 10, "a-long-download": 10},
            [f"{n}-{i}" for n in ("reading", "a-long-download") for i in range(10)],
        ),
        ({"reading": 30, "a-long-download": 30}, ["reading", "a-long-download"]),
        ({"photographs": 2, "reading": 30, "reading-outside": 8}, ["photographs", "reading", "reading-outside"]),
        ({f"flat-{i}": 1 for i in range(100)}, ["1", *map(str, range(5, 101, 5))]),
    ],
    ids=["level", "upright", "groups", "groups upright", "numbers"],
)
def test_many_bars_have_the_names_of_groups_or_numbers(sizes: dict[str, int], names: list[str]) -> None:
    flows = [(f"{group}-{i}" if size > 1 else group, group) for group, size in sizes.items() for i in range(size)]
    with plots.on_paper():
        _, [axes] = plots.figure_in(3.5)
        values = [[1.0, 2.0]] * len(flows)
        plots.flow_shares(axes, values, len(flows), title="t", x_label="Flow", y_label="y", flows=flows)
        found = [text.get_text() for text in axes.get_xticklabels()] if "100" in names else names_below(axes)
    assert found == names


def test_every_line_has_intervals_axes_have_units_and_an_index_ends_at_one(grid: Results) -> None:
    made = on_paper.metrics(grid, ["jain", "total_mbps"], {})(3.5)
    first, *_, last = made.axes
    assert first.get_ylabel() == "Jain's index"
    assert last.get_ylabel() == "Total goodput [Mbps]"
    assert last.get_xlabel() == "AP limit [packets]"
    assert [axes.get_title() for axes in made.axes] == ["One way delay = 1 ms", "One way delay = 20 ms"] * 2
    for axes in made.axes:
        bars = [found for found in axes.containers if isinstance(found, ErrorbarContainer)]
        assert len(bars) == 2
        assert all(found.has_yerr for found in bars)
        styles = {(bar[0].get_marker(), str(bar[0].get_linestyle())) for bar in bars}
        assert len(styles) == 2  # told apart in grey
    tops = [segment[:, 1].max() for bar in first.containers for segment in bar[2][0].get_segments()]
    assert max(tops) <= 1.0


def test_a_panel_has_at_most_six_lines() -> None:
    names = [f"scheme-{i}" for i in range(8)]
    layout = arranged(cells(ap__scheme=names, ap__limit_packets=[10, 20, 30]), {})
    assert layout is not None
    assert [list(panel.lines) for panel in layout.panels] == [names[:4], names[4:]]
    assert layout.is_split
    whole = arranged(cells(ap__scheme=names[:6], ap__limit_packets=[10, 20, 30]), {})
    assert whole is not None
    assert [len(panel.lines) for panel in whole.panels] == [6]


def test_the_grid_chooses_x_lines_and_panels() -> None:
    mine = cells(ap__scheme=["a", "b"], ap__limit_packets=[10, 20, 30], wire__one_way_delay_ms=[1, 2])
    labels = {"ap.limit_packets": "Buffer [packets]", "a": "ours", "2": "two"}
    layout = arranged(mine, labels)
    assert layout is not None
    assert (layout.x_label, list(layout.xs)) == ("Buffer [packets]", [10.0, 20.0, 30.0])
    assert [panel.title for panel in layout.panels] == ["One way delay = 1 ms", "One way delay = two ms"]
    assert list(layout.panels[0].lines) == ["ours", "b"]
    other = arranged(mine, labels, x="wire.one_way_delay_ms", lines="ap.limit_packets")
    assert other is not None
    assert list(other.panels[0].lines) == [f"Buffer = {size} packets" for size in (10, 20, 30)]
    assert [panel.title for panel in other.panels] == ["ours", "b"]
    with pytest.raises(InputError, match=r"x: there is no numeric coordinate 'ap.scheme'"):
        arranged(mine, {}, x="ap.scheme")
    with pytest.raises(InputError, match=r"lines: there is no coordinate 'ap.scheem'. Did you mean ap.scheme"):
        arranged(mine, {}, lines="ap.scheem")
    assert arranged(cells(ap__scheme=["a", "b"]), {}) is None
    with pytest.raises(InputError, match="need a key with numbers"):
        arranged(cells(ap__scheme=["a", "b"]), {}, lines="ap.scheme")


def test_keys_that_vary_together_are_one_coordinate() -> None:
    scenario: Any = None
    points = [{"ap.scheme": s, "flows[0].count": n, "flows[1].count": n} for s in ("a", "b") for n in (2, 5)]
    layout = arranged([Cell(str(point), scenario, point) for point in points], {})
    assert layout is not None
    assert layout.x_label == "Flows[0] count"
    assert len(layout.panels) == 1
    assert key_label("station.velocity_m_per_s", {}) == "Velocity [m/s]"
    assert key_label("bss[ap-3].channel", {}) == "Channel of ap-3"
    assert key_label("stations[phone].rate_mbps", {}) == "Rate of phone [Mbps]"
    assert key_label("flows[0].count", {}) == "Flows[0] count"


@pytest.mark.whole
@pytest.mark.parametrize("chart", CHARTS)
def test_every_chart_of_results_is_saved(schemes: Results, chart: str, tmp_path: Path) -> None:
    path = getattr(schemes, chart)().save(tmp_path / f"{chart}.svg", width_in=7)
    assert path.stat().st_size > 5000


@pytest.mark.whole
def test_differences_are_saved(schemes: Results, tmp_path: Path) -> None:
    text = differences(schemes).plot({"las": "ours"}).save(tmp_path / "d.svg", width_in=7)
    assert text.stat().st_size > 5000


def test_figures_that_cannot_be_are_refused(grid: Results, tmp_path: Path) -> None:
    chart = grid.plot("jain")
    with pytest.raises(InputError, match=r"unknown format of a figure: 'eps'\. Allowed here: pdf, svg, png"):
        chart.save(tmp_path / "figure.eps")
    with pytest.raises(InputError, match=r"width_in: 0\.5 is not allowed"):
        chart.save(tmp_path / "figure.pdf", width_in=0.5)
    with pytest.raises(InputError, match="cannot be written"):
        chart.save("/proc/none/figure.pdf")
    with pytest.raises(InputError, match="labels: 3 is no text"):
        grid.plot("jain", labels={"las": 3})  # type: ignore[dict-item]
    with pytest.raises(InputError, match="too many for a figure"):
        on_paper.metrics(grid, list(grid.units)[:14], {})


STUDY = """
replications = 2
metrics = ["jain"]
[scenario]
run = { warmup_s = 0.5, duration_s = 0.5 }
flows = [{ direction = "down" }, { direction = "up" }]
[product]
ap.scheme = ["droptail", "las"]
ap.limit_packets = [5, 50]
[labels]
ap.limit_packets = "Buffer [packets]"
las = "ours"
"""


def test_a_sweep_draws_its_figure(tmp_path: Path, here: Cli) -> None:
    study = tmp_path / "study.toml"
    study.write_text(STUDY, encoding="utf-8")
    done = here(
        "sweep", str(study), "--store", str(tmp_path / "store"), "--figure", str(tmp_path / "f.pdf"), "--width-in", "4"
    )
    assert done.returncode == 0, done.stderr
    assert "the figure is in" in done.stderr
    assert b"/MediaBox [ 0 0 288 " in (tmp_path / "f.pdf").read_bytes()
    assert Sweep.from_toml(study).labels == {"ap.limit_packets": "Buffer [packets]", "las": "ours"}
    wrong = here("sweep", str(study), "--store", str(tmp_path / "none"), "--figure", str(tmp_path / "f.eps"))
    assert wrong.returncode == 2
    assert "Allowed here: pdf, svg, png" in wrong.stderr
    assert not (tmp_path / "none").exists()  # refused before the first run
    alone = here("sweep", str(study), "--width-in", "4")
    assert alone.returncode == 2
    assert "--width-in: has no effect without --figure" in alone.stderr
    study.write_text(STUDY.replace('"ours"', "3"), encoding="utf-8")
    with pytest.raises(ScenarioError, match=r"labels\.las"):
        Sweep.from_toml(study)


@pytest.mark.whole
def test_a_study_and_the_command_choose_x_and_lines(tmp_path: Path, here: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    study, drawn = tmp_path / "study.toml", list[tuple[str, list[str]]]()
    over_grid = on_paper._over_grid

    def spied(*arguments: Any) -> Any:
        layout = arguments[3]
        drawn.append((layout.x_label, list(layout.panels[0].lines)))
        return over_grid(*arguments)

    monkeypatch.setattr(on_paper, "_over_grid", spied)
    grid = STUDY.replace("[labels]", "wire.rate_mbps = [50, 100]\n[labels]")
    own = '[figure]\nx = "wire.rate_mbps"\nlines = "ap.limit_packets"\n'
    call = ("sweep", str(study), "--store", str(tmp_path / "store"), "--figure", str(tmp_path / "f.png"))
    study.write_text(grid)
    assert here(*call).returncode == 0  # a tie: the first of the grid
    study.write_text(grid + own)
    assert here(*call).returncode == 0
    assert here(*call, "--x", "ap.limit_packets", "--lines", "ap.scheme").returncode == 0
    assert drawn == [
        ("Buffer [packets]", ["droptail", "ours"]),
        ("Rate [Mbps]", ["Buffer = 5 packets", "Buffer = 50 packets"]),
        ("Buffer [packets]", ["droptail", "ours"]),
    ]
    assert "--lines: has no effect without --figure" in here("sweep", str(study), "--lines", "ap.scheme").stderr
    assert "Allowed here: ap.limit_packets, wire.rate_mbps" in here(*call, "--x", "ap.scheme").stderr
    study.write_text(grid + own.replace("ap.limit", "ap.limti"))
    assert "figure.lines: 'ap.limti_packets' is not varied; did you mean ap.limit_packets?" in here(*call).stderr
    study.write_text(grid + own.replace("lines", "line"))
    assert "did you mean lines?" in here(*call).stderr


@pytest.mark.parametrize(
    ("wrong", "right"), [("ap.limit_packet", "ap.limit_packets"), ("jian", "jain"), ("lsa", "las")]
)
def test_labels_of_nothing_are_refused(wrong: str, right: str) -> None:
    base = {"flows": FLOWS, "run": RUN}
    with pytest.raises(ScenarioError, match=rf"labels\.{wrong}: labels nothing.*did you mean {right}\?"):
        Sweep(base, product=GRID, labels={wrong: "text"})
    known = {"ap.limit_packets": "a", "las": "b", "80": "c", "jain": "d", "mac80211": "e", "Gentle": "f"}
    assert Sweep(base, product=GRID, labels=known).labels == known


@pytest.mark.whole
def test_panels_are_side_by_side_where_the_width_allows(grid: Results) -> None:
    def places(width_in: float, names: list[str], lines: str) -> list[tuple[int, int]]:
        made = on_paper.metrics(grid, names, {}, "wire.one_way_delay_ms", lines)(width_in)
        return [plots._place(axes) for axes in made.axes]

    three = ["jain", "total_mbps"], "ap.scheme"  # a panel for each of three buffers
    assert places(3.5, *three) == [(row, 0) for row in range(6)]
    assert places(5, *three) == [(0, 0), (0, 1), (1, 0), (2, 0), (2, 1), (3, 0)]
    assert places(7, *three) == [(row, column) for row in range(2) for column in range(3)]
    assert places(7, ["jain"], "ap.limit_packets") == [(0, 0), (0, 1)]


@pytest.mark.whole
def test_a_figure_that_is_too_tall_says_what_to_do(grid: Results, tmp_path: Path) -> None:
    names = ["jain", "jain_airtime", "total_mbps", "up_mbps"]
    with pytest.warns(UserWarning, match=r"inches tall; a page has 9\. Make it wider .* or draw fewer panels"):
        grid.plot(*names).save(tmp_path / "tall.png")
    grid.plot(*names).save(tmp_path / "wide.png", width_in=7)


def test_numbers_are_written_alike_on_ticks_in_titles_and_legends() -> None:
    mine = cells(ap__limit_packets=[100, 1000, 20000], wire__rate_mbps=[0.5, 1000])
    layout = arranged(mine, {}, lines="wire.rate_mbps")
    assert layout is not None
    assert list(layout.panels[0].lines) == ["Rate = 0.5 Mbps", "Rate = 1,000 Mbps"]
