"""Rates of several links, each drawn toward what the others have by as much as its few frames leave open.

What is read of a link differs from its rate by chance, and rates differ from link to link: less among links that are alike than among others. Both variances follow from the
values by the method of moments of R. DerSimonian and N. Laird (Meta-analysis in clinical trials, Controlled Clinical Trials 7, 1986). With these, a rate is the mean of what
was read and of what links like it have, weighted by what each leaves open: the empirical Bayes estimate of B. Efron and C. Morris (Data analysis using Stein's estimator, JASA
70, 1975). If the values differ by no more than chance, all rates are the same.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from wifair.stats import Values


def drawn_together(values: Values, variances: Values, alike: Sequence[Hashable]) -> Values:
    """The rates. `variances` are those of chance, all positive, and links with the same mark in `alike` are alike."""
    if not len(values):
        return values
    members = [np.array([each == mark for each in alike]) for mark in dict.fromkeys(alike)]
    within = _excess_variance(values, variances, members)
    own = variances + within
    means = np.array([_mean(values[of], own[of]) for of in members])
    open_ = np.array([1 / np.sum(1 / own[of]) for of in members])
    between = _excess_variance(means, open_, [np.full(len(means), fill_value=True)])
    middle = _mean(means, open_ + between)
    found = np.empty_like(values)
    for of, mean, variance in zip(members, means, open_, strict=True):
        group = middle + (mean - middle) * between / (between + variance) if len(means) > 1 else mean
        found[of] = group + (values[of] - group) * within / own[of]
    return found


def _mean(values: Values, variances: Values) -> float:
    return float(np.sum(values / variances) / np.sum(1 / variances))


def _excess_variance(values: Values, variances: Values, members: Sequence[Values]) -> float:
    """By how much values of these groups vary beyond chance around the mean of their group; 0 if no group has two."""
    spread, freedom, scale = 0.0, 0, 0.0
    for of in members:
        weights = 1 / variances[of]
        spread += float(np.sum(weights * (values[of] - _mean(values[of], variances[of])) ** 2))
        freedom += len(weights) - 1
        scale += float(np.sum(weights) - np.sum(weights**2) / np.sum(weights))
    return max(spread - freedom, 0.0) / scale if freedom else 0.0
