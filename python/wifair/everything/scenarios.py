"""The scenarios: the cells behind each paper's argument, from its study, then today's scenarios.

A paper's cell is taken from the study's grid by its coordinates, under tail drop. The quick form is shorter; the full
one has the paper's own lengths.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from wifair import gallery
from wifair.errors import InputError
from wifair.everything.senders import GALLERYS, OWN, PAPERS, TODAYS, TODAYS_ON_AX, Senders
from wifair.keys import nearest
from wifair.planned import refuse_several
from wifair.scenario.scenario import Scenario
from wifair.study.job import Cell

FULL, QUICK = "full", "quick"


class Staged(Protocol):
    """A scenario in which schemes are compared."""

    @property
    def id(self) -> str:
        """Its name on the command line."""
        ...

    @property
    def title(self) -> str:
        """The title, in one line."""
        ...

    @property
    def source(self) -> str:
        """The source."""
        ...

    @property
    def why(self) -> str:
        """The reason for its selection."""
        ...

    @property
    def senders(self) -> Sequence[Senders]:
        """The kinds of hosts it is run with."""
        ...

    def scenario(self, form: str) -> Scenario:
        """The scenario itself, under tail drop, with its own hosts."""
        ...


@cache
def _grid(paper: str, figure: str, form: str) -> list[Cell]:
    """The cells of a paper's figure. Figures have up to a hundred, of which several settings take one each."""
    study = import_module(f"wifair.papers.{paper.replace('-', '_')}").STUDY
    grid: list[Cell] = study.cells(study.forms[form], figure)
    return grid


@dataclass(frozen=True)
class PaperCell:
    """A cell of a paper's study: of `figure`, at the coordinates `keys`. `quick` has the settings of the quick form."""

    id: str
    title: str
    why: str
    paper: str
    figure: str
    keys: Mapping[str, Any]
    quick: Mapping[str, Any] = field(default_factory=dict)
    senders: Sequence[Senders] = (PAPERS, TODAYS, TODAYS_ON_AX)

    @property
    def source(self) -> str:
        """The paper and the figure."""
        return f"{self.paper}, Fig. {self.figure}"

    def scenario(self, form: str) -> Scenario:
        """The cell under tail drop, without recording for figures."""
        [cell] = [cell for cell in _grid(self.paper, self.figure, form) if self.keys.items() <= cell.keys.items()]
        quiet = {"run.sample_interval_s": None, "run.record_transfers": False, "title": self.title}
        assert isinstance(cell.scenario, Scenario)
        return cell.scenario.override({**quiet, **(self.quick if form == QUICK else {})})


# Today's scenarios have no warm-up, because initial waits count. In one minute they carry more packets than a paper's cell in
# ten.
_GALLERYS_S = {FULL: 60.0, QUICK: 20.0}
# Starting points for new scenarios and the tests of flent, not cases of a network to compare.
_SKETCHES = ("plain", "hidden", "neighbours", "flats", "rrul", "rrul_be", "tcp_8up", "tcp_8down")


@dataclass(frozen=True)
class OfGallery:
    """A scenario of the gallery, with its own (today's) hosts."""

    id: str
    senders: Sequence[Senders] = (GALLERYS,)

    @property
    def title(self) -> str:
        """The first part of its description."""
        return gallery.about(self.id).partition(":")[0].lower()

    @property
    def source(self) -> str:
        """The source: the gallery."""
        return "gallery"

    @property
    def why(self) -> str:
        """Its description."""
        return gallery.about(self.id).partition(": ")[2].rstrip(".")

    def scenario(self, form: str) -> Scenario:
        """The scenario with the form's duration."""
        path = gallery.path_of(self.id)
        assert path is not None
        run = {"run.warmup_s": 0.0, "run.duration_s": _GALLERYS_S[form], "run.record_transfers": False}
        return Scenario.from_toml(path, run.items())


@dataclass(frozen=True)
class Own:
    """A scenario of the user's, as it is."""

    id: str
    given: Scenario
    senders: Sequence[Senders] = (OWN,)

    def __post_init__(self) -> None:
        refuse_several(self.given.plan(), "a judgement of schemes")

    @property
    def title(self) -> str:
        """The title that the file has."""
        return self.given.title or self.id

    @property
    def source(self) -> str:
        """The source."""
        return "the user's file"

    @property
    def why(self) -> str:
        """No reason: it is the user's."""
        return ""

    @property
    def sets_hardware(self) -> bool:
        """Whether the file says what lies below the scheme."""
        return "hardware" in self.given.settings().get("ap", {})

    @property
    def allows_hardware(self) -> bool:
        """Whether anything can: only where a link aggregates."""
        try:
            self.given.override({"ap.hardware": "firmware"}).plan()
        except InputError:
            return False
        return True

    @property
    def scheme(self) -> str | Mapping[str, Any]:
        """The scheme in the file, with its parameters."""
        found: str | Mapping[str, Any] = self.given.settings().get("ap", {}).get("scheme", "droptail")
        return found

    def scenario(self, form: str) -> Scenario:
        """The scenario itself, whatever the form."""
        return self.given


def in_folder(folder: Path, overrides: Sequence[tuple[str, Any]] = ()) -> list[Own]:
    """The scenarios of a folder's `*.toml` files, by name. An error in a file names the file."""
    paths = sorted(folder.glob("*.toml"))
    if not paths:
        raise InputError(f"{folder}: has no scenarios; allowed here: a folder with files *.toml.")
    found = []
    for path in paths:
        try:
            found.append(Own(path.stem, Scenario.from_toml(path, overrides)))
        except InputError as error:
            told = str(error)
            raise InputError(told if told.startswith(str(path)) else f"{path}: {told}") from None
    return found


_SHORT = {"run.warmup_s": 20.0, "run.duration_s": 60.0}

OF_PAPERS = (
    PaperCell(
        "ten-and-ten",
        "ten uploads and ten downloads at 11 Mbps",
        "the paper's main case: ACKs and data of as many flows compete for 100 packets",
        "adaptive-pushout",
        "3b",
        {"scheme": "droptail", "n_up": 10, "n_down": 10},
        _SHORT,
    ),
    PaperCell(
        "mostly-uploads",
        "fourteen uploads and six downloads at 11 Mbps",
        "the mix in which the paper looks at every single flow: few downloads, which tail drop starves",
        "adaptive-pushout",
        "6",
        {"scheme": "droptail", "n_up": 14, "n_down": 6},
        _SHORT,
    ),
    PaperCell(
        "five-and-five",
        "five uploads and five downloads, small windows, a buffer of 50",
        "the paper's long flows, with delayed ACKs and windows of 20 packets",
        "spm-af-las",
        "9a",
        {"part": "up-down", "scheme": "droptail", "buffer": 50},
        _SHORT,
    ),
    PaperCell(
        "small-and-large-files",
        "five hosts load small files, five large ones",
        "short transfers against long ones: what the paper's schemes are for",
        "spm-af-las",
        "11",
        {"part": "files", "scheme": "droptail", "mix": "mixed", "hosts": 10},
        # On 802.11ax these files end within a second.
        senders=(PAPERS, TODAYS),
    ),
    PaperCell(
        "web-and-ftp",
        "ten hosts with Web documents, ten with downloads without end",
        "pages next to bulk, the paper's other mix of short and long",
        "spm-af-las",
        "13",
        {"part": "web", "scheme": "droptail", "background": "ftp"},
        {"run.duration_s": 80.0},
    ),
    PaperCell(
        "near-and-far",
        "two downloads, one of them over a bad link",
        "the paper's measured network: frames for the far host hold up those for the near one",
        "spm-af-las",
        "2",
        {"part": "measured", "case": "near and far"},
        {"run.duration_s": 80.0},
        # The far host's link is a measured one of 802.11b.
        senders=(PAPERS, TODAYS),
    ),
    PaperCell(
        "five-rates",
        "five downloads whose links fall to 1, 2, 5.5, 11 and 11 Mbps",
        "the performance anomaly with all of 802.11b's rates at once",
        "arf-aware-tcp",
        "5",
        {"case": "multi-rate", "control": "newreno"},
    ),
    PaperCell(
        "five-and-five-ecn",
        "five uploads and five downloads whose hosts listen to marks",
        "the paper's first case in the middle of its range of flows",
        "dqm",
        "2",
        {"part": "uniform", "scheme": "droptail", "case": 1, "n": 10},
        {"run.duration_s": 100.0},
    ),
    PaperCell(
        "uploads-slow-down",
        "five uploads fall to 2 Mbps next to five downloads at 11",
        "the paper's case for fairness in time: a change of rates in one direction alone",
        "dqm",
        "4a",
        {"part": "rate-change", "scheme": "droptail", "case": 1, "n": 10},
    ),
    PaperCell(
        "ten-downloads-far-away",
        "ten downloads over 200 ms at 54 Mbps, ACKs in a separate category",
        "a path of many packets and many flows, where a small buffer is enough",
        "alt",
        "6",
        {"down": 10, "up": 0, "rtt_ms": 200, "buffer": 400},
        {"run.warmup_s": 20.0, "run.duration_s": 40.0},
    ),
    PaperCell(
        "download-among-uploads",
        "one download over 200 ms among ten uploads at 54 Mbps, ACKs in a separate category",
        "the paper's busiest cell: the download gets an eleventh of the air, and its buffer empties as slowly",
        "alt",
        "6",
        {"down": 1, "up": 10, "rtt_ms": 200, "buffer": 400},
        {"run.warmup_s": 20.0, "run.duration_s": 40.0},
    ),
)


@cache
def every() -> tuple[Staged, ...]:
    """The papers' cells, then the gallery."""
    return (*OF_PAPERS, *(OfGallery(name) for name in gallery.names() if name not in _SKETCHES))


def staged(names: Sequence[str] = ()) -> list[Staged]:
    """All scenarios, or those named, in their order."""
    known = [scenario.id for scenario in every()]
    for name in names:
        if name not in known:
            hint = nearest(name, known)
            asked = f" Did you mean {hint}?" if hint else ""
            raise InputError(f"scenarios: there is no {name!r}.{asked} Allowed here: {', '.join(known)}.")
    return [scenario for scenario in every() if not names or scenario.id in names]
