"""The scenario file with the values of a fit.

A value that the measurement determines gets a comment `fitted:`, and `wifair advise` does not vary it any more. One that it does not determine stays as it was.
"""

from __future__ import annotations

import tomllib

from wifair.advising.doubts import value_at
from wifair.errors import InputError
from wifair.fitting.fitting import Fitted
from wifair.observed.origins import replaced
from wifair.scenario.scenario import Scenario
from wifair.toml_text import value


def text(fitted: Fitted, original: str, measured: str) -> str:
    """The file. Raises `InputError` if a value cannot be replaced in it."""
    settings, new = fitted.scenario.settings(), {}
    for freedom, estimate in zip(fitted.freedoms, fitted.estimates, strict=True):
        for mark in freedom.marks if estimate.is_known else ():
            found = value_at(settings, mark)
            if found is not None:
                new[mark.path] = (
                    value(found),
                    f"fitted: to {measured}; before that {freedom.why.replace(': ', ', ', 1)}",
                )
    made = replaced(original, new)
    try:
        Scenario.from_settings(tomllib.loads(made)).plan()
    except (tomllib.TOMLDecodeError, InputError) as error:
        raise InputError(
            f"--out: a fitted value has no place in the file: {error}; allowed here: a file with one line per marked value."
        ) from None
    return made
