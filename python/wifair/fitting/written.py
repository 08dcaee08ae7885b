"""The scenario file with the values of a fit.

A value that the measurement determines gets a comment `fitted:` with the other values that fit as well, which `wifair advise` tries. One that it does not
determine stays as it was.
"""

from __future__ import annotations

import tomllib

from wifair.advising.doubts import value_at
from wifair.errors import InputError
from wifair.fitting.fitting import Fitted
from wifair.observed.origins import FITS_AS_WELL, replaced
from wifair.scenario.scenario import Scenario
from wifair.toml_text import value


def text(fitted: Fitted, original: str, measured: str) -> str:
    """The file. Raises `InputError` if a value cannot be replaced in it."""
    settings, new = fitted.scenario.settings(), {}
    as_it_was = Scenario.from_settings(tomllib.loads(original)).settings()
    for freedom, estimate in zip(fitted.freedoms, fitted.estimates, strict=True):
        for mark in freedom.marks if estimate.is_known else ():
            found, old = value_at(settings, mark), value_at(as_it_was, mark)
            if found is not None:
                others = [value(freedom.change(mark, old, each)) for each in estimate.others]
                listed = f"{FITS_AS_WELL}[{', '.join(others)}]; " if others else ""
                new[mark.path] = (
                    value(found),
                    f"fitted: {listed}to {measured}; before that {freedom.why.replace(': ', ', ', 1)}",
                )
    made = replaced(original, new)
    try:
        Scenario.from_settings(tomllib.loads(made)).plan()
    except (tomllib.TOMLDecodeError, InputError) as error:
        raise InputError(
            f"--out: a fitted value has no place in the file: {error}; allowed here: a file with one line per marked value."
        ) from None
    return made
