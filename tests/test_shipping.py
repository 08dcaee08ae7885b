"""The study `shipping`: its rule for counts, its parts, and that the final population belongs to the scheme that is there."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from conftest import Cli
from hypothesis import given
from hypothesis import strategies as st
from wifair.analysis.sweep import label
from wifair.errors import InputError
from wifair.everything.contenders import REFERENCE
from wifair.everything.contest import Judged, Setting
from wifair.everything.criteria import criteria
from wifair.everything.verdict import Verdict as Compared
from wifair.papers import Asked, find
from wifair.papers.claims import Verdict
from wifair.scenario.components import components
from wifair.shipping import figures
from wifair.shipping.access import ACCESSES, CONTROLLED, name
from wifair.shipping.claims import CLAIMS
from wifair.shipping.counts import Count
from wifair.shipping.frozen import FROZEN, Frozen
from wifair.shipping.parts import (
    FACTORS,
    HARDWARE,
    HOSTS,
    INGREDIENTS,
    PARAMETERS,
    SCHEME,
    access_part,
    condition_part,
    population_part,
    scaled,
    settings_part,
    without,
)

ROOT = Path(__file__).parents[1]


@given(st.integers(0, 20), st.integers(0, 20), st.integers(0, 20), st.integers(0, 40))
def test_a_count_holds_or_fails_only_if_no_undecided_setting_could_change_it(
    found: int, undecided: int, rest: int, bound: int
) -> None:
    total = found + undecided + rest
    outcomes = [found + more for more in range(undecided + 1)]
    for least, most in ((bound, None), (None, bound)):
        holds = {(n >= bound) if least is not None else (n <= bound) for n in outcomes}
        wanted = {True: Verdict.HOLDS, False: Verdict.FAILS}[holds.pop()] if len(holds) == 1 else Verdict.UNDETERMINED
        assert Count(found, undecided, total, least, most).verdict is (wanted if total else Verdict.UNDETERMINED)


def test_claims_have_names_of_their_own_and_say_what_they_count() -> None:
    assert len({claim.id for claim in CLAIMS}) == len(CLAIMS)
    nothing = [claim.judge({}) for claim in CLAIMS]
    assert {judgement.verdict for judgement in nothing} == {Verdict.UNDETERMINED}
    assert all(judgement.reading and judgement.statement.endswith(".") for judgement in nothing)


def test_the_parameters_are_the_schemes_defaults() -> None:
    [properties] = [told["parameters"]["properties"] for told in components("schemes") if told["name"] == SCHEME]
    assert {name: properties[name]["default"] for name in PARAMETERS} == PARAMETERS
    assert all(change.keys() <= properties.keys() for change in INGREDIENTS.values())


@pytest.mark.whole
def test_the_settings_have_every_variant_and_conditions_only_where_they_can_be() -> None:
    part = settings_part("quick", None)
    assert len(part.contest.settings) == 35
    cells = part.contest.settings[0].cells
    variants = {label(without(ingredient)) for ingredient in INGREDIENTS}
    variants |= {label(scaled(parameter, factor)) for parameter in PARAMETERS for factor in FACTORS}
    assert cells.keys() == {REFERENCE, SCHEME, *variants}
    ids = {setting.id for setting in part.contest.settings}
    for condition in (*HARDWARE, *HOSTS):
        made = condition_part(condition, "quick", None).contest.settings
        assert made, condition.id
        assert not ids & {setting.id for setting in made}
        ids |= {setting.id for setting in made}
        assert {name for setting in made for name in setting.cells} == {REFERENCE, SCHEME}


@pytest.mark.whole
def test_an_access_changes_its_keys_and_nothing_else() -> None:
    settings = access_part("quick", None).contest.settings
    assert {setting.plan["bss"]["phy"]["name"] for setting in settings} > {"802.11ax"}
    for setting in settings:
        plain = setting.cells[SCHEME].scenario.plan()
        for access in ACCESSES:
            plan = setting.cells[name(SCHEME, access)].scenario.plan()
            edca, own = plan["bss"]["mac"]["edca"], plain["bss"]["mac"]["edca"]
            for key, value in access.keys.items():
                *tables, parameter = key.removeprefix("mac.edca.").split(".")
                table, before = edca, own
                for each in tables:
                    table, before = table[each], before.get(each, {})
                assert table[parameter] == value
                table[parameter] = before.get(parameter)
            if access is CONTROLLED:
                assert edca.pop("controller") == {"interval_tu": 100, "samples": 10, "max_cw_min": None}
            assert plan == plain


def test_a_population_has_every_kind() -> None:
    part = population_part("population", "", 1, "quick", None)
    kinds = {setting.staged.id.rpartition("-")[0] for setting in part.contest.settings}
    assert kinds == {f"population/{kind}" for kind in ("home", "cafe", "office", "classroom")}


def test_the_final_population_belongs_to_what_is_there() -> None:
    assert Frozen("0123abcd" + 32 * "0", {}).seed == 0x0123ABCD
    for path, digest in FROZEN.files.items():
        assert sha256((ROOT / path).read_bytes()).hexdigest() == digest, (
            f"{path} has changed since the final population"
        )


def test_what_the_study_does_not_have_is_refused() -> None:
    study = find("shipping")
    with pytest.raises(InputError, match="figure 'wages' is not in this study; allowed here: settings, conditions"):
        study.reproduce(Asked("quick", "wages"))
    with pytest.raises(InputError, match="figure 'final' is not in the quick form"):
        study.reproduce(Asked("quick", "final"))
    with pytest.raises(InputError, match="reading: 'ideal' is not allowed here"):
        study.reproduce(Asked("quick", reading="ideal"))


def test_networks_in_which_the_scheme_costs_something_are_listed_with_what_they_gain_and_lose() -> None:
    settings = population_part("population", "", 1, "quick", 2).contest.settings[2:5]
    outcomes = {
        "population": {SCHEME: [verdict(setting, paid) for setting, paid in zip(settings, (0, 4, 40), strict=True)]}
    }
    text = figures.texts(outcomes, "population")["population"]
    [line] = [line for line in text.splitlines() if f"`{settings[2].staged.id}`" in line]
    assert [part.strip() for part in line.split("|")[2:4]] == ["ping 5.4", "total 10.5"]
    assert f"`{settings[0].staged.id}`" not in text
    free = {"population": {SCHEME: [verdict(settings[0], 0)]}}
    assert "costs something" not in figures.texts(free, "population")["population"]


def verdict(setting: Setting, paid_percent: int) -> Judged:
    """A setting in which a ping takes 0.6 of what it takes under `mac80211`, and a share of the goodput is paid for it."""
    wanted = {criterion.id: criterion for criterion in criteria(setting.plan)}
    own = {"ping": 0.6, "total": 1 - paid_percent / 100}
    values = {id: np.array([[1.0, 1.0], [own.get(id, 1.0)] * 2]) for id in wanted}
    return Judged(setting, Compared((REFERENCE, SCHEME), tuple(wanted.values()), values, (2, 2)), {})


@pytest.mark.whole
def test_the_population_is_run_and_judged(here: Cli, tmp_path: Path) -> None:
    done = here("paper", "shipping", "--figure", "population", "--seeds", "2", "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    assert "5 claims" in done.stdout
    text = (tmp_path / "population.md").read_text(encoding="utf-8")
    assert f"against `{REFERENCE}`" in text
    assert text.count(f"| {name(REFERENCE, CONTROLLED)} |") == 2  # its standings and its gains
    assert (tmp_path / "population.png").exists()
