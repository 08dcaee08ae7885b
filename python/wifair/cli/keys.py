"""`wifair keys`: the keys of a scenario and of its components."""

from __future__ import annotations

import json as json_format
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wifair.cli.options import Json

if TYPE_CHECKING:
    from wifair.errors import InputError
    from wifair.scenario.keys import Key

EXAMPLE = "Example: wifair keys mac.edca"

# Tables that have the keys of a section elsewhere in the file.
LIKE = {"stations": "station", "flows.tcp": "tcp", "flows.station": "station", "bss.ap": "ap", "bss.wire": "wire"}
# A link of Markdown, and one in brackets after the word that it explains.
LINK = re.compile(r"\[([^\]]+)\]\(([^)]*)\)")
ASIDE = re.compile(r" \(\[[^\]]+\]\([^)]*\)\)")

Path = Annotated[
    str | None,
    typer.Argument(
        metavar="PATH",
        help="Show this section (phy), key (mac.edca) or component (web, 802.11ax).",
        show_default=False,
    ),
]


@dataclass(frozen=True)
class Part:
    """A section of a scenario, or a component of a kind, with keys of it."""

    name: str
    heading: str
    about: str
    keys: Sequence[Key]
    kind: str = ""
    source: str = ""


def keys(path: Path = None, json: Json = False) -> None:
    """List the sections of a scenario, which have its keys.

    With a section, a key or the name of a component, show the keys: unit, default, allowed values, and what each sets.
    """
    from wifair.cli.output import print_json

    known = [*_sections(), *_components()]
    found = known if path is None else _found(path, known)
    if json:
        print_json(
            {
                "sections": [_document(part) for part in found if not part.kind],
                "components": [
                    {"kind": part.kind, "source": part.source, **_document(part)} for part in found if part.kind
                ],
            }
        )
    elif path is None:
        print_all(known)
    else:
        print_parts(found)


def print_all(known: Sequence[Part]) -> None:
    """Prints one line per section, and the names of the components."""
    from wifair.cli.output import print_lines, print_text, stdout
    from wifair.cli.tables import GAP, brief
    from wifair.scenario.keys import KINDS

    own, *sections = (part for part in known if not part.kind)
    rows = {
        own.heading: [(key.path, key.about) for key in own.keys],
        "Sections": [(_plain(part.heading), _plain(ASIDE.sub("", part.about))) for part in sections],
    }
    longest = max(len(name) for told in rows.values() for name, _ in told)
    width = stdout().width - longest - 2 * len(GAP)
    for title, told in rows.items():
        print_lines([title, *(f"{GAP}{name.ljust(longest)}{GAP}{brief(about, width)}" for name, about in told), ""])
    print_lines(["Components"])
    for kind, title in KINDS.items():
        names = ", ".join(part.name for part in known if part.kind == kind)
        print_text(f"{title}: {names}", indent=2 * GAP, first=GAP)
    print_lines([""])
    print_text(
        "`wifair keys PATH` has the keys of a section (phy), below a key (mac.edca) or of a component (web). Any key can be set "
        "from the command line: `--set ap.limit_packets=50`, `--set flows[0].count=3`."
    )


def print_parts(found: Sequence[Part]) -> None:
    """Prints the keys of sections and components. The first key of a kind of components has their names."""
    from wifair.cli.output import print_lines, print_text

    named: set[str] = set()
    for part in found:
        about = f": {_linked(part.about)}" if part.about else ""
        print_text(f"{_plain(part.heading)}{about}", indent="  ", first="")
        if part.source:
            print_text(f"Source: {part.source}", indent="  ")
        if not part.keys:
            print_lines(["  It has no parameters."])
        for key in part.keys:
            unit = f" [{key.unit}]" if key.unit else ""
            allowed = f"one of the {key.kind.replace('_', ' ')}" if key.kind in named else _allowed(key)
            print_text(f"{key.path}{unit}{_default(key)}; {allowed}", indent="        ", first="    ")
            if key.about:
                print_text(_linked(key.about), indent="        ")
            named |= {key.kind} - {""}
        print_lines([""])
    if named:
        print_text("`wifair keys NAME` has the parameters of a component.")


def _sections() -> list[Part]:
    from wifair.scenario.reference import sections

    return [Part(section.name, section.heading, section.about, section.keys) for section in sections()]


def _components() -> list[Part]:
    from wifair.scenario.components import components
    from wifair.scenario.keys import KINDS, parameters

    return [
        Part(
            component["name"],
            component["name"],
            component["idea"],
            parameters(kind, component["name"]),
            kind,
            component["source"],
        )
        for kind in KINDS
        for component in components(kind)
    ]


def _found(asked: str, known: Sequence[Part]) -> list[Part]:
    """What a path names: a component, a section, or keys of one.

    Brackets are left out, so that `[phy]`, `[[bss]]` and `flows[0].count` are paths too. Below a key that names a component
    are the parameters of the components that have them.
    """
    if components := [part for part in known if part.kind and part.name == asked]:
        return components
    path = re.sub(r"\[[^\]]*\]", "", asked.strip("[]") if asked.startswith("[") else asked)
    for place, like in LIKE.items():
        if path == place == "stations" or path.startswith(f"{place}."):
            path = like + path.removeprefix(place)
    own, *sections = (part for part in known if not part.kind)
    if of_file := [key for key in own.keys if key.path == path]:
        return [replace(own, keys=of_file)]
    name, _, below = path.partition(".")
    section = next((part for part in sections if part.name == name), None)
    if section is None:
        raise _unknown(asked, path, known)
    if not below:
        return [section]
    if found := list(_below(section.keys, below)):
        return [replace(section, keys=found)]
    above = next((key for key in section.keys if key.kind and below.startswith(f"{_bare(key)}.")), None)
    if above is not None:
        parameter = below.removeprefix(f"{_bare(above)}.")
        having = [(part, list(_below(part.keys, parameter))) for part in known if part.kind == above.kind]
        if parts := [replace(part, keys=found) for part, found in having if found]:
            return parts
        for part in known:
            if part.kind == above.kind and part.name == parameter.partition(".")[0]:
                raise _unknown_component(asked, part.name, _bare(above))
    raise _unknown_below(name, below, section)


def _below(among: Sequence[Key], path: str) -> Iterator[Key]:
    """The key with a path, and those of its table."""
    return (key for key in among if _bare(key) == path or _bare(key).startswith(f"{path}."))


def _bare(key: Key) -> str:
    return key.path.replace("[]", "")


def _unknown(asked: str, path: str, known: Sequence[Part]) -> InputError:
    """The error for what is neither a section nor a component. The nearest may also be a key in a section."""
    from wifair.errors import InputError
    from wifair.keys import missing, nearest, some_of

    if lack := missing(path):
        return InputError(f"{asked} is not modelled ({lack}).")
    sections = [part for part in known if not part.kind and part.name]
    paths = list(dict.fromkeys(f"{part.name}.{_bare(key)}" for part in sections for key in part.keys))
    same = sorted((found for found in paths if found.rpartition(".")[2] == path), key=lambda found: found.count("."))
    names = [part.name for part in known if part.name]
    hint = some_of(same, 3, " or ") or nearest(path, names) or nearest(path, paths)
    asked_for = f" Did you mean {hint}?" if hint else ""
    allowed = (
        f"{', '.join(part.name for part in sections)}, a key in one of them, or a component that `wifair keys` lists"
    )
    return InputError(f"there is no section or component {asked!r}.{asked_for} Allowed here: {allowed}.")


def _unknown_component(asked: str, component: str, key: str) -> InputError:
    """The error for the name of a component below the key whose value it is."""
    from wifair.errors import InputError

    return InputError(
        f"there is no key {asked!r}. Did you mean {component}? It is a value of {key}: `wifair keys {component}` has its parameters."
    )


def _unknown_below(name: str, below: str, section: Part) -> InputError:
    """The error for a key that its table does not have."""
    from wifair.errors import InputError
    from wifair.keys import missing, unknown

    if lack := missing(below.rpartition(".")[2]):
        return InputError(f"{name}.{below} is not modelled ({lack}).")
    table = below
    while table and not list(_below(section.keys, table)):
        table = table.rpartition(".")[0]
    depth = table.count(".") + bool(table)
    siblings = [_bare(key) for key in section.keys if _bare(key).count(".") == depth]
    inside = [path for path in siblings if not table or path.startswith(f"{table}.")] or [table]
    return unknown("key", f"{name}.{below}", [f"{name}.{path}" for path in dict.fromkeys(inside)])


def _document(part: Part) -> dict[str, Any]:
    return {
        "name": part.name or None,
        "description": _linked(part.about),
        "keys": [
            {
                "name": key.path,
                "unit": key.unit,
                "default": key.default,
                "needed": key.needed,
                "choices": _choices(key),
                "allowed": _allowed(key),
                "description": _linked(key.about),
            }
            for key in part.keys
        ],
    }


def _choices(key: Key) -> list[str]:
    from wifair.scenario.components import components

    return [component["name"] for component in components(key.kind)] if key.kind else list(key.choices)


def _allowed(key: Key) -> str:
    return key.allowed or f"one of {', '.join(_choices(key))}"


def _default(key: Key) -> str:
    value = key.default
    if isinstance(value, Mapping):
        value = value.get("name")
    if value is None:
        return " (needed)" if key.needed else ""
    return f" = {json_format.dumps(value, ensure_ascii=False)}"


def _plain(text: str) -> str:
    return text.replace("`", "")


def _linked(text: str) -> str:
    """Markdown in one line, without its links: an installed package has no pages."""
    return " ".join(LINK.sub(r"\1", text).split())
