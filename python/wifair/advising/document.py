"""The advice as the content of one JSON document."""

from __future__ import annotations

from typing import Any

from wifair.advising import measured, wording
from wifair.advising.advice import NEAREST, OWN, Advice
from wifair.advising.changes import Change
from wifair.advising.predicted import predicted
from wifair.advising.yardsticks import Yardstick
from wifair.population.properties import PROPERTIES
from wifair.stats import t_interval


def document(advice: Advice) -> dict[str, Any]:
    """All of the advice. Effects under `confirmed` are those on fresh seeds."""
    chosen = [change for change in (advice.best, advice.best_beyond) if change]
    prediction = predicted(advice)
    return {
        "advice": measured.headline(advice),
        "goals": [{"goal": each.title, "metric": each.criterion.id} for each in advice.yardsticks],
        **({"bss": advice.bss} if advice.bss else {}),
        "best": advice.best.name if advice.best else None,
        "best_without_command": advice.best_beyond.name if advice.best_beyond else None,
        "measured": measured.document(advice),
        "confirmed": [_confirmed(advice, change) for change in chosen] if advice.confirmed else [],
        "changes": [_searched(advice, change) for change in wording.ranking(advice)],
        "assumptions": _assumptions(advice),
        "population": _population(advice),
        "prediction": prediction.document() if prediction else None,
        "assumptions_not_finished": advice.undoubted,
        "not_varied": [{"key": each.family, "why": each.why} for each in advice.unvaried],
        "remarks": list(advice.remarks),
        "replications": advice.runs,
    }


def _commands(change: Change) -> dict[str, Any] | None:
    told = change.commands
    if told is None:
        return None
    return {
        "tool": told.tool,
        "set": list(told.do),
        "undo": list(told.undo),
        "lasting": told.lasting,
        "assumes": told.assumed,
    }


def _confirmed(advice: Advice, change: Change) -> dict[str, Any]:
    return {
        "change": change.name,
        "standing": advice.standing(change).value,
        "effects": [_effect(advice, change, each) for each in advice.yardsticks],
        "total": _effect(advice, change, advice.total) if advice.total else None,
        "bounds": wording.bounds(advice, change.name),
        "gain": wording.winners(advice, change),
        "lose": wording.losers(advice, change),
        **(
            {"others": wording.others_in_short(advice, change), "side_effects": list(advice.side_effects(change))}
            if advice.bss
            else {}
        ),
        "commands": _commands(change),
    }


def _effect(advice: Advice, change: Change, each: Yardstick) -> dict[str, Any]:
    """What a change does by a goal, or to the total. The means are those without a bound."""
    criterion = each.criterion
    found, assumed = advice.effect(change, criterion), advice.predicted(change, criterion)
    before, after = (t_interval(advice.values[name][criterion.id]).estimate for name in (OWN, change.name))
    return {
        "goal": each.title,
        "unit": criterion.unit,
        "before": before,
        "after": after,
        "standing": advice.standing_by(change, each).value,
        "scale": criterion.scale,
        "effect": found.estimate,
        "ci_low": found.low,
        "ci_high": found.high,
        "assumed_low": assumed.low,
        "assumed_high": assumed.high,
        "runs": found.n,
    }


def _searched(advice: Advice, change: Change) -> dict[str, Any]:
    state, seeds, effects = wording.searched(advice, change)
    return {
        "change": change.name,
        "search": state,
        "seeds": seeds,
        "effects": [f"{means} ({effect})" for means, effect in effects],
        **({"others": wording.others_in_short(advice, change)} if advice.bss else {}),
        "settings": dict(change.settings),
        "commands": _commands(change),
    }


def _assumptions(advice: Advice) -> list[dict[str, Any]]:
    change = advice.best or advice.best_beyond
    if change is None:
        return []
    return [
        {
            "key": each.doubt.family,
            "why": each.doubt.why,
            "other": each.doubt.other,
            "standing": each.verdict.standing(change.name, OWN).value if each.verdict else None,
            "refused": each.refused,
        }
        for each in advice.doubted
    ]


def _population(advice: Advice) -> dict[str, Any] | None:
    place, change = advice.place, advice.best or advice.best_beyond
    if place is None:
        return None
    properties = zip(PROPERTIES, place.own, place.ranks, strict=True)
    return {
        "networks": len(place.names),
        "nearest": place.nearest(NEAREST),
        "properties": [
            {"property": each.name, "unit": each.unit, "value": float(value), "rank": float(rank)}
            for each, value, rank in properties
        ],
        "tried": [
            {
                "network": each.name,
                "standing": each.verdict.standing(change.name, OWN).value if each.verdict and change else None,
                "refused": each.refused,
            }
            for each in advice.tried
        ],
    }
