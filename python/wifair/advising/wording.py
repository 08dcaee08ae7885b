"""The advice in sentences, the conclusion first."""

from __future__ import annotations

from collections.abc import Sequence

from wifair.advising import rule
from wifair.advising.advice import NEAREST, OWN, Advice, Doubted
from wifair.advising.changes import Change
from wifair.advising.commands import Commands
from wifair.advising.yardsticks import Yardstick
from wifair.everything.criteria import Criterion, number
from wifair.everything.side_effects import sentences
from wifair.everything.verdict import Standing
from wifair.keys import some_of
from wifair.population.properties import Property
from wifair.stats import Values, t_interval
from wifair.tuning.words import BOUNDS, UNITS, WORDS, calls

# What the rule says of a change, in a table.
STANDINGS = {
    Standing.BETTER: "better",
    Standing.WORSE: "worse",
    Standing.EQUAL: "no difference that matters",
    Standing.TRADE: "a trade-off",
    Standing.THRESHOLD: "about as much as matters",
    Standing.OPEN: "open",
    Standing.UNFINISHED: "transfers do not end",
}
# BSSs that a cell of the table of changes names.
NAMED = 2
# How a unit is written after a number, if it is too long.
UNITS_IN_SHORT = {
    "Jain's index of goodput": "index",
    "Jain's index of the two mean goodputs": "index",
    "Jain's index of the stations' airtime": "index",
}
NOT_TRIED_AT_ONE = (
    "Not tried: EDCA parameters, an RTS threshold, and limits of A-MPDUs and A-MSDUs, since in the model these keys hold for all BSSs; other widths of "
    "the channel."
)
NOT_TRIED = (
    "Not tried: an RTS threshold, and limits of A-MPDUs and A-MSDUs. In the model these keys hold for all nodes, and an access point sets its own "
    "only."
)


def not_tried(advice: Advice) -> str:
    """What was not tried, and why."""
    return NOT_TRIED_AT_ONE if advice.bss else NOT_TRIED


def of_commands(commands: Commands) -> str:
    """Which names in the commands are assumed, which commands show the right ones, and whether stations notice."""
    told = ", ".join(f"{name} (`{how}` shows yours)" for name, how in commands.assumed.items())
    restarts = " Stations are disconnected for some seconds when hostapd starts again." if commands.restarts else ""
    return f"The commands assume these names: {told}.{restarts}"


def of_others(advice: Advice, change: Change) -> list[str]:
    """What a change does to the other BSSs on fresh seeds."""
    pairs = [(change.name, OWN)]
    return sentences(advice.side_effects(change), pairs, {name: name for name in pairs[0]})


def others_in_short(advice: Advice, change: Change) -> str:
    """Which of the other BSSs lose and gain with a change, as a cell of a table; empty without others."""
    standings = advice.others_standings(change)
    told = []
    for verb, wanted in (
        ("lose", (Standing.WORSE, Standing.UNFINISHED)),
        ("lose and gain", (Standing.TRADE,)),
        ("gain", (Standing.BETTER,)),
    ):
        names = [name for name, standing in standings.items() if standing in wanted]
        told += [f"{verb}: {some_of(names, NAMED)}"] if names else []
    left_open = list(standings.values()).count(Standing.OPEN)
    told += [f"{left_open} of {len(standings)} open"] if left_open else []
    return "; ".join(told) or ("no difference that matters" if standings else "")


def headline(advice: Advice) -> str:
    """The advice in one sentence, what becomes of the total, and of the other BSSs if there are any."""
    told = _headline(advice)
    best = advice.best
    if best is None or advice.confirmed is None or not advice.others or not is_advised(advice):
        return told
    return f"{told} The other BSSs: {others_in_short(advice, best)}."


def _headline(advice: Advice) -> str:
    best = advice.best
    if advice.search is None and best is None:
        return "No change was tried to the end."
    if best is None:
        left = (
            "No change is shown to be better by any goal"
            if _open(advice)
            else "No change is better by any goal by more than matters"
        )
        return f"Leave it as it is. {left}."
    if advice.confirmed is None:
        return f"So far, {best.name} is {STANDINGS[_searched(advice, best)]}; not confirmed."
    standing = advice.standing(best)
    if standing is Standing.BETTER:
        return f"Set {best.name}: {effects(advice, best, better=True)}.{of_total(advice, best)}{_costs(advice, best)}"
    if standing is Standing.TRADE:
        return (
            f"Leave it as it is, unless one thing counts most: no change is better by something and worse by nothing. The best compromise is "
            f"{best.name}: {effects(advice, best, better=True)}; it costs {effects(advice, best, better=False)}.{of_total(advice, best)}"
        )
    return (
        f"Leave it as it is. {best.name} led the search, but on fresh seeds the difference is {STANDINGS[standing]}: "
        f"{effects(advice, best)}.{of_total(advice, best)}"
    )


def _costs(advice: Advice, change: Change) -> str:
    """How many groups of flows lose, and how many of them by a goal whose bound stays met; empty if none does."""
    lose = _judged_as(advice, change, Standing.WORSE)
    if not lose:
        return ""
    told = f" {len(lose)} {'groups' if len(lose) > 1 else 'group'} of flows {'lose' if len(lose) > 1 else 'loses'}"
    within = sum(bool(_stays_met(advice, change, each)) for each in lose)
    if not within:
        return f"{told}."
    return f"{told}, {'' if within == len(lose) else f'{within} of them '}by goals whose bounds stay met."


def of_total(advice: Advice, change: Change) -> str:
    """What a change does to the goodput of all TCP flows on fresh seeds, whatever the goals are; empty if it is one of them, or has no value."""
    if advice.total is None or not advice.effect(change, advice.total.criterion).n:
        return ""
    standing = advice.standing_by(change, advice.total)
    told = {Standing.BETTER: "rises", Standing.WORSE: "falls", Standing.EQUAL: "stays"}.get(standing)
    effect_told = effect(advice, change, advice.total.criterion)
    if told is None:
        return f" Total goodput: {effect_told}, {STANDINGS[standing]}."
    return f" Total goodput {told}: {effect_told}."


def others_by_goal(advice: Advice, change: Change) -> list[str]:
    """The goals by which a change is not shown to be better on fresh seeds, each with what it does there, without those that `bounds` has."""
    told = []
    for each in advice.yardsticks:
        standing = advice.standing_by(change, each)
        is_bound = each.goal is not None and each.goal.bound is not None
        if standing is Standing.WORSE or (standing is not Standing.BETTER and not is_bound):
            told.append(f"{each.title}: {effect(advice, change, each.criterion)}, {STANDINGS[standing]}")
    return told


def beyond(advice: Advice) -> list[str]:
    """What is better and cannot be set by a command."""
    other = advice.best_beyond
    if other is None or advice.confirmed is None:
        return []
    standing = advice.standing(other)
    than = advice.confirmed.standing(other.name, advice.best.name) if advice.best else standing
    if {standing, than} - {Standing.BETTER, Standing.TRADE}:
        return []
    costs = effects(advice, other, better=False)
    told = [
        f"The scheme {other.name} ({other.about}): {effects(advice, other, better=True)}{f'; it costs {costs}' if costs else ''}."
        f"{of_total(advice, other)} It needs another driver or kernel."
    ]
    if advice.best is not None:
        told.append(f"Against {advice.best.name} it is {STANDINGS[than]}.")
    return told


def effects(advice: Advice, change: Change, better: bool | None = None) -> str:
    """The effects of a change on fresh seeds, by all goals, or by those by which it is shown to be better or worse."""
    assert advice.confirmed is not None
    wanted = {None: None, True: Standing.BETTER, False: Standing.WORSE}[better]
    told = []
    for each in advice.yardsticks:
        found = advice.confirmed.standing(change.name, OWN, [each.criterion])
        if wanted is None or found is wanted:
            told.append(f"{each.criterion.title} {effect(advice, change, each.criterion)}")
    return "; ".join(told)


def effect(advice: Advice, change: Change, criterion: Criterion) -> str:
    """From which to which mean, and the difference or factor with its interval."""
    return _from_to(criterion, advice.values[OWN][criterion.id], advice.values[change.name][criterion.id])


def _from_to(criterion: Criterion, before: Values, after: Values) -> str:
    means = " → ".join(t_interval(each).short() for each in (before, after))
    return f"{means}{_unit(criterion)} ({criterion.effect_text(criterion.effect(after, before))})"


def _unit(criterion: Criterion) -> str:
    """The unit after a number: what comes before a comma, and nothing for a range of ratings."""
    unit = criterion.unit.partition(",")[0].removesuffix(" of payload")
    return f" {UNITS_IN_SHORT.get(unit, unit)}" if unit and not unit[0].isdigit() else ""


def indexes(advice: Advice) -> list[str]:
    """Of which flows or stations the indexes of the goals are: `check-prediction` has those of all."""
    goals = [each.goal for each in advice.yardsticks if each.goal and each.goal.word and each.goal.unit == "index"]
    return [f"{goal.word}: {WORDS[goal.word].about}" for goal in goals]


def heading(each: Yardstick) -> str:
    """A goal with its unit, as the head of a column. A bound has the unit already."""
    is_bound = each.goal is not None and each.goal.bound is not None
    unit = "" if is_bound else _unit(each.criterion).strip()
    return f"{each.title}, {unit}" if unit else each.title


def bounds(advice: Advice, name: str) -> list[str]:
    """Which bounds of goals are met, by the whole interval of the mean: on fresh seeds, or those of the search if there are no others."""
    told = []
    for each in advice.yardsticks:
        if state := _bound_is(advice, each, name):
            mean = t_interval((advice.values or advice.searched)[name][each.criterion.id])
            told.append(f"{each.title}, {name}: {state} ({mean.short()}{_unit(each.criterion)})")
    return told


def _bound_is(advice: Advice, each: Yardstick, name: str) -> str:
    """Whether a goal's bound is met, as `bounds` has it; empty without a bound or an interval."""
    if each.goal is None or each.goal.bound is None:
        return ""
    mean = t_interval((advice.values or advice.searched)[name][each.criterion.id])
    if mean.low is None or mean.high is None:
        return ""
    sign, bound = each.goal.sign, each.goal.bound
    worst, best = sorted((sign * mean.low, sign * mean.high))
    return "met" if worst >= sign * bound else "not met" if best < sign * bound else "open"


def losers(advice: Advice, change: Change) -> list[str]:
    """The flows that lose on fresh seeds, with the effect, and with the goal that judges them if its bound stays met."""
    return _flows(advice, change, Standing.WORSE)


def winners(advice: Advice, change: Change) -> list[str]:
    """The flows that gain on fresh seeds, with the effect."""
    return _flows(advice, change, Standing.BETTER)


def _flows(advice: Advice, change: Change, wanted: Standing) -> list[str]:
    flows, told = advice.flows, []
    for each in _judged_as(advice, change, wanted):
        assert flows is not None
        before, after = (flows.values[each.id][flows.contenders.index(name)] for name in (OWN, change.name))
        met = _stays_met(advice, change, each) if wanted is Standing.WORSE else ""
        told.append(f"{each.title} {_from_to(each, before, after)}{f', {met} stays met' if met else ''}")
    return told


def _judged_as(advice: Advice, change: Change, wanted: Standing) -> list[Criterion]:
    """The groups of flows of which the rule says so."""
    flows = advice.flows
    if flows is None:
        return []
    return [each for each in flows.criteria if flows.standing(change.name, OWN, [each]) is wanted]


def _stays_met(advice: Advice, change: Change, group: Criterion) -> str:
    """The goal by whose quantity a group of flows is judged, if its bound is met before and after; else empty."""
    for each in advice.yardsticks:
        if {_bound_is(advice, each, name) for name in (OWN, change.name)} == {"met"} and _is_of(advice, each, group):
            return each.title
    return ""


def _is_of(advice: Advice, each: Yardstick, group: Criterion) -> bool:
    """Whether a goal measures what a group of flows is judged by."""
    word = next((word for word in WORDS.values() if word.metric == each.criterion.id), None)
    if word is None or each.criterion.kind != group.kind:
        return False
    flows = [flow for flow in advice.plan["flows"] if group.id == f"flow:{flow['group'] or flow['label']}"]
    plain = calls(advice.plan)
    return all(
        flow["application"]["name"] in word.needs and (flow["application"]["name"] != "udp" or flow["label"] in plain)
        for flow in flows
    )


def chosen(advice: Advice) -> list[str]:
    """By what the best change came first among those that the search calls as good, and whether a bound may change that."""
    found, best = advice.search, advice.best
    if found is None or best is None or advice.confirmed is None:
        return []
    standing = found.standing(best.name, OWN)
    by_standing = {
        wanted: [name for name in found.contenders if name != OWN and found.standing(name, OWN) is wanted]
        for wanted in (Standing.BETTER, Standing.TRADE)
    }
    alike, trades = by_standing.get(standing, []), by_standing[Standing.TRADE]
    if len(alike) < 2:
        if standing is not Standing.BETTER or not trades:
            return []
        costs = [
            each
            for each in advice.yardsticks
            for name in trades
            if found.standing(name, OWN, [each.criterion]) is Standing.WORSE
        ]
        return [f"No other change is better by a goal and worse by none.{_may_have_bound(costs)}"]
    among = rule.among(found, [OWN, *alike])
    criterion, leader = among.weakest(best.name)
    by = next(each for each in advice.yardsticks if each.criterion.id == criterion.id)
    kind = "better changes" if standing is Standing.BETTER else "trade-offs"
    told = f"Of {len(alike)} {kind}, {best.name} is the one least behind the best of them in what it is worst at"
    if among.gap(leader, best.name, criterion) <= 0:
        return [f"Of {len(alike)} {kind}, {best.name} is behind no other by any goal."]
    mine, theirs = (advice.searched[name][criterion.id][: among.common] for name in (best.name, leader))
    means = " and ".join(
        f"{number(t_interval(values).estimate)} with {name}" for name, values in ((leader, theirs), (best.name, mine))
    )
    away = criterion.effect_text(criterion.effect(mine, theirs), interval=False)
    return [f"{told}. By the seeds of the search this is {heading(by)}: {means} ({away}).{_may_have_bound([by])}"]


def _may_have_bound(goals: Sequence[Yardstick]) -> str:
    """How to give a bound to the first of the goals that has none; empty if there is no such goal."""
    for each in goals:
        if each.goal and each.goal.bound is None:
            unit = next(iter(UNITS.get(each.goal.unit, {"": 1})))
            written = (
                f"{each.goal.word or each.goal.metric} {BOUNDS[each.goal.better][0]} N{f' {unit}' if unit else ''}"
            )
            return (
                f' If a value is enough, give it as a bound, beyond which more is worth nothing: `--want "{written}"`.'
            )
    return ""


def no_gain(advice: Advice) -> list[str]:
    """By which goals chance and all assumptions together leave it open whether the advised change gains anything."""
    change = advice.best or advice.best_beyond
    if change is None or advice.confirmed is None or not any(each.verdict for each in advice.doubted):
        return []
    told = []
    for each in advice.yardsticks:
        if advice.standing_by(change, each) is not Standing.BETTER:
            continue
        criterion, found = each.criterion, advice.predicted(change, each.criterion)
        none = 1.0 if criterion.scale == "ratio" else 0.0
        if found.low is None or found.high is None or not found.low <= none <= found.high:
            continue
        told.append(f"{each.title} {criterion.effect_text(found)}")
    if not told:
        return []
    return [f"With chance and all that is assumed together, there may be no gain: {'; '.join(told)}."]


def doubted(advice: Advice) -> list[str]:
    """Whether the advice holds with other values of what is assumed."""
    change = advice.best or advice.best_beyond
    if change is None or advice.confirmed is None:
        return []
    wanted = advice.standing(change)
    if wanted not in (Standing.BETTER, Standing.TRADE):
        return []
    if not advice.doubted and not advice.unvaried and not advice.undoubted:
        return ["The file marks no value as assumed or unknown, so none was varied."]
    holds = [each for each in advice.doubted if each.verdict and each.verdict.standing(change.name, OWN) is wanted]
    told = []
    if advice.doubted:
        count = f"{len(holds)} of {len(advice.doubted)} other values of what is assumed"
        left = f" ({advice.undoubted} more did not run to the end)" if advice.undoubted else ""
        told.append(f"With {count}{left}, {change.name} is still {STANDINGS[wanted]}.")
    elif advice.undoubted:
        told.append(f"None of {advice.undoubted} other values of what is assumed ran to the end.")
    if any(each.verdict for each in advice.doubted):
        intervals = (f"{each.title} {_predicted(advice, change, each.criterion)}" for each in advice.shown)
        told.append(
            f"By chance and all of these assumptions together, from the means as it is: {'; '.join(intervals)}."
        )
    told += [sentence(each, change) for each in advice.doubted if each not in holds]
    if advice.unvaried:
        listed = dict.fromkeys(f"{each.family} ({each.why})" for each in advice.unvaried)
        told.append(f"Not varied: {'; '.join(listed)}.")
    return told


def _predicted(advice: Advice, change: Change, criterion: Criterion) -> str:
    """From which mean to where the change leads, with the predicted interval, and the difference or factor."""
    before, found = t_interval(advice.values[OWN][criterion.id]).estimate, advice.predicted(change, criterion)
    text = criterion.effect_text(found)
    if found.low is None or found.high is None:
        return text

    def after(by: float) -> float:
        moved = before * by if criterion.scale == "ratio" else before + by
        return min(moved, 1.0) if criterion.kind == "fairness" else moved

    low, high = (number(after(end)) for end in (found.low, found.high))
    return f"{number(before)} → {number(after(found.estimate))} [{low}, {high}]{_unit(criterion)} ({text})"


def placed(advice: Advice) -> list[str]:
    """Where the network lies in the population, and what the change is worth in its nearest networks."""
    place = advice.place
    if place is None:
        return []
    count, near = len(place.names), ", ".join(place.nearest(NEAREST))
    apart = "; ".join(_unusual(each, value, rank) for each, value, rank in place.unusual)
    told = [
        f"Of {count} drawn networks, {near} are nearest. By {len(place.ranks) - len(place.unusual)} of {len(place.ranks)} properties this one lies between "
        f"the 10 and 90 % quantiles{f'; else {apart}' if apart else ''}."
    ]
    change = advice.best or advice.best_beyond
    judged = [each for each in advice.tried if each.verdict]
    if change and judged:
        by_standing: dict[Standing, list[str]] = {}
        for each in judged:
            assert each.verdict is not None
            by_standing.setdefault(each.verdict.standing(change.name, OWN), []).append(each.name)
        listed = "; ".join(f"{STANDINGS[standing]} in {', '.join(names)}" for standing, names in by_standing.items())
        told.append(f"{change.name} in the nearest networks: {listed}.")
    told += [f"{each.name}: not tried there: {each.refused.rstrip('.')}." for each in advice.tried if not each.verdict]
    return told


def _unusual(each: Property, value: float, rank: float) -> str:
    than = f"more than in {100 * rank:.0f} %" if rank > 0.5 else f"less than in {100 * (1 - rank):.0f} %"
    return f"{each.heading}: {number(value)}, {than}"


def sentence(each: Doubted, change: Change) -> str:
    """What becomes of the change with another value of an assumption."""
    what = f"{each.doubt.family}: {each.doubt.other}"
    if each.verdict is None:
        return f"{what}: the change does not apply."
    return f"{what}: {STANDINGS[each.verdict.standing(change.name, OWN)]}."


def ranking(advice: Advice) -> list[Change]:
    """The settable changes, the better ones first."""
    verdict = advice.search
    if verdict is None:
        return []
    order = [
        Standing.BETTER,
        Standing.TRADE,
        Standing.THRESHOLD,
        Standing.OPEN,
        Standing.EQUAL,
        Standing.WORSE,
        Standing.UNFINISHED,
    ]
    names = [name for name in verdict.contenders if name != OWN]
    names.sort(
        key=lambda name: (
            advice.best is None or name != advice.best.name,
            order.index(verdict.standing(name, OWN)),
            verdict.shortfall(name),
        )
    )
    return [advice.changes[name] for name in names]


def searched(advice: Advice, change: Change) -> tuple[str, int, Sequence[tuple[str, str]]]:
    """A row of the ranking: what the search says, with how many seeds, and by goal and of the total the means and the effect. The effects of the best are too good."""
    state, seeds = _standing_and_seeds(advice, change)
    told = []
    for each in advice.shown:
        mine, own = _searched_values(advice, change, each.criterion)
        means = " → ".join(number(t_interval(values).estimate) for values in (own, mine))
        told.append((means, each.criterion.effect_text(each.criterion.effect(mine, own))))
    return state, seeds, told


def searched_in_short(advice: Advice, change: Change) -> tuple[str, int, Sequence[str]]:
    """The same for a narrow table below a row with the values as it is: the mean and the effect; with fewer seeds than that row the effect alone."""
    state, seeds = _standing_and_seeds(advice, change)
    told = []
    for each in advice.shown:
        mine, own = _searched_values(advice, change, each.criterion)
        by = each.criterion.effect_text(each.criterion.effect(mine, own), interval=False)
        is_below = len(own) == len(advice.searched[OWN][each.criterion.id])
        told.append(f"{number(t_interval(mine).estimate)} ({by})" if is_below else f"({by})")
    return state, seeds, told


def searched_as_it_is(advice: Advice) -> tuple[int, Sequence[str]]:
    """The number of seeds of the scenario as it is, and its mean by goal and of the total, on the seeds of the search."""
    values = [advice.searched[OWN][each.criterion.id] for each in advice.shown]
    return len(values[0]), [number(t_interval(each).estimate) for each in values]


def _standing_and_seeds(advice: Advice, change: Change) -> tuple[str, int]:
    verdict = advice.search
    assert verdict is not None
    return STANDINGS[verdict.standing(change.name, OWN)], verdict.replications(change.name)


def _searched_values(advice: Advice, change: Change, criterion: Criterion) -> tuple[Values, Values]:
    """The values with the change and without it, by the seeds that both have."""
    mine, own = (advice.searched[name][criterion.id] for name in (change.name, OWN))
    both = min(len(mine), len(own))
    return mine[:both], own[:both]


def _searched(advice: Advice, change: Change) -> Standing:
    verdict = advice.search if advice.search and change.name in advice.search.contenders else advice.beyond
    assert verdict is not None
    return verdict.standing(change.name, OWN)


def _open(advice: Advice) -> bool:
    verdict = advice.search
    return verdict is not None and any(
        verdict.standing(name, OWN) is Standing.OPEN for name in verdict.contenders if name != OWN
    )


def is_advised(advice: Advice) -> bool:
    """Whether the best change is better, or a trade-off, on fresh seeds too."""
    return (
        advice.best is not None
        and advice.confirmed is not None
        and advice.standing(advice.best)
        in (
            Standing.BETTER,
            Standing.TRADE,
        )
    )
