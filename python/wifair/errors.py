"""The errors that a user may meet. Each is one message; the command line turns it into an exit status."""

from __future__ import annotations


class WifairError(Exception):
    """Something failed; the message says what."""

    exit_status = 1


class InputError(WifairError):
    """What was asked for cannot be done as asked: a wrong option, a missing file, a folder that cannot be written."""

    exit_status = 2


class ScenarioError(InputError):
    """A key of a scenario that is not accepted.

    `key` is the path of the key as the user writes it, `value` the value as written, `allowed` what would be
    accepted there, `hint` the nearest right spelling if there is one.
    """

    def __init__(self, key: str, problem: str, *, value: object = None, allowed: str = "", hint: str = "") -> None:
        self.key = key
        self.value = value
        self.allowed = allowed
        self.hint = hint
        text = f"{key}: {problem}" if key else problem
        if hint:
            text += f"; did you mean {hint}?"
        if allowed:
            text += f" Allowed here: {allowed}." if hint else f"; allowed here: {allowed}."
        elif not hint:
            text += "."
        super().__init__(text)


class SchemeError(WifairError):
    """A scheme written in Python raised an exception: the message has its traceback.

    The exception itself is the `__cause__`, unless it happened in another process.
    """


class Interrupted(WifairError):
    """The user stopped the work; what was finished has been kept as the message says."""

    exit_status = 130
