"""Advice for one network: what to change at its access point, what that is worth, and the commands.

channels.py    the channels that a BSS could move to
commands.py    the commands that make a change and undo it
changes.py     the changes that are tried
yardsticks.py  what they are judged by: goals, criteria of the scenario, flows
measurable.py  which flows a goal is about, and goals that nothing there can be measured by
rule.py        the sequential rule: which change is best, with as many replications as that needs
line.py        whether packets wait for the line, which no change is about
doubts.py      assumptions of the scenario with other values
advice.py      the advice: search, confirmation on fresh seeds, assumptions
measured.py    whether the scenario shows what was measured, and which goals rest on what it does not show
wording.py     the advice in sentences
predicted.py   what the access point would show of the best change
document.py    the advice as JSON
"""

from typing import TYPE_CHECKING

from wifair.names import face

if TYPE_CHECKING:
    from wifair.advising.advice import *  # noqa: F403

__getattr__ = face(__name__, "advice")
