"""The errors that users see. Each has one message; the command line maps it to an exit status."""

from __future__ import annotations


class WifairError(Exception):
    """Base of all errors of wifair."""

    exit_status = 1


class InputError(WifairError):
    """Bad input: a wrong option, a missing file, a folder that is not writable."""

    exit_status = 2


class ScenarioError(InputError):
    """An invalid key or value of a scenario.

    `key` is the path of the key as the user writes it, `value` the value as written, `allowed` what is accepted there,
    `hint` the nearest right spelling if there is one.
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
    """The user interrupted the work. The message says where finished results are."""

    exit_status = 130
