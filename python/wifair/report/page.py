"""Draws parts as HTML: a whole page that needs nothing else to be opened, or a fragment for a notebook."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape

from wifair.errors import InputError
from wifair.report.parts import Part, Report

if TYPE_CHECKING:
    from jinja2 import Environment


def page(report: Report) -> str:
    """The whole page."""
    return _environment().get_template("page.html").render(report=report, vega=_vega())


def fragment(*parts: Part) -> str:
    """Parts for a notebook: with their style, without the page around them. Charts are no part of a fragment."""
    return _environment().get_template("fragment.html").render(parts=parts)


def write(report: Report, path: str | Path) -> Path:
    """Writes the page; an error names a place that cannot be written."""
    path = Path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page(report), encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}.") from None
    return path


@cache
def _environment() -> Environment:
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


@cache
def _vega() -> Markup:
    """Vega, Vega-Lite and Vega-Embed as one script, from the package that carries them; nothing is fetched."""
    import vl_convert

    script: str = vl_convert.javascript_bundle(vl_version=_vega_lite_version())  # type: ignore[call-arg]  # its stub asks for an optional argument
    return Markup(script.replace("</script", "<\\/script"))


def _vega_lite_version() -> str:
    """The version that Altair writes for, as `v6.4`."""
    import altair

    return ".".join(altair.SCHEMA_VERSION.split(".")[:2])
