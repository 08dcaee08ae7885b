"""The templates of reports and notebook output."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape

if TYPE_CHECKING:
    from jinja2 import Environment


def fragment(*parts: object) -> str:
    """The HTML of parts for a notebook, with styles and without charts."""
    return environment().get_template("fragment.html").render(parts=parts)


@cache
def environment() -> Environment:
    """The environment of the templates, with its filters and globals."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader("wifair.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["code"] = _code
    made.filters["paragraphs"] = _lines
    made.filters["script_json"] = _script_json
    made.globals["asset"] = _asset
    return made


def _code(text: str) -> Markup:
    """Escapes a text; backquoted parts become code."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))


def _lines(text: str) -> Sequence[str]:
    return text.split("\n")


def _script_json(value: Any) -> Markup:
    """JSON that is safe inside a script element."""
    return Markup(json.dumps(value, ensure_ascii=False, allow_nan=False).replace("<", "\\u003c"))


@cache
def _asset(name: str) -> Markup:
    """A style sheet or script of this package."""
    return Markup((files("wifair.report") / "templates" / name).read_text(encoding="utf-8"))
