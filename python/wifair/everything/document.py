"""A contest's whole result as the content of one JSON document."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wifair.everything.contenders import REFERENCE
from wifair.everything.contest import Contest, Judged, undecided_share
from wifair.everything.criteria import Criterion
from wifair.everything.findings import Overview, conclusion, standings
from wifair.everything.summary import findings
from wifair.everything.verdict import Effect, Verdict
from wifair.results.results import interval_fields, versions
from wifair.stats import LEVEL

# Factors on the differences that matter, for sensitivity.
OTHER_MARGINS = (0.5, 2.0)


def document(contest: Contest, settings: Sequence[Judged]) -> dict[str, Any]:
    """The rule, the schemes, every setting with values and verdict, every scheme's record, the findings."""
    overview = Overview(settings)
    return {
        "form": contest.form,
        "stages": list(contest.stages),
        "reference": REFERENCE,
        "level": LEVEL,
        "versions": versions(),
        "undecided_share": undecided_share(settings),
        "findings": findings(overview),
        "schemes": [{"name": contender.name, "about": contender.about} for contender in contest.contenders],
        "records": [
            {
                "scheme": record.name,
                "settings": record.ran,
                "shown_to_be_unbeaten": record.shown,
                "unbeaten": record.unbeaten,
                "best_by_everything": record.winner,
                "best_by_kind": dict(record.best),
                "median_worst_shortfall_in_what_matters": record.shortfall,
                f"against_{REFERENCE}": {standing.value: count for standing, count in record.standings.items()},
            }
            for record in overview.records
        ],
        "settings": [_setting(judged) for judged in settings],
    }


def _setting(judged: Judged) -> dict[str, Any]:
    setting, verdict = judged.setting, judged.verdict
    return {
        "id": setting.id,
        "scenario": setting.staged.id,
        "title": setting.staged.title,
        "source": setting.staged.source,
        "why": setting.staged.why,
        "senders": setting.senders.title,
        "refused": dict(setting.refused),
        "cautions": dict(judged.cautions),
        "conclusion": conclusion(judged),
        "best_by_everything": verdict.winners,
        "not_told_apart_from_the_best_by_anything": verdict.candidates,
        "nearest": verdict.nearest,
        "shown_to_be_unbeaten": verdict.shown,
        "unbeaten": verdict.unbeaten,
        "out": sorted(verdict.out),
        "worst_shortfall_in_what_matters": {name: verdict.shortfall(name) for name in verdict.contenders},
        "unbeaten_if_what_matters_were_times": {
            f"{factor:g}": verdict.with_margins(factor).unbeaten for factor in OTHER_MARGINS
        },
        "error_of_each_comparison": verdict.error,
        f"against_{REFERENCE}": {standing.value: names for standing, names in standings(judged).items() if names},
        "criteria": [_criterion(verdict, criterion) for criterion in verdict.criteria],
        "differences": [_effect(effect) for effect in verdict.against(REFERENCE)],
    }


def _criterion(verdict: Verdict, criterion: Criterion) -> dict[str, Any]:
    return {
        "id": criterion.id,
        "kind": criterion.kind,
        "title": criterion.title,
        "unit": criterion.unit,
        "better": criterion.better,
        "judged": criterion.judged,
        "compared_by": criterion.scale,
        "matters_from": criterion.matters,
        "best": verdict.best(criterion),
        "schemes": [
            {
                "scheme": name,
                "replications": verdict.replications(name),
                **interval_fields(verdict.mean(name, criterion)),
                "values": list(map(float, values[: verdict.replications(name)])),
            }
            for name, values in zip(verdict.contenders, verdict.values[criterion.id], strict=True)
        ],
    }


def _effect(effect: Effect) -> dict[str, Any]:
    return {
        "scheme": effect.contender,
        "criterion": effect.criterion.id,
        "is": "factor" if effect.criterion.scale == "ratio" else "difference",
        "effect": effect.effect.estimate,
        "ci_low": effect.effect.low,
        "ci_high": effect.effect.high,
        "runs": effect.effect.n,
        "p_holm": effect.p,
        "standing": effect.standing.value,
    }
