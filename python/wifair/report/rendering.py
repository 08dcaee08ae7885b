"""The templates of reports and of what notebooks show."""

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
    """Parts for a notebook: with their style, without the page around them. Charts are no part of a fragment."""
    return environment().get_template("fragment.html").render(parts=parts)


@cache
def environment() -> Environment:
    """The templates, and what they may use."""
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
    """Text in which backquoted parts are code."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))


def _lines(text: str) -> Sequence[str]:
    return text.split("\n")


def _script_json(value: Any) -> Markup:
    """JSON that may be part of a script: nothing in it can end that."""
    return Markup(json.dumps(value, ensure_ascii=False, allow_nan=False).replace("<", "\\u003c"))


@cache
def _asset(name: str) -> Markup:
    """A style sheet or a script of ours."""
    return Markup((files("wifair.report") / "templates" / name).read_text(encoding="utf-8"))
