"""The margins for the paper's words of degree, the same two in every claim.

`MUCH` is a ratio of 1.3: "much", "significant", "very pronounced", "severe" and "dramatic" require it. It is the
smallest ratio that the paper itself describes so next to a number, rounded down: the fairness index is improved
"significantly" by 32 %, and uplinks of 1.5 Mbps over downlinks of 1.0 Mbps are a "very pronounced" unfairness.

`NOTICEABLE` is a ratio of 1.05: required of a difference that the paper calls an unfairness, or uses in an argument,
without a word of degree. Smaller differences show in simulations with enough replications, but in no measurement of the
paper.
"""

MUCH = 1.3
NOTICEABLE = 1.05
