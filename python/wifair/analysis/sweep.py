"""Sweeps: a grid over any keys of a scenario. A study file describes one in TOML.

    title = "buffer sizes"
    scenario = "cell.toml"              # a file, relative to this one, or a table [scenario]
    replications = 10                   # or seeds = [1, 2, 3]
    metrics = ["jain", "total_mbps"]
    compare = "ap.scheme"               # every value of this key against its first one, seed by seed
    labels = { ap.limit_packets = "Buffer [packets]" }  # texts of figures, for keys, values and metrics
    figure = { x = "ap.limit_packets", lines = "ap.scheme" }  # the keys along the x axis and of the lines
    bss = "mine"                        # of several BSSs the one whose flows are judged
    precision = ["jain=0.01"]           # says how many seeds make a 95 % interval that narrow

    [set]                               # for every cell
    run.duration_s = 60

    [product]                           # every value of each key with every value of the others
    ap.scheme = ["droptail", "adaptive-pushout"]

    [zip]                               # the first values together, the second, …; [[zip]] for several such groups
    "flows[0].count" = [2, 5, 8]
    "flows[1].count" = [8, 5, 2]

    [[points]]                          # settings written out, one table per point
    ap.limit_packets = 50

The grid has a cell for each combination of the product, each zip and the points.
"""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wifair import gallery
from wifair.analysis.comparison import along, paired
from wifair.analysis.precision import Precision, needed
from wifair.errors import InputError, ScenarioError
from wifair.files import read_toml
from wifair.keys import join, missing_file, nearest, unknown_key
from wifair.planned import named as named_bss
from wifair.results.metric import Metric
from wifair.results.results import UNITS
from wifair.scenario.components import components
from wifair.scenario.scenario import Scenario
from wifair.scheme.python import named
from wifair.study.job import Cell
from wifair.study.study import Study, seed_list

if TYPE_CHECKING:
    from wifair.drawn import Plot
    from wifair.results.results import Results
    from wifair.study.job import Progress
    from wifair.study.store import Store

# Metrics shown by default.
METRICS = ("jain", "jain_airtime", "up_mbps", "down_mbps", "total_mbps", "ap_loss_ratio", "ap_sojourn_mean_ms")
REPLICATIONS = 10
MOST_CELLS = 100_000

# One point along an axis of the grid: settings by path.
Point = dict[str, Any]


def is_study(path: Path) -> bool:
    """Whether a file describes a study, not a scenario."""
    told = read_toml(path) if path.is_file() else {}
    return "scenario" in told and "flows" not in told


class Sweep:
    """A base scenario, a grid over its keys, replications and metrics.

    `scenario` is a `Scenario`, its settings, or a file. `product` and each table of `zip` map paths of keys to lists of
    values; `points` is a list of settings by path. `metrics` are names, and user-defined metrics (`wifair.Metric`). An
    unknown key raises `ScenarioError` before any run. `labels` are the texts of figures for keys, values and metrics, `figure` has
    the keys of the x axis and of the lines, `x` and `lines`.
    """

    def __init__(
        self,
        scenario: Scenario | Mapping[str, Any] | str | Path,
        *,
        title: str = "",
        product: Mapping[str, Any] | None = None,
        zip: Mapping[str, Any] | Sequence[Mapping[str, Any]] = (),
        points: Sequence[Mapping[str, Any]] = (),
        set: Mapping[str, Any] | None = None,
        replications: int | None = None,
        seeds: Iterable[int] | None = None,
        metrics: Sequence[str | Metric] = METRICS,
        compare: str | None = None,
        precision: Sequence[str] = (),
        labels: Mapping[str, str] | None = None,
        figure: Mapping[str, str] | None = None,
        bss: str = "",
    ) -> None:
        if replications is not None and seeds is not None:
            raise ScenarioError("seeds", "replications and seeds exclude each other", allowed="one of them")
        product, zip, points, set = named(product), named(zip), named(points), named(set)
        self.title = title
        self.base = _base(scenario, {} if set is None else _by_path(set, "set"))
        self.seeds = seed_list(
            list(seeds) if seeds is not None else REPLICATIONS if replications is None else replications
        )
        self.own = tuple(metric for metric in metrics if isinstance(metric, Metric))
        known = [*UNITS, *(metric.name for metric in self.own)]
        self.metrics = tuple(m.name if isinstance(m, Metric) else _metric(m, known) for m in metrics)
        axes = [[{key: value} for value in values] for key, values in _lists(product or {}, "product").items()]
        groups = [zip] if isinstance(zip, Mapping) else zip
        several = not isinstance(zip, Mapping)
        axes += [_zipped(group, f"zip[{i}]" if several else "zip") for i, group in enumerate(groups)]
        if points:
            axes.append([_by_path(point, f"points[{i}]") for i, point in enumerate(points)])
        self.cells = _grid(self.base, axes)
        self.bss = bss
        for cell in self.cells if bss else ():
            named_bss(cell.scenario.plan(), bss, "bss")
        self.precision = tuple(Precision.parse(wish, known) for wish in precision)
        varied = list(dict.fromkeys(path for cell in self.cells for path in cell.keys))
        for key, path in {"compare": compare, **_figure(figure or {})}.items():
            if path is not None and path not in varied:
                allowed = ", ".join(varied) or "nothing: the grid varies no key"
                hint = nearest(path, varied)
                raise ScenarioError(key, f"{path!r} is not varied", value=path, allowed=allowed, hint=hint)
        self.compare = compare
        # The keys that vary together with that which is compared.
        self.compared = next((tuple(_paths(axis)) for axis in axes if compare in _paths(axis)), ())
        self.figure = dict(figure or {})
        self.labels = _labels(labels or {})
        _check_labels(self.labels, [*varied, *known, *_values(self.cells)])

    @classmethod
    def from_toml(
        cls,
        path: str | Path,
        overrides: Iterable[tuple[str, Any]] = (),
        schemes: Sequence[Any] | None = None,
        figure: Mapping[str, str] | None = None,
        bss: str = "",
    ) -> Sweep:
        """Reads a study file. `overrides` are assignments to the base scenario, after those in `[set]`.

        `schemes` are values of `ap.scheme`, in place of the study's own: of the access point of `bss`, if it is given. `bss` and `figure` replace the
        study's own.
        """
        path = Path(path)
        if not os.path.exists(path):
            if gallery.path_of(str(path)):
                raise InputError(f"{path}: is a scenario, not a study; run it with `wifair run {path}`.")
            raise missing_file(path)
        told = read_toml(path)
        if "flows" in told and "scenario" not in told:
            raise InputError(f"{path}: is a scenario, not a study; run it with `wifair run {path}`.")
        for key, value in told.items():
            if key not in SHAPES:
                raise unknown_key("", key, value, SHAPES)
        _check_shapes(told)
        told["set"] = {**_by_path(told.get("set", {}), "set"), **dict(overrides)}
        if bss:
            told["bss"] = bss
        if schemes is not None:
            path_of_scheme = f"bss[{told['bss']}].ap.scheme" if told.get("bss") else "ap.scheme"
            told["product"] = {**_by_path(told.get("product", {}), "product"), path_of_scheme: schemes}
        told["figure"] = {**told.get("figure", {}), **(figure or {})}
        if isinstance(told["scenario"], str):
            told["scenario"] = path.parent / told["scenario"]
        return cls(**{"title": path.stem, **told})

    def study(self) -> Study:
        """The study to run: the grid's cells and the seeds."""
        return Study(self.cells, self.seeds, self.title)

    def run(
        self,
        threads: int | None = None,
        progress: Progress | None = None,
        store: Store | str | Path | None = None,
        dask: str | None = None,
    ) -> Results:
        """Runs the replications that the store does not have; on a cluster if `dask` is a scheduler's address or "local"."""
        return self.study().run(threads, progress, store, dask=dask).with_metrics(*self.own)

    def judged(self, results: Results) -> Results:
        """The results of the BSS that is judged, with user-defined metrics."""
        return (results.of_bss(self.bss) if self.bss else results).with_metrics(*self.own)

    def differences(self, results: Results) -> list[dict[str, Any]]:
        """Paired differences of every value of the `compare` key against its first one; empty without that key.

        Keys that vary together with it, in a group of `zip` or in `points`, differ as well.
        """
        pairs = along(results.cells, *self.compared) if self.compared else []
        return paired(self.judged(results), pairs, self.metrics, self.precision)

    def plot(self, results: Results, x: str | None = None, lines: str | None = None) -> Plot:
        """The study's metrics over the grid, with its labels, as `Results.plot`. `x` and `lines` are by default those of `figure`."""
        x, lines = x or self.figure.get("x"), lines or self.figure.get("lines")
        return self.judged(results).plot(*self.metrics, x=x, lines=lines, labels=self.labels)

    def seeds_needed(self, results: Results) -> list[dict[str, Any]]:
        """The number of seeds that the wanted precision needs, by scenario."""
        return needed(self.judged(results), self.precision).to_dicts()


def _base(scenario: Scenario | Mapping[str, Any] | str | Path, overrides: Mapping[str, Any]) -> Scenario:
    if isinstance(scenario, Scenario):
        return scenario.override(overrides) if overrides else scenario
    if isinstance(scenario, Mapping):
        return Scenario.from_settings(scenario, overrides.items())
    return Scenario.from_toml(scenario, overrides.items())


# The type that each key of a study file must have.
SHAPES: dict[str, tuple[type | tuple[type, ...], str]] = {
    "title": (str, "a text"),
    "scenario": ((str, dict), "the path of a file, or a table"),
    "replications": (int, "a whole number"),
    "seeds": (list, "a list of whole numbers"),
    "metrics": (list, "a list of metrics"),
    "compare": (str, "a key that the grid varies"),
    "bss": (str, "the name of a BSS"),
    "precision": (list, 'a list of texts, as "jain=0.01"'),
    "labels": (dict, "a table of texts, by key, value or metric"),
    "figure": (dict, "a table with x, lines"),
    "set": (dict, "a table of keys"),
    "product": (dict, "a table of lists"),
    "zip": ((dict, list), "a table of lists, or several as [[zip]]"),
    "points": (list, "a list of tables, as [[points]]"),
}


def _check_shapes(told: Mapping[str, Any]) -> None:
    if "scenario" not in told:
        raise ScenarioError("scenario", "a study needs a scenario", allowed=SHAPES["scenario"][1])
    for key, value in told.items():
        kind, wanted = SHAPES[key]
        if not isinstance(value, kind) or isinstance(value, bool):
            raise ScenarioError(key, f"{value!r} is not accepted", value=value, allowed=wanted)
    listed = {key: told.get(key, []) for key in ("zip", "points")}
    for key, entry in ((key, entry) for key, value in listed.items() if isinstance(value, list) for entry in value):
        if not isinstance(entry, dict):
            raise ScenarioError(key, f"{entry!r} is not accepted", value=entry, allowed=SHAPES[key][1])
    for wish in told.get("precision", []):
        if not isinstance(wish, str):
            raise ScenarioError("precision", f"{wish!r} is not accepted", value=wish, allowed=SHAPES["precision"][1])
    for seed in told.get("seeds", []):
        if not isinstance(seed, int) or isinstance(seed, bool) or seed < 0:
            raise ScenarioError("seeds", f"{seed!r} is no seed", value=seed, allowed="whole numbers from 0 on")


def _metric(name: str, known: Sequence[str]) -> str:
    if name not in known:
        hint = nearest(name, known) if isinstance(name, str) else ""
        raise ScenarioError("metrics", f"unknown metric {name!r}", value=name, allowed=", ".join(known), hint=hint)
    return name


def _labels(told: Mapping[str, Any], at: str = "") -> dict[str, str]:
    """Texts by key (nested or dotted), value or metric."""
    found: dict[str, str] = {}
    for key, text in told.items():
        if isinstance(text, Mapping):
            found |= _labels(text, f"{at}{key}.")
        elif isinstance(text, str):
            found[f"{at}{key}"] = text
        else:
            raise ScenarioError(f"labels.{at}{key}", f"{text!r} is not accepted", value=text, allowed="a text")
    return found


def _check_labels(labels: Mapping[str, str], known: Sequence[str]) -> None:
    """Rejects labels of nothing. Names of schemes are accepted: `--schemes` may add them, as the class of one in Python."""
    schemes = [entry["name"] for kind in ("schemes", "limit_controllers") for entry in components(kind)]
    for key, text in labels.items():
        is_class = key.isidentifier() and key[0].isupper()
        if key not in [*known, *schemes] and not is_class:
            allowed = "keys and values that vary, metrics, and schemes"
            hint = nearest(key, [*known, *schemes])
            raise ScenarioError(f"labels.{key}", "labels nothing", value=text, allowed=allowed, hint=hint)


def _values(cells: Iterable[Cell]) -> list[str]:
    """The texts of the grid's values; of a scheme from a file, its class too."""
    found = dict.fromkeys(f"{value}" for cell in cells for value in cell.keys.values())
    return [*found, *(text.rpartition(".py:")[2] for text in found)]


def _figure(told: Mapping[str, Any]) -> dict[str, str]:
    """The keys that the table `[figure]` names, by their paths in the study."""
    for key, value in told.items():
        if key not in ("x", "lines"):
            raise unknown_key("figure", key, value, ("x", "lines"))
        if not isinstance(value, str):
            raise ScenarioError(f"figure.{key}", f"{value!r} is not accepted", value=value, allowed="a key of the grid")
    return {f"figure.{key}": value for key, value in told.items()}


def _by_path(settings: Mapping[str, Any], origin: str, at: str = "") -> Point:
    """Flattens nested tables to settings by path. A table with `name` is a component and is kept as one value."""
    found: Point = {}
    for key, value in settings.items():
        path = join(at, key)
        if isinstance(value, Mapping) and "name" not in value:
            found.update(_by_path(value, origin, path))
        else:
            found[path] = value
    if at and not found:
        raise ScenarioError(join(origin, at), "an empty table sets nothing", allowed="keys of the scenario")
    return found


def _lists(axes: Mapping[str, Any], origin: str) -> dict[str, list[Any]]:
    """The lists of values by path."""
    found = _by_path(axes, origin) if axes else {}
    for path, values in found.items():
        if not isinstance(values, (list, tuple)) or not values:
            raise ScenarioError(
                f"{origin}.{path}",
                f"{values!r} is no list of values",
                value=values,
                allowed="a list of one value or more",
            )
        if origin == "product" and len({label(value) for value in values}) < len(values):
            raise ScenarioError(f"{origin}.{path}", f"{values!r} has a value twice", value=values)
    return found


def _zipped(group: Mapping[str, Any], origin: str) -> list[Point]:
    """The points of a `[zip]` group: the first values together, then the second, and so on."""
    lists = _lists(group, origin)
    lengths = {path: len(values) for path, values in lists.items()}
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{path} has {length}" for path, length in lengths.items())
        raise ScenarioError(origin, f"values that go together must be as many for each key, but {told}")
    return [dict(zip(lists, values, strict=True)) for values in itertools.zip_longest(*lists.values())]


def _paths(axis: Sequence[Point]) -> dict[str, None]:
    """The keys that an axis of the grid varies, in their order."""
    return dict.fromkeys(path for point in axis for path in point)


def _grid(base: Scenario, axes: Sequence[Sequence[Point]]) -> list[Cell]:
    """A cell for each combination of one point per axis."""
    count = 1
    for axis in axes:
        count *= len(axis)
    if count > MOST_CELLS:
        raise ScenarioError("product", f"{count} cells are too many", value=count, allowed=f"1 to {MOST_CELLS}")
    paths = [path for axis in axes for path in _paths(axis)]
    for path in paths:
        if paths.count(path) > 1:
            raise ScenarioError(path, "this key is varied twice", allowed="one place among product, zip and points")
    heads = {path: path.rpartition(".")[2] for path in paths}
    short = {path: head if list(heads.values()).count(head) == 1 else path for path, head in heads.items()}
    settings = base.settings()
    cells: dict[str, Cell] = {}
    for combination in itertools.product(*axes):
        point = {path: value for part in combination for path, value in part.items()}
        name = ", ".join(f"{short[path]}={label(value)}" for path, value in point.items()) or base.title or "scenario"
        if name in cells:
            raise InputError(f"two points of the grid are the same: {name}.")
        keys = {path: coordinate(value) for path, value in point.items()}
        cells[name] = Cell(name, Scenario.from_settings(settings, point.items()), keys)
    return list(cells.values())


def coordinate(value: Any) -> str | int | float:
    """A value as a table column holds it."""
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else label(value)


def label(value: Any) -> str:
    """A value as part of a cell's name."""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, Mapping) and "name" in value:
        inner = ", ".join(f"{key}={label(entry)}" for key, entry in value.items() if key != "name")
        return f"{value['name']}({inner})" if inner else str(value["name"])
    if isinstance(value, float):
        return f"{value:g}" if float(f"{value:g}") == value else repr(value)
    return json.dumps(value)
