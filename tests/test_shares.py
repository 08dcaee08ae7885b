"""`wifair compare DIR`: the answer in shares, what costly scenarios have in common, and the command."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import wifair
from conftest import ROOT, Cli
from matplotlib.container import ErrorbarContainer
from pages import blocks
from scipy import stats as scipy_stats
from test_everything import criterion, judged, verdict
from wifair import Population, Scenario
from wifair.errors import InputError
from wifair.everything.contenders import PLAIN, REFERENCE
from wifair.everything.contest import Contest, Judged
from wifair.everything.scenarios import Own, in_folder
from wifair.everything.share_figure import shares_figure
from wifair.everything.shares import Shares
from wifair.everything.verdict import Standing, Verdict
from wifair.stats import permutation_p, share_interval

FAIR: dict[str, list[float]] = {REFERENCE: [5.0]}
BETTER, WORSE, SAME = [9.0], [1.0], [5.0]
UNCLEAR = [3.0, 9.0, 1.0, 8.0]


def of(name: str, las: list[float], uploads: int = 1, **other: list[float]) -> Judged:
    """A judged scenario with so many uploads, in which `las` has this value, and others theirs."""
    told = verdict(fair={**FAIR, "las": las, **other})
    given = Scenario(flows=[{"direction": "up", "count": uploads}])
    found = judged(told)
    return replace(found, setting=replace(found.setting, staged=Own(name, given)))


def shares(*settings: Judged) -> Shares:
    contest = Contest("full", (4,), (), tuple(each.setting for each in settings), "wifair compare DIR")
    return Shares(contest, settings)


MIXED = [
    *(of(f"home-{n:03}", BETTER, 1, pie=WORSE) for n in (1, 2, 3)),
    of("home-004", WORSE, 6, pie=BETTER),
    of("cafe-001", SAME, 1, pie=WORSE),
    of("cafe-002", WORSE, 7, pie=UNCLEAR),
    of("cafe-003", UNCLEAR, 50, pie=SAME),
]


@pytest.mark.parametrize(("count", "total"), [(0, 8), (8, 8), (61, 100), (1, 2), (4, 1000)])
def test_the_interval_of_a_share_is_clopper_and_pearsons(count: int, total: int) -> None:
    found = share_interval(count, total)
    exact = scipy_stats.binomtest(count, total).proportion_ci(0.95, method="exact")
    assert (found.low, found.high) == pytest.approx((exact.low, exact.high))
    assert found.estimate == count / total
    assert share_interval(0, 0).n == 0


@pytest.mark.whole
def test_the_permutation_test_agrees_with_the_exact_one() -> None:
    a, b = [7.0, 9.0, 8.0], [1.0, 2.0, 3.0, 4.0, 5.0]
    assert permutation_p(a, b) == pytest.approx(2 / 56, abs=0.006)  # 2 of 56 choices of 3 among 8 are as far apart
    assert permutation_p(a, b) == permutation_p(a, b)
    assert permutation_p([1.0, 1.0], [1.0, 1.0, 1.0]) == 1.0
    rng = np.random.default_rng(3)
    for _ in range(6):
        x, y = rng.integers(0, 5, 9), rng.integers(0, 7, 12)
        exact = scipy_stats.permutation_test(
            (x, y),
            lambda p, q: (ranks := scipy_stats.rankdata(np.concatenate([p, q])))[: len(p)].mean() - ranks.mean(),
            vectorized=False,
            n_resamples=4000,
            rng=np.random.default_rng(4),
        )
        assert permutation_p(x, y) == pytest.approx(float(exact.pvalue), abs=0.035)


def test_equal_samples_are_seldom_told_apart() -> None:
    rng = np.random.default_rng(2)
    ps = [permutation_p(rng.normal(size=5), rng.normal(size=7), 199) for _ in range(400)]
    assert 0.02 < np.mean(np.array(ps) <= 0.05) < 0.085


def test_scenarios_are_counted_by_standing_and_kind() -> None:
    found = shares(*MIXED)
    las = found.of("las")
    assert {standing: count for standing, count in las.counts.items() if count} == {
        Standing.BETTER: 3,
        Standing.WORSE: 2,
        Standing.EQUAL: 1,
        Standing.OPEN: 1,
    }
    assert (las.total, las.net) == (7, 1)
    assert found.of("las", "home").counts[Standing.BETTER] == 3
    assert found.of("las", "cafe").counts[Standing.WORSE] == 1
    assert list(found.kinds) == ["home", "cafe"]
    assert [share.scheme for share in found.schemes] == ["las", "pie"]
    assert found.table().height == 14
    overview = Counter(found.table().filter(scheme="las")["standing"].to_list())
    assert overview == {"better": 3, "worse": 2, "equal": 1, "open": 1}


def test_the_answer_is_the_scheme_that_is_better_most_often_net() -> None:
    head, common = shares(*MIXED).answer()
    assert head == (
        f"`las` instead of `{REFERENCE}`: better in 3 of 7 scenarios (3 of 4 home, 0 of 3 cafe), worse in 2, "
        "no difference that matters in 1, undecided in 1."
    )
    assert common.startswith("The 2 scenarios in which `las` is worse, a trade or not recommended differ")
    [leave, *_] = shares(of("home-001", WORSE), of("home-002", SAME)).answer()
    assert leave.startswith(f"Leave `{REFERENCE}`: no scheme is better in more scenarios than it is worse in.")
    assert "better in 0 of 2 home, worse in 1" in leave
    alone = judged(verdict(fair={REFERENCE: [1.0]}))
    assert shares(alone).answer() == [f"There is nothing to compare: no other scheme ran with `{REFERENCE}`."]


@pytest.mark.whole
def test_what_costly_scenarios_have_in_common() -> None:
    many = [of(f"home-{n:03}", BETTER, 1 + n % 2) for n in range(12)]
    costly = [of(f"home-{n:03}", WORSE, 6 + n % 2) for n in range(12, 18)]
    undecided = of("home-099", UNCLEAR, 90)
    found = shares(*many, *costly, undecided)
    contrasts = found.contrasts("las")
    uploads = next(c for c in contrasts if c.name == "uploads without end")
    assert (uploads.costly, uploads.harmless, uploads.above) == (6.5, 1.5, 1.0)
    assert uploads.p < 0.01
    assert contrasts[0].p == min(c.p for c in contrasts)
    assert "uploads without end: median 6.5 against 1.5 (p = " in found.answer()[1].lower()
    assert shares(*many, costly[0]).contrasts("las") == []
    assert "cannot be set apart" in shares(*many, costly[0]).answer()[1]
    same = [of(f"home-{n:03}", BETTER if n % 2 else WORSE, 1 + n // 2) for n in range(8)]
    assert "by no property more than by chance" in shares(*same).answer()[1]


def test_a_scheme_that_cannot_run_or_whose_transfers_do_not_end_is_counted_apart() -> None:
    out = of("home-001", BETTER)
    out = replace(out, verdict=replace(out.verdict, out=frozenset({"las"})))
    refused = of("home-002", SAME, pie=SAME)
    told = verdict(fair={REFERENCE: [5.0], "pie": [5.0]})
    refused = replace(refused, verdict=told, setting=replace(refused.setting, refused={"las": "why"}))
    found = shares(out, refused).of("las")
    assert (found.counts[Standing.UNFINISHED], found.total, found.refused) == (1, 1, 1)
    assert "not recommended, because transfers do not end in 1" in shares(out, refused).answer()[0]


def test_gains_are_in_units_of_what_matters() -> None:
    [fair] = shares(*MIXED).gains("las")
    assert (fair.criterion, len(fair.gains), fair.better, fair.worse) == ("fair", 7, 3, 2)
    assert fair.gains[0] == pytest.approx(4.0)
    assert fair.median == pytest.approx(0.25, abs=0.3)
    transfers = Verdict(
        (REFERENCE, "las"), (criterion("time:pages-1"),), {"time:pages-1": np.array([[1.0, 1.1], [3.0, 3.1]])}
    )
    one = replace(MIXED[0], verdict=transfers)
    assert [(gain.criterion, gain.title) for gain in shares(one).gains("las")] == [("time", "time of a transfer")]


def test_the_document_and_the_page_have_every_scenario_and_scheme() -> None:
    found = shares(*MIXED)
    told = found.to_dict()
    assert [share["scheme"] for share in told["shares"]] == ["las", "pie"]
    assert told["shares"][0]["counts"]["better"] == 3
    assert told["shares"][0]["better"]["ci_low"] == pytest.approx(share_interval(3, 7).low)
    assert set(told["properties"]) == {judged.setting.staged.id for judged in MIXED}
    assert told["findings"] == found.answer()
    page = found.told()
    assert all(f"| {judged.setting.staged.id} |" in page for judged in MIXED)
    assert "43 % [10, 82]" in page


def test_the_figure_has_a_row_per_scheme_and_three_series() -> None:
    made = shares_figure(shares(*MIXED))
    [axes] = made.axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["las", "pie"]
    handles, labels = axes.get_legend_handles_labels()
    assert labels == ["better", "worse, a trade, or transfers do not end", "undecided"]
    markers = {handle.lines[0].get_marker() for handle in handles if isinstance(handle, ErrorbarContainer)}
    assert len(markers) == 3
    assert "share of 7 scenarios, %" in axes.get_xlabel()


# The command.

TINY = """
[run]
warmup_s = 1
duration_s = 2
[[flows]]
direction = "up"
count = {up}
[[flows]]
direction = "down"
count = 2
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "branches"
    made.mkdir()
    for number in (1, 2, 3):
        (made / f"branch-{number}.toml").write_text(TINY.format(up=2 * number))
    return made


WORDS = ("--schemes", "droptail,mac80211,las", "--seeds", "3")


@pytest.mark.whole
def test_compare_a_folder(here: Cli, folder: Path, tmp_path: Path) -> None:
    done = here("compare", folder, *WORDS, "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert "of 3 branch" in " ".join(lines[:2])
    assert len(lines) < 25
    assert "undecided" in done.stdout
    told = json.loads((tmp_path / "out" / "shares.json").read_text())
    assert [setting["scenario"] for setting in told["settings"]] == ["branch-1", "branch-2", "branch-3"]
    assert {share["scheme"] for share in told["shares"]} == {"droptail", "las"}
    assert (tmp_path / "out" / "shares.png").stat().st_size > 10_000
    page = (tmp_path / "out" / "shares.md").read_text()
    again = here("compare", folder, *WORDS, "--out", tmp_path / "out", "--verbose")
    assert "27 replications were taken from" in again.stderr
    assert again.stdout.strip() == page.strip()
    as_json = here("compare", folder, *WORDS, "--out", tmp_path / "out", "--json")
    assert json.loads(as_json.stdout) == told


def test_a_folder_has_the_verdicts_of_its_files_alone(folder: Path) -> None:
    names: list[Any] = [PLAIN, REFERENCE, "las"]
    every = Contest.on_all(in_folder(folder), [str(folder)], names, 3).run(1).settings
    for own, judged_together in zip(in_folder(folder), every, strict=True):
        [alone] = Contest.on(own, names, 3).run(1).settings
        assert {n: [*v] for n, v in alone.verdict.values.items()} != {}
        for id, values in alone.verdict.values.items():
            assert np.array_equal(values, judged_together.verdict.values[id], equal_nan=True)
        assert alone.verdict.error == judged_together.verdict.error


def test_an_interrupted_comparison_continues_from_its_store(here: Cli, folder: Path, tmp_path: Path) -> None:
    first = here("compare", folder, "--schemes", "mac80211,las", "--seeds", "2", "--store", tmp_path / "store")
    assert first.returncode == 0, first.stderr
    done = here("compare", folder, *WORDS, "--store", tmp_path / "store", "--out", tmp_path / "out")
    assert "18 replications were taken from" in done.stderr  # three schemes with droptail, which the files have


def test_set_and_the_default_folder(here: Cli, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = here("compare", folder, "--schemes", "mac80211,las", "--seeds", "2", "--set", "ap.scheme=las")
    assert done.returncode == 0, done.stderr
    told = json.loads((tmp_path / "results" / "branches-comparison" / "shares.json").read_text())
    assert {share["scheme"] for share in told["shares"]} == {"las"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--seeds", "1"], "one run has no interval"),
        (["--precision", "jain=0.1"], "leave out --precision"),
        (["--full"], "--full, --scenarios and --page need --all."),
        (["--format", "gif"], "--format: unknown format 'gif'"),
        (["--schemes", "lass"], "Did you mean las?"),
        (["--set", "ap.shceme=las"], "branch-1.toml: ap.shceme: unknown key"),
    ],
)
def test_what_does_not_go_with_a_folder(words: list[str], said: str, here: Cli, folder: Path) -> None:
    done = here("compare", folder, *words)
    assert done.returncode == 2
    assert said in done.stderr


def test_a_folder_without_scenarios_and_a_bad_file_are_named(here: Cli, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "none").mkdir()
    assert (
        "none: has no scenarios; allowed here: a folder with files *.toml." in here("compare", tmp_path / "none").stderr
    )
    (folder / "branch-2.toml").write_text('[[flows]]\ndirection = "upp"\n')
    told = here("compare", folder).stderr
    assert "branch-2.toml: " in told
    assert "'upp'" in told
    (folder / "branch-2.toml").write_text("[[flows]\n")
    assert "branch-2.toml" in here("compare", folder).stderr
    (folder / "branch-2.toml").write_text("[scenario]\n")
    assert "branch-2.toml: is a study, not a scenario" in here("compare", folder).stderr


def test_from_python(folder: Path, tmp_path: Path) -> None:
    short = {"run.warmup_s": 0.5, "run.duration_s": 1}
    people = {name: each.override(short) for name, each in Population(["home"], 2).scenarios.items()}
    found = wifair.judge(people, ["las", REFERENCE], seeds=2, threads=1)
    assert [share.scheme for share in found.schemes] == ["las"]
    assert found.of("las").total == 2
    assert found.answer()[0].count("home") == 1
    store = tmp_path / "store"
    assert (
        wifair.judge(folder, ["las"], seeds=2, store=store).of("las").total == 3
    )  # against the reference all the same
    one = wifair.judge(folder / "branch-1.toml", ["las", REFERENCE], seeds=2, store=store)
    assert len(one.settings) == 1
    assert len(wifair.judge(Scenario.from_toml(folder / "branch-1.toml"), [REFERENCE], 2, store=store).settings) == 1
    with pytest.raises(InputError, match="2 or more"):
        wifair.judge(people, seeds=1)


def test_the_python_of_the_page_runs() -> None:
    [code] = [text for language, text in blocks(ROOT / "docs" / "population.md") if language == "python"]
    names: dict[str, Any] = {}
    exec(code, names)
    assert names["shares"].of("las").total == 2


@pytest.mark.whole
def test_a_tiny_population_end_to_end(here: Cli, tmp_path: Path) -> None:
    assert here("population", "--count", "1", "--kinds", "home,cafe", "--out", tmp_path / "p").returncode == 0
    short = ["--set", "run.warmup_s=1", "--set", "run.duration_s=4"]
    words = ["--schemes", "droptail,mac80211,las", "--seeds", "2", "--out", tmp_path / "c"]
    done = here("compare", tmp_path / "p", *words, *short)
    assert done.returncode == 0, done.stderr
    assert "of 2 scenarios" in " ".join(done.stdout.split())
    told = json.loads((tmp_path / "c" / "shares.json").read_text())
    assert set(told["shares"][0]["kinds"]) == {"home", "cafe"}
