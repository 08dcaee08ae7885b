"""Which reader reads a file of a survey: that which recognises its beginning."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from wifair.errors import InputError
from wifair.files import read_text
from wifair.surveys import iw_scan, kismet, survey_csv
from wifair.surveys.heard import Heard

# Each has NAME, `recognises(head)` of the beginning, and `read_into(found, file, content, at)`.
READERS: tuple[ModuleType, ...] = (iw_scan, kismet, survey_csv)
HEAD = 16_384
AP = "ap"


def heard_in(files: Sequence[str]) -> dict[str, Heard]:
    """The BSSs of the files by address. `NODE=FILE` says at which of the own nodes a file was measured, by default `ap`."""
    found: dict[str, Heard] = {}
    for told in files:
        at, separator, name = told.partition("=")
        at, name = (at, name) if separator and at and not Path(told).exists() else (AP, told)
        text = read_text(Path(name), name)
        reader = next((each for each in READERS if each.recognises(text[:HEAD])), None)
        if reader is None:
            names = ", ".join(each.NAME for each in READERS)
            raise InputError(f"{name}: its beginning is that of no known file; allowed here: {names}.")
        reader.read_into(found, name, text, at)
    return found
