"""The paper `adaptive-pushout`: Figs. 3 to 6 and every sentence that states a result.

K. Hayashi, S. Shioda, N. Komuro, S. Sakata, T. Murase: Adaptive Pushout: A Buffer Management Scheme to Improve TCP
Fairness in Wireless LANs, VTC Spring 2012.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from wifair.claims import judge
from wifair.errors import InputError
from wifair.papers import Reproduction, Sensitivity
from wifair.papers.adaptive_pushout.claims import CLAIMS
from wifair.papers.adaptive_pushout.measured import Measured, measured
from wifair.papers.adaptive_pushout.study import ALL_MIXES, ALTERNATIVES, FORMS, MIXES_OF_FIGURE, SCHEMES, cells
from wifair.results import merged
from wifair.study import Study, run_studies

if TYPE_CHECKING:
    from wifair.results import Results
    from wifair.study import Progress

TITLE = "Adaptive Pushout: A Buffer Management Scheme to Improve TCP Fairness in Wireless LANs"
FIGURES = tuple(MIXES_OF_FIGURE)
BASELINE = "baseline"


def reproduce(
    form: str, figure: str | None, seeds: int | None, threads: int | None, progress: Progress | None
) -> Reproduction:
    """Runs the study, judges the claims, and weighs the other readings.

    With a figure, only its mixes are run, and only its claims judged, in the baseline alone.
    """
    if figure is not None and figure not in FIGURES:
        raise InputError(f"figure {figure!r} is not in this paper's study; allowed here: {', '.join(FIGURES)}.")
    size = FORMS[form]
    count = seeds or size.seeds
    mixes = MIXES_OF_FIGURE[figure] if figure else ALL_MIXES
    claims = [claim for claim in CLAIMS if figure is None or claim.figure == figure]
    grid = cells(mixes, size)
    alternatives = ALTERNATIVES if figure is None and size.alternative_seeds else ()
    other_count = min(count, size.alternative_seeds)
    studies = [Study(grid, count)]
    studies += [Study(cells(mixes, size, alternative), other_count) for alternative in alternatives]
    results = run_studies(studies, threads, progress)
    baseline = measured(results[0], BASELINE)
    return Reproduction(
        results=merged(results),
        judgements=[judge(claim, baseline) for claim in claims],
        sensitivities=sensitivities(baseline, dict(zip((a.id for a in alternatives), results[1:], strict=True))),
        draw=lambda folder: _draw(baseline, figure, folder, size.figure_formats),
        conditions={
            "form": form,
            "replications": count,
            "replications_of_alternatives": other_count if alternatives else 0,
            "warmup_s": size.warmup_s,
            "duration_s": size.duration_s,
            "dialect": "ns-2",
            "schemes": list(SCHEMES),
        },
    )


def _draw(baseline: Measured, figure: str | None, folder: Path, endings: tuple[str, ...]) -> Mapping[str, list[Path]]:
    from wifair.papers.adaptive_pushout.figures import draw

    return draw(baseline, [figure] if figure else list(FIGURES), folder, endings)


def sensitivities(baseline: Measured, alternatives: Mapping[str, Results]) -> list[Sensitivity]:
    """The verdicts under each other reading that differ from the baseline's with the same seeds.

    The last one is no other simulation but another notion of throughput.
    """
    if not alternatives:
        return []
    count = len(next(iter(alternatives.values())).seeds)
    reference = baseline.first(count)
    expected = {claim.id: judge(claim, reference).verdict for claim in CLAIMS}

    def changed(reading: Measured) -> dict[str, tuple[str, str]]:
        verdicts = {claim.id: judge(claim, reading).verdict for claim in CLAIMS}
        return {
            name: (expected[name].value, verdict.value)
            for name, verdict in verdicts.items()
            if verdict != expected[name]
        }

    told = [
        Sensitivity(a.id, a.question, a.choice, changed(measured(alternatives[a.id], a.id).over(reference)), count)
        for a in ALTERNATIVES
        if a.id in alternatives
    ]
    by_ip = changed(reference.counting("throughput_ip_mbps"))
    told.append(Sensitivity("ip-bytes", "What does throughput count?", "IP bytes that arrive", by_ip, count))
    return told
