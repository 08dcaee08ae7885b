"""What the access point would show before and after the best change, for `wifair check-prediction`."""

from __future__ import annotations

from wifair.advising.advice import OWN, Advice
from wifair.advising.changes import Change
from wifair.observed.shown import network, of_runs
from wifair.planned import bsss_of
from wifair.prediction.prediction import Other, Pair, Prediction
from wifair.results.results import Results
from wifair.tuning.probes import PROBE


def predicted(advice: Advice) -> Prediction | None:
    """The prediction for the best change, from the fresh seeds and from those of the assumptions; None without a confirmed change, and for another BSS than the first."""
    change = advice.best or advice.best_beyond
    if change is None or advice.fresh is None:
        return None
    plan = advice.plan
    if advice.bss and advice.bss != next(iter(bsss_of(advice.scenario.plan()))):
        return None  # runs show what the first access point shows
    stations, flows = network(
        {**plan, "flows": [flow for flow in plan["flows"] if not flow["label"].startswith(PROBE)]}
    )
    others = [
        Other(each.doubt.family, each.doubt.why, each.doubt.other, _pair(each.results, change))
        for each in advice.doubted
        if each.results is not None
    ]
    return Prediction(
        change.name,
        change.settings,
        plan["run"]["duration_s"],
        stations,
        flows,
        _pair(advice.fresh, change),
        tuple(others),
    )


def _pair(results: Results, change: Change) -> Pair:
    return Pair(of_runs(results, OWN), of_runs(results, change.name))
