"""The report as a reader meets it: one file, opened in a browser that has no network."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from conftest import ROOT, Cli
from wifair import InputError, Scenario, Sweep, compare, differences, plots
from wifair.analysis.comparison import decided, rankings
from wifair.papers import Asked, find
from wifair.report import charts, figures, measured, page, rendering
from wifair.report.paper import of_paper
from wifair.report.parts import Cell as TableCell
from wifair.report.parts import Chart, Facts, Findings, Report, Section, Table, Text, Verdicts, cell
from wifair.report.scenario import of_scenario
from wifair.report.study import of_study
from wifair.stats import Interval, t_interval
from wifair.study import Cell, Study

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

browser_needed = pytest.mark.needs("chromium")


class Opened:
    """A page, and all that it said or asked for while it was opened."""

    def __init__(self, browser: Browser, path: Path, **settings: Any) -> None:
        self.said: list[str] = []
        self.asked: list[str] = []
        context = browser.new_context(offline=True, **settings)
        context.set_default_timeout(120_000)  # a busy machine opens a page in more than Playwright's 30 s
        self.page: Page = context.new_page()
        self.page.on("console", lambda message: self.said.append(f"{message.type}: {message.text}"))
        self.page.on("pageerror", lambda error: self.said.append(f"error: {error}"))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(path.as_uri())
        self.drawn: int = self.page.evaluate("window.wifairDrawn")


SETTINGS: dict[str, Any] = {
    "run": {"warmup_s": 1, "duration_s": 4, "sample_interval_s": 1},
    "ap": {"scheme": "droptail", "limit_packets": 20},
    "flows": [{"count": 2, "direction": "up"}, {"direction": "down"}],
}
COMMAND = ["report", "cell.toml", "--schemes", "droptail,adaptive-pushout"]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two schemes compared."""
    folder = tmp_path_factory.mktemp("report")
    source = folder / "cell.toml"
    source.write_text('# <script>alert("no")</script>\n[ap]\nlimit_packets = 20\n')
    scenario = Scenario(**SETTINGS)
    cells = [Cell(name, scenario.override({"ap.scheme": name})) for name in ("droptail", "adaptive-pushout")]
    results = Study(cells, 4).run()
    compared = decided(results)
    made = of_scenario("Two & <two>", source, scenario, results, COMMAND, compared)
    return page.write(made, folder / "report.html")


def test_a_report_names_no_address_to_fetch_from(report: Path) -> None:
    text = re.sub(r"<script>.*?</script>", "", report.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert not re.findall(r"<(?:script|link|img|iframe)[^>]+(?:src|href)=[\"']?(?!data:)[^\"'>\s]+", text)
    assert not re.findall(r"url\((?!['\"]?data:)[^)]+\)", text)
    assert "@import" not in text


def test_a_report_says_how_to_run_it_again(report: Path) -> None:
    from wifair import _native

    text = report.read_text(encoding="utf-8")
    assert "wifair report cell.toml --schemes droptail,adaptive-pushout" in text
    assert _native.engine() in text
    assert "1 to 4" in text
    assert "Two &amp; &lt;two&gt;" in text
    assert "&lt;script&gt;alert(&#34;no&#34;)" in text
    assert 'alert("no")' not in text


@browser_needed
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_report_opens_without_network_and_draws(report: Path, browser: Browser, scheme: str) -> None:
    opened = Opened(browser, report, color_scheme=scheme, viewport={"width": 1280, "height": 900})
    assert opened.said == []
    assert opened.asked == [report.as_uri()]
    charts = opened.page.locator(".panel svg.marks")
    assert charts.count() == opened.drawn > 10
    # What is drawn has ink: marks in every chart, and none of them in the colour of the page.
    marks = opened.page.evaluate(
        """[...document.querySelectorAll('.panel svg.marks')].map(
            (svg) => [...svg.querySelectorAll('.mark-symbol path, .mark-rect path, .mark-line path')]
                .map((mark) => getComputedStyle(mark)[mark.closest('.mark-line') ? 'stroke' : 'fill']))"""
    )
    paper = opened.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert paper == ("rgb(255, 255, 255)" if scheme == "light" else "rgb(15, 19, 24)")
    assert all(colours and paper not in colours for colours in marks)


@browser_needed
def test_a_tooltip_tells_mean_and_interval(report: Path, browser: Browser) -> None:
    opened = Opened(browser, report, viewport={"width": 1280, "height": 900})
    flows = opened.page.locator("#flows .panel").first
    flows.scroll_into_view_if_needed()
    flows.locator(".mark-symbol path[aria-label*='goodput']").last.hover(force=True)
    tooltip = opened.page.locator("#vg-tooltip-element")
    tooltip.wait_for(state="visible")
    told = tooltip.inner_text()
    assert "down" in told
    assert re.search(r"goodput \[Mbps of payload\]\W+[\d.]+ \[[\d.-]+, [\d.]+\]", told)


@browser_needed
def test_a_click_sorts_a_table_and_the_theme_changes(report: Path, browser: Browser) -> None:
    opened = Opened(browser, report, color_scheme="light", viewport={"width": 1280, "height": 900})
    table = opened.page.locator("#in-short table")
    total = table.locator("th", has_text="total")

    def column() -> list[float]:
        return [float(text.split()[0]) for text in table.locator("td:nth-child(5)").all_inner_texts()]

    total.click()
    assert column() == sorted(column())
    total.click()
    assert column() == sorted(column(), reverse=True)
    assert len(set(column())) > 1
    opened.page.locator("#theme").click()
    assert opened.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(15, 19, 24)"


@browser_needed
@pytest.mark.parametrize("width", [400, 1200])
def test_labels_of_ticks_are_at_their_ticks_and_whole(browser: Browser, tmp_path: Path, width: int) -> None:
    """Those at the ends of an axis were moved inwards."""
    means = [
        (name, Interval(mean, mean - 0.4, mean + 0.4, 12)) for name, mean in (("as it is", 98.5), ("changed", 101.5))
    ]
    runs = [(name, seed, found.estimate + seed / 10) for name, found in means for seed in range(-5, 6)]
    panel = charts.by_name(means, runs, title="total", x_title="Mbps")
    path = tmp_path / "chart.html"
    page.write(Report("mine", "", [Section("One", [Chart([panel], "")])]), path)
    opened = Opened(browser, path, viewport={"width": width, "height": 800})
    found = opened.page.evaluate(
        """[...document.querySelectorAll('.panel svg.marks')].flatMap((svg) => {
            const ends = svg.getBoundingClientRect(), axis = [...svg.querySelectorAll('.role-axis')].find((e) => e.textContent.includes('Mbps'));
            return [...axis.querySelectorAll('.role-axis-label text')].map((e) => [e.getAttribute('text-anchor'), e.getBoundingClientRect(), ends])
                .map(([anchor, at, ends]) => [anchor, at.left >= ends.left - 0.5 && at.right <= ends.right + 0.5]);
        })"""
    )
    assert len(found) > 2
    assert found == [["middle", True]] * len(found)


@browser_needed
def test_a_report_fits_a_telephone(report: Path, browser: Browser) -> None:
    opened = Opened(browser, report, viewport={"width": 390, "height": 800})
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= 390
    assert all(
        width <= 390
        for width in opened.page.evaluate(
            "[...document.querySelectorAll('.panel svg.marks')].map((s) => s.clientWidth)"
        )
    )


@browser_needed
def test_verdicts_are_narrowed_to_one(tmp_path: Path, browser: Browser) -> None:
    claim: dict[str, Any] = {
        "section": "I",
        "figure": None,
        "statement": "a < b",
        "reading": "r",
        "unit": "Mbps",
        "why": "w",
    }
    claim |= {"published": 1.0, "measured": 2.0, "ci_low": 1.0, "ci_high": 3.0}
    verdicts = Verdicts([{**claim, "id": word, "verdict": word} for word in ("reproduced", "trend only", "reproduced")])
    assert verdicts.counts == [("reproduced", "reproduced", 2), ("trend only", "trend-only", 1)]
    made = Report("t", "l", [Section("Every claim", [verdicts])], badges=verdicts.counts)
    opened = Opened(browser, page.write(made, tmp_path / "v.html"))
    assert opened.said == []
    rows = opened.page.locator(".verdicts tbody tr:visible")
    assert rows.count() == 3
    opened.page.locator("header .badge", has_text="trend only").click()
    assert rows.count() == 1
    opened.page.locator("header .badge", has_text="trend only").click()
    assert rows.count() == 3


def test_a_study_of_one_scheme_over_sizes_is_a_line() -> None:
    sweep = Sweep(SETTINGS, title="sizes", product={"ap.limit_packets": [5, 50], "ap.scheme": ["droptail", "las"]})
    results = sweep.study().run()
    made = of_study("sizes", results, ("jain", "total_mbps"), ["report", "sizes.toml"])
    charts = [part for part in made.sections[0].parts if isinstance(part, Chart)]
    lines = charts[0].specs[0]
    rows = next(iter(lines["datasets"].values())) if "datasets" in lines else lines["layer"][0]["data"]["values"]
    assert {(row["x"], row["series"]) for row in rows} == {(5, "droptail"), (5, "las"), (50, "droptail"), (50, "las")}
    grid = next(part for section in made.sections for part in section.parts if isinstance(part, Table))
    assert list(grid.headings[:2]) == ["ap.limit_packets", "ap.scheme"]
    assert len(grid.rows) == 4


def test_a_ranking_names_who_cannot_be_told_apart() -> None:
    scenario = Scenario(**SETTINGS)
    same = [
        Cell(name, scenario.override({"ap.limit_packets": size})) for name, size in (("a", 20), ("b", 20), ("c", 3))
    ]
    results = Study(same, 6).run()
    found = rankings(results)["ap_sojourn_mean_ms"]
    assert found.leaders == ("c",)
    assert [name for name, _ in found.behind] == ["a", "b"]
    assert all(margin.low is not None and margin.low > 0 for _, margin in found.behind)
    without_c = rankings(Study(same[:2], 6).run())["ap_sojourn_mean_ms"]
    assert set(without_c.leaders) == {"a", "b"}
    assert without_c.behind == ()
    (table,) = measured.summary(results, ["ap_sojourn_mean_ms", "jain"])
    assert isinstance(table, Table)
    assert [row[1].badge for row in table.rows] == ["", "", "best"]


@pytest.mark.parametrize(
    ("value", "text", "key"),
    [
        (Interval(0.46381, 0.42481, 0.50281, 5), "0.464 ± 0.039", 0.46381),
        (Interval(89950.0, 89530.0, 90370.0, 5), "89950 ± 420", 89950.0),
        (Interval(2.0, 2.0, 2.0, 5, identical=True), "2", 2.0),
        (Interval(2.0, None, None, 1), "2 (n/a)", 2.0),
        (Interval(float("nan"), None, None, 0), "–", float("-inf")),
        (None, "–", float("-inf")),
        ("name", "name", "name"),
        (3, "3", 3),
    ],
)
def test_cells(value: object, text: str, key: object) -> None:
    made = cell(value)
    assert (made.text, made.key) == (text, key)


def test_delay_is_told_where_there_is_any() -> None:
    flows: list[dict[str, Any]] = [{"direction": "up"}, {"name": "call", "direction": "down", "application": "voip"}]
    flows.append({"name": "ping", "direction": "up", "application": "ping"})
    scenario = Scenario(**{**SETTINGS, "flows": flows})
    cells = [Cell(str(size), scenario.override({"ap.limit_packets": size})) for size in (3, 30)]
    results = Study(cells, 3).run()
    found = {section.title: section.parts for section in measured.sections(results)}
    (table,) = found["Datagrams"]
    assert isinstance(table, Table)
    assert {row[1].text for row in table.rows} == {"call", "ping"}
    (findings,) = [part for part in found["In short"] if isinstance(part, Findings)]
    assert any("answers pings soonest: 95 % within" in sentence for sentence in findings.sentences)
    assert "ping_p95_ms" in measured.told_metrics(results)
    assert "ping_p95_ms" not in measured.told_metrics(Scenario(**SETTINGS).run(1))


def test_fragments_stand_alone_and_are_escaped() -> None:
    made = rendering.fragment(Table.of(("a", "b"), [["<i>", 1.5]]), Text(["`x` & y"]))
    assert "&lt;i&gt;" in made
    assert "<code>x</code> &amp; y" in made
    assert "<style>" in made
    assert "<html" not in made


@browser_needed
def test_a_notebooks_own_rules_do_not_print_cells_over_each_other(browser: Browser) -> None:
    """JupyterLab has tables of equally wide columns, and terms that float."""
    lab = ".host table { table-layout: fixed; } .host td { text-overflow: clip; } .host dt { float: left; width: 20%; display: block; }"
    numbers = [cell(Interval(0.00123456 * i, 0.001 * i, 0.0014 * i, 5).short()) for i in range(1, 13)]
    made = rendering.fragment(
        Table.of(("scenario", *(f"metric {i}" for i in range(12))), [["a scenario with a long name", *numbers]]),
        Facts({"replications": "40", "seeds": "1 to 5"}),
    )
    shown = browser.new_page(viewport={"width": 900, "height": 600})
    shown.set_content(f"<style>{lab}</style><div class='host'>{made}</div>")
    overlapping = """[...document.querySelectorAll('td, dt, dd')].filter((e) => e.scrollWidth > e.clientWidth + 1).length
        + [...document.querySelectorAll('dd')].filter((e) => e.offsetTop < e.previousElementSibling.offsetTop + 5).length"""
    assert shown.evaluate(overlapping) == 0
    shown.close()


def test_the_command_writes_a_report(here: Cli, short: Path) -> None:
    out = short.parent / "out" / "short.html"
    done = here("report", short, "--schemes", "droptail,las", "--seeds", "2", "--out", out)
    assert done.returncode == 0, done.stderr
    assert f"the report is in {out}" in done.stderr
    text = out.read_text(encoding="utf-8")
    specs = re.findall(r'<script type="application/json">(.*?)</script>', text)
    assert len(specs) > 8
    assert all("$schema" in json.loads(spec) for spec in specs)
    assert f"wifair report {short} --schemes droptail,las --seeds 2 --out {out}" in text


def test_a_scheme_of_a_file_comes_with_its_source(here: Cli, short: Path) -> None:
    out, scheme = short.parent / "own.html", ROOT / "examples" / "adaptive_pushout.py"
    done = here("report", short, "--schemes", f"droptail,{scheme}:AdaptivePushout", "--seeds", "1", "--out", out)
    assert done.returncode == 0, done.stderr
    text = out.read_text(encoding="utf-8")
    assert html.escape(scheme.read_text(encoding="utf-8").splitlines()[0]).replace("&quot;", "&#34;") in text


def test_the_command_takes_a_study_from_its_file_and_from_the_store(here: Cli, tmp_path: Path) -> None:
    study, store = ROOT / "scenarios" / "studies" / "buffer-sizes.toml", tmp_path / "store"
    tiny = ["--set", "run.warmup_s=0.2", "--set", "run.duration_s=0.5"]
    done = here("report", study, *tiny, "--store", store, "--out", tmp_path / "a.html")
    assert done.returncode == 0, done.stderr
    done = here("report", "--study", "buffer sizes", "--store", store, "--out", tmp_path / "b.html")
    assert done.returncode == 0, done.stderr
    assert "ap.limit_packets" in (tmp_path / "b.html").read_text(encoding="utf-8")
    done = here("report", "--study", "bufer sizes", "--store", store)
    assert done.returncode == 2
    assert "Did you mean buffer sizes?" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "one of FILE.toml, --paper ID, --study TITLE"),
        (["x.toml", "--paper", "alt"], "one of FILE.toml"),
        (["x.toml"], "cannot be read"),
        (["--paper", "adaptive-pushuot"], "Did you mean adaptive-pushout?"),
        (["--paper", "alt", "--schemes", "las"], "--schemes: has no effect on the report of a paper"),
        (["--study", "x", "--seeds", "3"], "--seeds: has no effect"),
    ],
)
def test_what_cannot_be_reported_is_refused(here: Cli, arguments: list[str], message: str) -> None:
    done = here("report", *arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def rows_of(panel: Any) -> list[dict[str, Any]]:
    """The data behind a panel's means."""
    told = panel.to_dict()
    rows: list[dict[str, Any]] = max(
        (values for values in told["datasets"].values()) if "datasets" in told else ([],), key=len
    )
    return rows or next(layer["data"]["values"] for layer in reversed(told["layer"]) if "data" in layer)


def test_a_figure_is_read_back_as_it_was_drawn() -> None:
    series = {"a": [[1.0, 2.0, 3.0], [4.0, 4.0, 4.0]], "b": [[5.0, 6.0, 7.0], [float("nan")] * 3]}
    made, (axes,) = plots.figure()
    plots.lines(axes, [10.0, 100.0], series, x_label="x [packets]", y_label="y [ms]")
    axes.set_xscale("log")
    axes.axhline(2.5)
    (panel,) = figures.panels(made) or []
    rows = {(row["series"], row["x"]): row for row in rows_of(panel)}
    expected = t_interval([1.0, 2.0, 3.0])
    assert set(rows) == {("a", 10), ("a", 100), ("b", 10)}
    assert rows["a", 10]["mean"] == 2.0
    assert rows["a", 10]["low"] == pytest.approx(expected.low)
    assert rows["a", 10]["high"] == pytest.approx(expected.high)
    assert rows["a", 100]["low"] == rows["a", 100]["high"] == 4.0
    told = json.dumps(panel.to_dict())
    assert '"type": "log"' in told
    assert "x [packets]" in told
    assert '"at": 2.5' in told


def test_bars_and_courses_are_read_back_and_what_is_unknown_is_not() -> None:
    made, (bars, course) = plots.figure(2)
    plots.flow_shares(bars, [[1.0, 3.0], [5.0, 5.0]], 1, title="t", x_label="Flow", y_label="y")
    plots.courses(course, [0.0, 1.0], {"s": [[1.0, 2.0], [3.0, 2.0]]}, x_label="t [s]", y_label="y", events={"e": 0.5})
    first, second = figures.panels(made) or []
    assert [(row["series"], row["x"], row["mean"]) for row in rows_of(first)] == [
        ("uplink flows", 1, 2.0),
        ("downlink flows", 2, 5.0),
    ]
    assert [(row["series"], row["x"], row["mean"]) for row in rows_of(second)] == [("s", 0.0, 2.0), ("s", 1.0, 2.0)]
    ends = t_interval([1.0, 3.0])
    assert rows_of(second)[0]["low"] == pytest.approx(ends.low)
    made, (axes,) = plots.figure()
    axes.stackplot([0, 1], [[1, 2], [3, 4]], labels=["a", "b"])
    assert figures.panels(made) is None
    assert figures.panels(plots.figure()[0]) is None


def test_a_paper_becomes_a_report() -> None:
    paper = find("arf-aware-tcp")
    found = paper.reproduce(Asked("quick", "2", 2, 1))
    made = of_paper("arf-aware-tcp", paper, found, ["report", "--paper", "arf-aware-tcp"])
    assert made.title == paper.TITLE
    parts = {section.title: section.parts for section in made.sections}
    assert any(
        isinstance(part, Verdicts) and len(part.judgements) == len(found.judgements) for part in parts["Every claim"]
    )
    chart = parts["Figure 2"][0]
    assert isinstance(chart, Chart)
    assert len(chart.panels) == 2
    source = parts["In short"][0]
    assert isinstance(source, Text)
    assert "S. Yoo" in " ".join(source.paragraphs)
    assert "badge" in found._repr_html_()


def test_a_terminal_shows_a_table_and_findings_as_text() -> None:
    of_two = Table.of(
        ("scenario", "total\nMbps", "loss ratio\nratio"),
        [["a", TableCell("2", 2.0, "best"), "–"], ["b", 1.5, "–"]],
        "A caption.",
    )
    assert f"{of_two}".splitlines() == [
        "A caption.",
        "",
        "| scenario | total, Mbps | loss ratio |",
        "| --- | --- | --- |",
        "| a | **2** | – |",
        "| b | 1.5 | – |",
    ]
    assert f"{Findings(['One.', 'Two.'])}" == "One.\nTwo."


def labels_of(axes: Any) -> list[str]:
    legend = axes.get_legend()
    return [text.get_text() for text in legend.get_texts()] if legend else []


def test_panels_that_share_series_have_one_legend_and_one_y_label(tmp_path: Path) -> None:
    made, panels = plots.figure(4, columns=2)
    for axes, label in zip(panels, ("a [s]", "a [s]", "b [s]", "c [s]"), strict=True):
        plots.lines(axes, [1.0, 2.0], {"x": [[1.0, 2.0], [3.0, 2.0]], "y": [[2.0], [3.0]]}, x_label="x", y_label=label)
    paths = plots.save(made, tmp_path, "figure", ("png", "svg", "pdf"))
    assert [path.name for path in paths] == ["figure.png", "figure.svg", "figure.pdf"]
    assert all(path.stat().st_size > 1000 for path in paths)
    assert [labels_of(axes) for axes in panels] == [[]] * 4
    assert [text.get_text() for text in made.legends[0].get_texts()] == ["x", "y"]
    assert [axes.get_ylabel() for axes in panels] == ["a [s]", "", "b [s]", "c [s]"]


@pytest.mark.parametrize("others", [["z"], ["y", "x"]], ids=["nothing is shared", "one look has two meanings"])
def test_legends_stay_with_panels_that_differ(others: list[str], tmp_path: Path) -> None:
    made, panels = plots.figure(2)
    for axes, names in zip(panels, (["x", "y"], others), strict=True):
        plots.lines(axes, [1.0], {name: [[1.0, 2.0]] for name in names}, x_label="x", y_label="a")
    plots.save(made, tmp_path, "figure")
    assert not made.legends
    assert [labels_of(axes) for axes in panels] == [["x", "y"], others]


def test_results_plot_themselves() -> None:
    sweep = Sweep(SETTINGS, product={"ap.scheme": ["droptail", "las"], "ap.limit_packets": [5, 10]}, replications=2)
    results = sweep.run()
    chart: Any = results.plot("jain", "total_mbps")
    titles = [spec["title"] for spec in chart.specs]
    assert titles == ["Jain's index", "total goodput"]
    assert "image/png" in chart._repr_mimebundle_()
    by_scenario: Any = compare(Scenario(**SETTINGS), ["droptail", "las"], seeds=2)
    assert [spec["title"] for spec in by_scenario.plot("up_mbps").specs] == ["goodput up"]
    assert len(by_scenario.plot_flows().panels) == 2
    assert len(by_scenario.plot_air().panels) == 1
    assert by_scenario.findings().sentences
    found: Any = differences(by_scenario, ["jain"])
    assert [spec["title"] for spec in found.plot().specs] == ["Jain's index"]
    with pytest.raises(InputError, match=r"no metric 'jane'\. Did you mean jain"):
        results.plot("jane")
    with pytest.raises(InputError, match=r"time series need run\.sample_interval_s"):
        Scenario(**{**SETTINGS, "run": {"warmup_s": 1, "duration_s": 1}}).run(1).plot_series()
    with pytest.raises(InputError, match="no pair was compared"):
        differences(Scenario(**SETTINGS).run(seeds=2)).plot()


def test_former_helpers_warn() -> None:
    from wifair.report import study

    with pytest.warns(DeprecationWarning, match=r"use results.plot"):
        assert study.over_grid is measured.over_grid
