"""Reads `iw dev DEVICE survey dump`: the channel in use, and how much of the time it was busy.

The form is that of `print_survey_handler` in iw's survey.c.
"""

from __future__ import annotations

import re
from dataclasses import replace

from wifair.errors import InputError
from wifair.observed.lines import lines
from wifair.observed.network import Observed, Survey, read

NAME = "iw survey dump"
_HEAD = "Survey data from "
_FREQUENCY = re.compile(r"(\d{1,6}) MHz(?: \[in use\])?", re.ASCII)
_TIMES = {
    "channel active time": "active_ms",
    "channel busy time": "busy_ms",
    "channel receive time": "receive_ms",
    "channel transmit time": "transmit_ms",
}


def recognises(head: str) -> bool:
    """Whether a text begins like one."""
    return head.lstrip().startswith(_HEAD)


def read_into(observed: Observed, file: str, content: str) -> None:
    """Adds the channel in use, of each survey in the file. Raises `InputError` if there is none, or for a value that iw does not print."""
    surveys: list[Survey] = []
    in_use, device, devices = False, "", set[str]()
    for line in lines(file, content):
        name, colon, value = (part.strip() for part in line.text.partition(":"))
        if line.text.startswith(_HEAD):
            in_use, device = False, line.text.removeprefix(_HEAD).strip()
        elif name == "frequency" and colon:
            frequency = _FREQUENCY.fullmatch(value)
            if not frequency:
                raise line.error(name, value, "such as 5180 MHz [in use]")
            in_use = value.endswith("[in use]")
            if in_use and devices and device not in devices:
                raise line.error(name, value, "channels in use of one device; import one device at a time")
            if in_use:
                devices.add(device)
                surveys.append(Survey())
                observed.frequency_mhz = read(int(frequency[1]), name, line.place)
        elif in_use and name in _TIMES:
            counted = read(line.count(name, value, "ms"), name, line.place)
            surveys[-1] = replace(surveys[-1], **{_TIMES[name]: counted})
    if not surveys:
        raise InputError(f"{file}: no channel is marked; allowed here: a survey with one frequency `[in use]`.")
    for survey in surveys:
        _add(observed, survey)


def _add(observed: Observed, survey: Survey) -> None:
    """Adds a survey, which counts alone if it does not continue the one before."""
    if observed.surveys and survey.since(observed.surveys[-1]) is None:
        if survey.active_ms:
            observed.alone.append(survey.active_ms.place)
        observed.surveys.clear()
    observed.surveys.append(survey)
