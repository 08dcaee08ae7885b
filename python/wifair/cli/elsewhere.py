"""Commands that say which other command has an option that they do not have."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from typer.core import TyperCommand, TyperGroup

from wifair.errors import InputError

if TYPE_CHECKING:
    from typer import Context

# Options of other commands that `wifair sweep` takes from the study file, by their keys there.
IN_STUDIES = {"--seeds": "replications", "--precision": "precision"}


# More characters than any sentence has.
LONGEST = 1000

LISTS = "`wifair new` without a name lists the scenarios, `wifair schemes` the schemes."


class Commands(TyperGroup):
    """The commands. `list` is none: the error says what lists."""

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


def having(option: str, group: Any) -> list[str]:
    """The commands of a group that have an option."""
    commands = getattr(group, "commands", {}).items()
    return [name for name, command in commands if any(option in found.opts for found in command.params)]


def _listed(names: list[str]) -> str:
    quoted = [f"`{name}`" for name in names]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} and {quoted[-1]}"
