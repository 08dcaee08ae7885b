"""Questions put to scenarios and their results.

check.py         what is odd about a scenario, before anything is simulated
comparison.py    differences under common random numbers
sweep.py         a grid over a scenario's keys
precision.py     how many replications an interval takes
warmup.py        whether the warm-up is long enough
explain.py, explain_groups.py    why a flow, or a group of like flows, got what it got
"""
