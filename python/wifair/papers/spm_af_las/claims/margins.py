"""What the paper's words of degree stand for: the same two margins in every claim.

`MUCH` is a ratio of 1.3: "much", "significant", "very pronounced", "severe" and "dramatic" all have to reach it. It is the
smallest ratio that the paper itself describes so next to a number, rounded down: the fairness index is improved
"significantly" by 32 %, and uplinks of 1.5 Mbps over downlinks of 1.0 Mbps are a "very pronounced" unfairness.

`NOTICEABLE` is a ratio of 1.05: a difference has to reach it where the paper calls it an unfairness, or builds an argument on
it, without a word of degree. Less is visible in a simulation of enough replications, and in no measurement of the paper's.
"""

MUCH = 1.3
NOTICEABLE = 1.05
