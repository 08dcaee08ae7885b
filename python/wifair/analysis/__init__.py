"""Analyses of scenarios and of their results.

check/                         likely mistakes in a scenario, found without simulating it
comparison.py                  differences under common random numbers
sweep.py                       a grid over a scenario's keys
precision.py                   how many replications an interval of given width needs
warmup.py                      whether the warm-up is long enough
explain.py, explain_groups.py  what limited a flow, or a group of like flows
conclusion.py                  what is full in a network, and what is worth trying
"""
