"""The parts of a report: sections of tables, charts, verdicts and text. Plain data; `wifair.report.page` renders it.

The template of its `kind` renders each part, so a new part is a class here and a block in `parts.html`.
"""

from __future__ import annotations

import re
import warnings
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from wifair import markdown
from wifair.errors import InputError
from wifair.papers.claims import Verdict

if TYPE_CHECKING:
    from altair import TopLevelMixin


@dataclass(frozen=True)
class Cell:
    """The content of a table cell. `sort` is its sort key; `badge` is a CSS class."""

    text: str
    sort: float | str | None = None
    badge: str = ""
    note: str = ""

    @property
    def key(self) -> float | str:
        """The sort key: `sort`, or else the text."""
        return self.text if self.sort is None else self.sort


def cell(value: object) -> Cell:
    """A table cell of a value: an interval as mean ± half-width (the mean alone if nothing varies), None as a dash."""
    from wifair.stats import Interval

    if isinstance(value, Cell):
        return value
    if isinstance(value, Interval):
        text = f"{value.estimate:.4g}" if value.identical else value.short()
        return Cell(text, value.estimate if value.n else float("-inf"))
    if value is None:
        return Cell("–", float("-inf"))
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return Cell(f"{value:.4g}" if isinstance(value, float) else f"{value}", value)
    return Cell(str(value))


class _Shown:
    """A part that notebooks render as the page does."""

    def _repr_html_(self) -> str:
        from wifair.report.rendering import fragment

        return fragment(self)


@dataclass(frozen=True)
class Text(_Shown):
    """Paragraphs of text. Text between backquotes is code."""

    kind: ClassVar[str] = "text"
    paragraphs: Sequence[str]
    tone: str = ""


@dataclass(frozen=True)
class Findings(_Shown):
    """Sentences on the results, one per line."""

    kind: ClassVar[str] = "findings"
    sentences: Sequence[str]

    def __repr__(self) -> str:
        return "\n".join(self.sentences)


@dataclass(frozen=True)
class Facts(_Shown):
    """Pairs of name and value."""

    kind: ClassVar[str] = "facts"
    rows: Mapping[str, str]


@dataclass(frozen=True)
class Code(_Shown):
    """Preformatted text: a command, a scenario, a plan."""

    kind: ClassVar[str] = "code"
    text: str
    label: str = ""


@dataclass(frozen=True)
class Table(_Shown):
    """A table that a click on a heading sorts. A heading may have a unit on a second line."""

    kind: ClassVar[str] = "table"
    headings: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    caption: str = ""
    # Numeric columns, aligned to the right.
    numbers: frozenset[int] = frozenset()
    wide: bool = False

    @classmethod
    def of(
        cls,
        headings: Sequence[str],
        rows: Iterable[Sequence[object]],
        caption: str = "",
        wide: bool = False,
    ) -> Table:
        """A table of values. A column is numeric if every cell has a numeric sort key."""
        made = [[cell(value) for value in row] for row in rows]
        numbers = frozenset(
            i for i in range(len(headings)) if made and all(isinstance(row[i].key, (int, float)) for row in made)
        )
        return cls(headings, made, caption, numbers, wide)

    def __repr__(self) -> str:
        """The table in Markdown, below its caption; a marked cell is bold."""
        parts = [heading.partition("\n") for heading in self.headings]
        headings = [f"{name}, {unit}" if unit and unit not in name else name for name, _, unit in parts]
        rows = [[f"**{each.text}**" if each.badge else each.text for each in row] for row in self.rows]
        return "\n\n".join(filter(None, (self.caption, markdown.table(headings, rows))))


@dataclass(frozen=True)
class Chart:
    """Interactive panels side by side, under one caption; `numbers` is their table, initially collapsed."""

    kind: ClassVar[str] = "chart"
    panels: Sequence[TopLevelMixin]
    caption: str = ""
    numbers: Table | None = None
    # Least width of a panel, in pixels.
    width: int = 300
    # The same as a figure for a paper: writes it to a path, at a width in inches.
    writer: Callable[[str | Path, float], Path] | None = field(default=None, compare=False, repr=False)

    @property
    def specs(self) -> list[dict[str, Any]]:
        """The Vega-Lite specifications of the panels."""
        return [panel.to_dict() for panel in self.panels]

    def save(self, path: str | Path, width_in: float = 3.5) -> Path:
        """Draws it `width_in` inches wide: PDF (with TrueType fonts), SVG or PNG, by the ending of the path."""
        if self.writer is None:
            raise InputError("this chart has no figure for a paper: save those of results.plot, plot_flows and so on.")
        return self.writer(path, width_in)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        """The chart for notebooks that render Vega-Lite, and a picture for all others."""
        import altair
        import vl_convert

        columns = 1 if len(self.panels) == 1 else 2
        sized: list[Any] = [panel.properties(width=self.width) for panel in self.panels]
        with warnings.catch_warnings():
            # The panels share one selection, so a click on a name in a legend highlights it in all of them.
            warnings.filterwarnings("ignore", "Automatically deduplicated selection parameter")
            spec = altair.concat(*sized, columns=columns).to_dict()
        major, minor, *_ = altair.SCHEMA_VERSION.split(".")
        picture = vl_convert.vegalite_to_png(spec, vl_version=f"{major}.{minor}", scale=1.5)
        return {f"application/vnd.vegalite.{major}+json": spec, "image/png": b64encode(picture).decode()}


@dataclass(frozen=True)
class Picture(_Shown):
    """An embedded picture: `data` is the content of a PNG file."""

    kind: ClassVar[str] = "picture"
    data: bytes
    alt: str
    caption: str = ""

    @property
    def address(self) -> str:
        """The picture as a data URL."""
        return f"data:image/png;base64,{b64encode(self.data).decode()}"


@dataclass(frozen=True)
class Details(_Shown):
    """Parts that are initially collapsed."""

    kind: ClassVar[str] = "details"
    summary: str
    parts: Sequence[Part]


VERDICTS = tuple(verdict.value for verdict in Verdict)


@dataclass(frozen=True)
class Verdicts(_Shown):
    """Claims with their verdicts: the count of each verdict, and a table that can be filtered by verdict.

    `judgements` are `wifair.papers.claims.Judgement` as dictionaries.
    """

    kind: ClassVar[str] = "verdicts"
    judgements: Sequence[Mapping[str, Any]]
    caption: str = ""

    @property
    def counts(self) -> list[tuple[str, str, int]]:
        """Verdict, its badge's class and its count, for each verdict that occurs."""
        found = Counter(judgement["verdict"] for judgement in self.judgements)
        return [(verdict, badge(verdict), found[verdict]) for verdict in VERDICTS if found[verdict]]

    @property
    def table(self) -> Table:
        """One row per claim."""
        headings = ("section", "figure", "claim", "published", "measured", "verdict")
        return Table.of(headings, (self._row(judgement) for judgement in self.judgements), wide=True)

    def _row(self, found: Mapping[str, Any]) -> Sequence[object]:
        measured = Cell("–", float("-inf"))
        if found["measured"] is not None:
            ends = "" if found["ci_low"] is None else f" [{found['ci_low']:.3g}, {found['ci_high']:.3g}]"
            measured = Cell(f"{found['measured']:.3g}{ends}", found["measured"], note=found["unit"])
        published = found["published"]
        claim = Cell(found["statement"], note=f"{found['id']}: {found['reading']}")
        return (
            found["section"],
            found["figure"] or "",
            claim,
            Cell("–", float("-inf")) if published is None else Cell(f"{published:g}", published),
            measured,
            Cell(found["verdict"], badge=badge(found["verdict"]), note=found["why"]),
        )


def badge(verdict: str) -> str:
    """The CSS class of a verdict's badge."""
    return verdict.replace(" ", "-")


Part = Text | Findings | Facts | Code | Table | Chart | Picture | Details | Verdicts


@dataclass(frozen=True)
class Section:
    """A heading with its parts."""

    title: str
    parts: Sequence[Part]

    @property
    def anchor(self) -> str:
        """Its anchor in the page."""
        return re.sub(r"[^a-z0-9]+", "-", self.title.lower()).strip("-")


@dataclass(frozen=True)
class Report:
    """A page: title, lead sentence, sections. `made_by` is the footer."""

    title: str
    lead: str
    sections: Sequence[Section]
    made_by: str = ""
    kind: str = "report"
    badges: Sequence[tuple[str, str, int]] = field(default=())
