"""Renders a report as one self-contained HTML page."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from markupsafe import Markup

from wifair.errors import InputError
from wifair.report.parts import Report
from wifair.report.rendering import environment


def page(report: Report) -> str:
    """The HTML of a report."""
    return environment().get_template("page.html").render(report=report, vega=_vega())


def write(report: Report, path: str | Path) -> Path:
    """Writes the page. Raises `InputError` if the path is not writable."""
    path = Path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page(report), encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}.") from None
    return path


@cache
def _vega() -> Markup:
    """Vega, Vega-Lite and Vega-Embed as one script, from an installed package, without network access."""
    import vl_convert

    script: str = vl_convert.javascript_bundle(vl_version=_vega_lite_version())  # type: ignore[call-arg]  # its stub asks for an optional argument
    return Markup(script.replace("</script", "<\\/script"))


def _vega_lite_version() -> str:
    """The version of Vega-Lite that Altair writes, such as `v6.4`."""
    import altair

    return ".".join(altair.SCHEMA_VERSION.split(".")[:2])
