"""The parts of the study: settings of one kind in which schemes are compared with `mac80211`.

The settings are those of `wifair compare --all`. A condition changes one thing in each of them: a parameter of the scheme, the
hardware below it, or the hosts. A setting that cannot have the condition is left out, such as a firmware's queue with 802.11b.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from wifair.errors import InputError
from wifair.everything.contenders import REFERENCE, Contender, contenders, with_defaults
from wifair.everything.contest import STAGES, Contest, Setting, setting_of
from wifair.everything.scenarios import FULL, Own, every
from wifair.everything.senders import OWN, PAPERS, Senders
from wifair.population import Population
from wifair.shipping.access import ACCESSES, CONTROLLED, with_accesses

# The scheme that the study is about, and its parameters.
SCHEME = "air-share"
PARAMETERS: Mapping[str, float] = {
    "target_ms": 12.0,
    "debt_ms": 20.0,
    "memory_ms": 500.0,
    "interval_ms": 100.0,
    "ack_filter_below_mbps": 60.0,
}
# What an ingredient is without: the parameters that turn it off.
INGREDIENTS: Mapping[str, Mapping[str, Any]] = {
    "policing": {"debt_ms": 10_000.0},
    "the ACK filter": {"ack_filter_below_mbps": 0.0},
    "the short target": {"target_ms": 20.0},
}
# The factors on a parameter.
FACTORS: Mapping[str, float] = {"half": 0.5, "twice": 2.0}

Variant = Mapping[str, Any]


def variant(**parameters: Any) -> Variant:
    """The scheme with other parameters."""
    return {"name": SCHEME, **parameters}


def without(ingredient: str) -> Variant:
    """The scheme without one of its ingredients."""
    return variant(**INGREDIENTS[ingredient])


def scaled(parameter: str, factor: str) -> Variant:
    """The scheme with a parameter at half or twice its default."""
    return variant(**{parameter: FACTORS[factor] * PARAMETERS[parameter]})


@dataclass(frozen=True)
class Condition:
    """What is changed in each setting: keys of the scenario. `concerns` says in which settings, by their senders."""

    id: str
    title: str
    changes: Mapping[str, Any] = field(default_factory=dict)
    concerns: Callable[[Senders], bool] = lambda senders: True


def _todays(senders: Senders) -> bool:
    return senders.id != PAPERS.id


# What lies below the scheme; only where links aggregate.
HARDWARE = tuple(
    Condition(name, f'`ap.hardware = "{name}"`', {"ap.hardware": name}, _todays)
    for name in ("ideal", "ath9k", "firmware", "ath10k")
)
# The hosts, in the settings whose senders are today's.
HOSTS = (
    Condition("reno", "all flows use Reno", {"tcp.congestion_control": "newreno"}, _todays),
    Condition("bbr", "all flows use BBR", {"tcp.congestion_control": "bbr"}, _todays),
    Condition("no-ecn", "no host uses ECN", {"tcp.ecn": False}, _todays),
    Condition("no-small-queues", "no TCP small queues", {"tcp.small_queue": False}, _todays),
)
AS_THEY_ARE = Condition("settings", "the settings of `wifair compare --all`")
# Settings in which the MAC is EDCA.
ACCESS = Condition("access", "the access to the air", {}, _todays)


@dataclass(frozen=True)
class Part:
    """A contest of the study, in which the scheme and perhaps variants of it meet `mac80211`."""

    id: str
    title: str
    contest: Contest


def _settings(condition: Condition, form: str, among: Sequence[Contender]) -> list[Setting]:
    """Every setting that can have the condition."""
    found = []
    for scenario in every():
        for senders in filter(condition.concerns, scenario.senders):
            try:
                base = senders.applied(scenario.scenario(form)).override(condition.changes)
                made = setting_of(scenario, senders, with_defaults(base), among)
            except InputError:
                continue
            own = senders.id if condition is AS_THEY_ARE else f"{senders.id}, {condition.id}"
            found.append(named(made, replace(senders, id=own)))
    return found


def named(setting: Setting, senders: Senders) -> Setting:
    """The setting with senders of another name, in its cells, too."""
    cells = {name: replace(cell, keys={**cell.keys, "senders": senders.id}) for name, cell in setting.cells.items()}
    return replace(setting, senders=senders, cells=cells)


def settings_part(form: str, seeds: int | None) -> Part:
    """The settings as they are, with every variant of the scheme."""
    variants = [without(ingredient) for ingredient in INGREDIENTS]
    variants += [scaled(parameter, factor) for parameter in PARAMETERS for factor in FACTORS]
    return _part(AS_THEY_ARE, form, seeds, contenders([REFERENCE, SCHEME, *variants]))


def condition_part(condition: Condition, form: str, seeds: int | None) -> Part:
    """The settings under a condition."""
    return _part(condition, form, seeds, contenders([REFERENCE, SCHEME]))


def access_part(form: str, seeds: int | None) -> Part:
    """The settings with EDCA, in which both schemes also have each access."""
    part = _part(ACCESS, form, seeds, with_accesses((REFERENCE, SCHEME), ACCESSES))
    settings = tuple(setting for setting in part.contest.settings if setting.plan["bss"]["mac"]["edca"])
    return replace(part, contest=replace(part.contest, settings=settings))


def _part(condition: Condition, form: str, seeds: int | None, among: Sequence[Contender]) -> Part:
    # One stage: the number of replications is then the same for all variants.
    stages = (STAGES[form][0],) if seeds is None else (seeds,)
    made = _settings(condition, form, among)
    contest = Contest(form, stages, tuple(among), tuple(made), f"wifair paper shipping --{form}")
    return Part(condition.id, condition.title, contest)


# Scenarios of each kind, and seconds of a run, by form.
COUNTS = {FULL: 25, "quick": 2}
QUICK_S = 20.0


def population_part(id: str, title: str, seed: int, form: str, seeds: int | None) -> Part:
    """A population, with as many stages as undecided scenarios take; both schemes also with stations that yield when needed."""
    drawn = Population(count=COUNTS[form], seed=seed).scenarios
    short: Mapping[str, Any] = {} if form == FULL else {"run.duration_s": QUICK_S}
    among = with_accesses((REFERENCE, SCHEME), [CONTROLLED])
    made = [
        setting_of(own, OWN, own.given, among)
        for own in (Own(f"{id}/{name}", each.override(short)) for name, each in drawn.items())
    ]
    stages = STAGES[form] if seeds is None else (seeds,)
    contest = Contest(form, stages, tuple(among), tuple(made), f"wifair paper shipping --{form} --figure {id}")
    return Part(id, title, contest)


def judged_part(part: Part, names: Sequence[str]) -> Part:
    """The part with some of its schemes alone, whose intervals are then corrected for these."""
    settings = tuple(
        replace(setting, cells={name: setting.cells[name] for name in names if name in setting.cells})
        for setting in part.contest.settings
    )
    return replace(part, contest=replace(part.contest, settings=settings))
