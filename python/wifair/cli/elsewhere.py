"""Wrong usage of commands in messages like all others: which option or value is wrong, and what is allowed.

An unknown option is answered with the other commands that have it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from typer import BadParameter
from typer.core import TyperCommand, TyperGroup

from wifair.errors import InputError

if TYPE_CHECKING:
    from pydantic import ValidationError
    from typer import Context

# Options of other commands that `wifair sweep` takes from the study file, by their keys there.
IN_STUDIES = {"--seeds": "replications", "--precision": "precision"}


# More characters than any sentence has.
LONGEST = 1000

LISTS = "`wifair new` without a name lists the scenarios, `wifair schemes` the schemes."


# What typer raises for wrong usage; typer does not export it.
UsageError: Any = BadParameter.__base__

# Words for what pydantic found wrong with a value.
KINDS = {"int_parsing": "whole numbers", "int_from_float": "whole numbers", "float_parsing": "numbers"}


class Commands(TyperGroup):
    """The commands. `list` is none: the error says what lists."""

    def invoke(self, ctx: Context) -> Any:  # type: ignore[override]  # its type is of typer's own click
        """Runs the command that was asked for."""
        with _in_our_words():
            return super().invoke(ctx)

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:  # type: ignore[override]  # its type is of typer's own click
        """Parses the arguments before the command's name."""
        with _in_our_words():
            return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Context, args: list[str]) -> Any:  # type: ignore[override]  # its type is of typer's own click
        """The command that the first argument names."""
        if args and args[0] == "list":
            raise InputError(f"there is no command list. {LISTS}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Context, formatter: Any) -> None:  # type: ignore[override]  # its type is of typer's own click
        """Lists the commands, each with its whole first sentence, on a second line where it is long."""
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        rows = [(name, command.get_short_help_str(LONGEST)) for name, command in commands if command]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


class Command(TyperCommand):
    """A command. The error for an unknown option names the nearest ones, and the commands that have it."""

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:  # type: ignore[override]  # its type is of typer's own click
        """Parses the arguments."""
        try:
            return super().parse_args(ctx, args)
        except Exception as error:
            if type(error).__name__ != "NoSuchOption":  # typer does not export it
                raise
            name: str = error.option_name  # type: ignore[attr-defined]
            others = having(name, ctx.parent.command if ctx.parent else None)
            own = [option for found in self.params for option in found.opts]
            told = [f"there is no option {name}."]
            if near := get_close_matches(name, own, n=1, cutoff=0.85 if others else 0.6):
                told.append(f"Did you mean {near[0]}?")
            if self.name == "new" and name == "--list":
                told.append(LISTS)
            if self.name == "sweep" and name in IN_STUDIES:
                told.append(f"A study file has the key `{IN_STUDIES[name]}` for it.")
            if others:
                told.append(f"{_listed(others)} {'has' if len(others) == 1 else 'have'} it.")
            raise InputError(f"{' '.join(told)} `{ctx.command_path} --help` lists the options.") from None


@contextmanager
def _in_our_words() -> Iterator[None]:
    """Raises `InputError` for wrong usage. What prints the help is no error."""
    try:
        yield
    except UsageError as error:
        if type(error).__name__ == "NoArgsIsHelpError":
            raise
        raise InputError(_told(error)) from None


def _told(error: Any) -> str:
    """What is wrong with the usage of a command."""
    path = error.ctx.command_path if error.ctx else "wifair"
    kind, message = type(error).__name__, str(error.format_message()).rstrip(".")
    if kind == "MissingParameter":
        return f"{error.param.metavar or error.param.opts[-1]} is missing. `{path} --help` says what it is."
    if kind == "BadParameter" and type(error.__cause__).__name__ == "ValidationError":
        return _of_value(error.param, error.__cause__)
    if kind == "BadOptionUsage":
        return f"{error.option_name}: {'needs a value' if 'requires' in message else 'takes no value'}."
    if kind == "NoSuchOption":
        near = get_close_matches(error.option_name, error.possibilities or [], n=1, cutoff=0.7)
        asked = f" Did you mean {near[0]}?" if near else ""
        return f"there is no option {error.option_name}.{asked} `{path} --help` lists the options."
    if "unexpected extra argument" in message:
        return f"{message.rpartition('(')[2].rstrip(')')}: is more than the command takes. `{path} --help` says what it takes."
    if message.startswith("No such command"):
        message = message.replace("No such command", "there is no command").replace("'", "")
        end = "" if message.endswith("?") else "."
        return f"{message}{end} `{path} --help` lists the commands."
    return f"{message[:1].lower()}{message[1:]}. `{path} --help` says what it takes."


def _of_value(param: Any, cause: ValidationError) -> str:
    """What is wrong with the value of an option, and what is allowed."""
    [found, *_] = cause.errors(include_url=False)
    kind, least, message = KINDS.get(found["type"], ""), getattr(param, "min", None), found["msg"]
    if kind or found["type"] == "greater_than_equal":
        allowed = " ".join([kind or "numbers", *([] if least is None else [f"from {least} on"])])
    else:
        allowed = message.removeprefix("Input should be ").replace("'", "")
    value = repr(found["input"]) if kind else found["input"]
    return f"{param.opts[-1]}: {value} is not allowed; allowed here: {allowed}."


def having(option: str, group: Any) -> list[str]:
    """The commands of a group that have an option."""
    commands = getattr(group, "commands", {}).items()
    return [name for name, command in commands if any(option in found.opts for found in command.params)]


def _listed(names: list[str]) -> str:
    quoted = [f"`{name}`" for name in names]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} and {quoted[-1]}"
