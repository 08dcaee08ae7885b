"""The scenario, which a user writes in TOML or Python, and its explicit plan, which the engine runs.

The model defines the keys that plans do not have: groups of flows and stations, names, common defaults, the dialect.
Every other key is the engine's and is checked against its schema (`wifair.scenario.components`).
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, ValidationError

from wifair import gallery
from wifair.errors import InputError, ScenarioError
from wifair.files import read_toml
from wifair.keys import join, missing_file, nearest, shown, unknown_key
from wifair.planned import named as named_bss
from wifair.scenario import building
from wifair.scenario.bsss import Bsss
from wifair.scenario.components import (
    Rule,
    checked,
    checked_table,
    default_name,
    engine_schema,
    has_mcs,
    highest_rate_mbps,
    plan_node,
    plan_rule,
    properties,
    table_of,
    transport,
)
from wifair.scenario.dialects import DIALECTS
from wifair.scenario.limits import limited, with_default_limits
from wifair.scenario.overrides import assign, layered, with_names_of
from wifair.scenario.pairs import pairs_of
from wifair.scenario.places import Places
from wifair.scenario.profiles import PROFILES

if TYPE_CHECKING:
    from wifair.results.results import Results
    from wifair.scheme.python import PythonScheme
    from wifair.study.store import Store
    from wifair.study.traces import Traces

Table = dict[str, Any]

# Paths of what a table `building` draws.
DRAWN = re.compile(r"(bss|stations|flows)[.\[]")

# Sections of a scenario that map to one table of the plan, with that table's path.
SECTIONS = {
    "run": ("run",),
    "phy": ("bss", "phy"),
    "mac": ("bss", "mac"),
    "channel": ("bss", "channel"),
    "wire": ("wire",),
}

# Keys of a plan for the first BSS, and what they are in a scenario.
BSS_KEYS = {f"bss_{key}": f"bss.{key}" for key in ("channel", "primary", "punctured")} | {"bss_label": "bss.name"}
# Keys of a table `bss` that are the plan's for a neighbour.
OF_NEIGHBOUR = ("channel", "width_mhz", "primary", "punctured")


class _Group(BaseModel):
    """A group of equal entries. The engine's keys of an entry are accepted in addition to those named here."""

    model_config = ConfigDict(extra="allow", frozen=True, strict=True)

    count: Annotated[int, Field(ge=1)] = 1
    name: str | None = None

    def engine_keys(self) -> Table:
        """The keys passed to the engine unchanged."""
        return dict(self.__pydantic_extra__ or {})


class BssTable(BaseModel):
    """A BSS: its access point is called `name`. `ap` holds over `[ap]`, and `wire`, a separate wire, over `[wire]`.

    `channel` is the number of its channel; without it in any BSS, all are on one. `width_mhz` is its width, by default that of `[phy]`, and
    `primary` the number of its primary channel of 20 MHz, by default the lowest. `punctured` has the numbers of channels of 20 MHz in it that
    the BSS never uses.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    name: str
    channel: int | None = None
    width_mhz: int | None = None
    primary: int | None = None
    punctured: list[int] | None = None
    ap: Table = {}
    wire: Table | None = None


class StationGroup(_Group):
    """`count` stations called `name` (or `name-1`, `name-2`, …); flows refer to the group by its name.

    `bss` is the name of their BSS, by default the first.
    """

    name: str
    bss: str | None = None


class FlowGroup(_Group):
    """`count` flows in one direction, each with its own station unless `station` names a group of stations or one of them (`table-3`).

    `station` may also be a table: parameters of the flows' own stations, and the name of their BSS as `bss`. Flows at a named group begin at its first station, or
    at `first_station`: its number, or "next" for the one after the stations of earlier groups of flows. `reserve` is the
    number of further flows that an event can open by raising the group's count; their stations come after all others.
    """

    direction: Literal["up", "down"]
    station: str | Table | None = None
    first_station: Any = None
    reserve: Annotated[int, Field(ge=0)] = 0


class Scenario(BaseModel):
    """Everything that defines a run except the seed. An invalid key or value raises `wifair.errors.ScenarioError`."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    title: str = ""
    dialect: Literal["standard", "ns-2"] = "standard"
    run_keys: Annotated[Table, Field(alias="run")] = {}
    phy: Table = {}
    mac: Table = {}
    channel: Table = {}
    field: Table | None = None
    bss: list[BssTable] = []
    ap: Table = {}
    wire: Table = {}
    tcp: Table = {}
    station: Table = {}
    stations: list[StationGroup] = []
    flows: Annotated[list[FlowGroup], Field(min_length=1)]
    events: list[Table] = []
    # With a table `building`: the settings as given, of which the others are drawn.
    _given: Table | None = PrivateAttr(default=None)

    def __init__(self, **settings: Any) -> None:
        from wifair.scheme.python import named

        settings = named(settings)
        given = settings if "building" in settings else None
        if given is not None:
            settings = building.expanded(settings)
        try:
            super().__init__(**settings)
        except ValidationError as error:
            raise _scenario_error(error, settings) from None
        self._given = given
        _ = self.plan_json  # an invalid scenario is rejected here, not at the run

    @classmethod
    def from_toml(cls, path: str | Path, overrides: Iterable[tuple[str, Any]] = ()) -> Self:
        """Reads a scenario file, or the gallery's scenario of that name if there is no such file.

        `overrides` are assignments, such as (`"ap.limit_packets"`, 50), applied first.
        """
        file = gallery.file_of(path)
        if not os.path.exists(file):
            raise missing_file(Path(path), gallery.known())
        settings = read_toml(file, path)
        if "scenario" in settings and "flows" not in settings:
            raise InputError(f"{path}: is a study, not a scenario; run it with `wifair sweep {path}`.")
        return cls.from_settings(settings, overrides)

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any], overrides: Iterable[tuple[str, Any]] = ()) -> Self:
        """A scenario from nested tables, with assignments applied first.

        Assignments to what a table `building` draws hold over the drawing: they are added to its key `set`.
        """
        from wifair.scheme.python import named

        tree = layered(settings, {})
        for path, value in overrides:
            if isinstance(tree.get("building"), dict) and DRAWN.match(path):
                over = tree["building"].setdefault("set", {})
                over.pop(path, None)  # the last assignment holds, also over one by another path to the same key
                over[path] = named(value)
            else:
                assign(tree, path, named(value))
        return cls(**tree)

    def settings(self) -> Table:
        """The settings as given, without defaults."""
        return layered(self._given, {}) if self._given is not None else self.drawn_settings()

    def drawn_settings(self) -> Table:
        """The settings as given, with what a table `building` draws in its place."""
        return self.model_dump(exclude_unset=True, by_alias=True)

    def override(self, settings: Mapping[str, Any]) -> Scenario:
        """A scenario with some keys changed, each given by its path, as `{"ap.scheme": "droptail"}`."""
        return Scenario.from_settings(self.settings(), settings.items())

    def check_bss(self, bss: str, key: str = "--bss") -> None:
        """Raises `InputError` if a name is given that is not that of a BSS of several; `key` names the option or argument."""
        if bss:
            named_bss(self.plan(), bss, key)

    def bss_key(self, bss: str = "") -> str:
        """The path of the table of a BSS; without a name, of the first of several. Empty if the scenario has no table `bss`."""
        return f"bss[{bss or 0}]" if self.bss else ""

    def scheme_key(self, bss: str = "") -> str:
        """The path of the scheme of the access point that commands change: that of a BSS, by default of the first of several."""
        return join(self.bss_key(bss), "ap.scheme")

    def own_scheme(self, bss: str = "") -> Any:
        """The scheme at `scheme_key`, as given; None if there is none."""
        own = next((table.ap for table in self.bss if bss in ("", table.name)), {})
        return own.get("scheme", self.ap.get("scheme"))

    def plan(self) -> Table:
        """The canonical plan: one entry per station and flow, every default filled in."""
        plan: Table = json.loads(self.plan_json)
        return plan

    def given_plan(self) -> Table:
        """The plan without the engine's defaults: what the settings and the dialect say."""
        return _PlanBuilder(self).build()

    @cached_property
    def plan_json(self) -> str:
        """The canonical plan as the engine takes it."""
        from wifair import _native
        from wifair.scheme.python import failed, makers

        builder = _PlanBuilder(self)
        plan = builder.build()
        try:
            return _native.canonical(json.dumps(plan), makers(self.python_schemes))
        except _native.PlanError as error:
            key = builder.scenario_key(error.key)
            problem = f"{shown(error.value)} is not allowed"
            raise ScenarioError(key, problem, value=error.value, allowed=error.allowed) from None
        except _native.SchemeFailed as error:
            raise failed(error, self.python_schemes) from error.__cause__

    @cached_property
    def python_schemes(self) -> dict[str, PythonScheme]:
        """Its schemes written in Python, by their id in the plan."""
        from wifair.scheme.python import within

        return within(self.settings())

    def fingerprint(self, seed: int = 1) -> int:
        """A hash over every packet delivered over the air and its time: equal hashes mean equal runs."""
        from wifair import _native
        from wifair.scheme.python import failed, makers

        try:
            return _native.fingerprint(self.plan_json, seed, makers(self.python_schemes))
        except _native.SchemeFailed as error:
            raise failed(error, self.python_schemes, seed) from error.__cause__

    def channel_access(self, ip_bytes: int, dscp: int = 0) -> dict[tuple[str, str], Table]:
        """How packets of one size contend, and the airtime of one and of a full PPDU or TXOP, by station and direction.

        Durations are in microseconds, at the initial rates.
        """
        from wifair import _native
        from wifair.scheme.python import makers

        rows = json.loads(_native.airtimes(self.plan_json, ip_bytes, dscp, makers(self.python_schemes)))
        return {(row["station"], row["direction"]): row for row in rows}

    def hidden_pairs(self) -> dict[tuple[str, str], tuple[bool, bool]]:
        """Pairs of stations, of all BSSs, of which at least one does not sense the other's frames.

        For each pair: whether the first senses the second, and the second the first.
        """
        from wifair import _native
        from wifair.scheme.python import makers

        if self.plan()["bss"]["field"] is None:
            return {}
        pairs = json.loads(_native.hidden_pairs(self.plan_json, makers(self.python_schemes)))
        return {(pair["stations"][0], pair["stations"][1]): (pair["senses"][0], pair["senses"][1]) for pair in pairs}

    def simulated_s(self) -> float:
        """Simulated seconds of one replication, warm-up included."""
        run = self.plan()["run"]
        return float(run["warmup_s"] + run["duration_s"])

    def run(
        self,
        seeds: int | Iterable[int] = 10,
        threads: int | None = None,
        store: Store | str | Path | None = None,
        traces: Traces | None = None,
    ) -> Results:
        """Runs replications with seeds 1 to `seeds`, or the given ones, on all cores or on `threads`.

        Replications in `store` (a folder) are not run again, unless `traces` is given.
        """
        from wifair.study.job import Cell
        from wifair.study.study import Study

        study = Study([Cell(self.title or "scenario", self)], seeds, self.title)
        return study.run(threads, store=store, traces=traces)


class _PlanBuilder:
    """Expands the groups into one entry per station and flow, and records the origin of each."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.dialect: Table = DIALECTS[scenario.dialect]
        self.bsss = Bsss([table.name for table in scenario.bss])
        self.flow_origins: list[str] = []
        self.event_origins: list[str] = []
        # By list of pairs in the field.
        self.pair_origins: dict[str, list[str]] = {"gains": [], "hidden": []}
        # Labels of stations by the names that a scenario may use: a group's name, or the label itself.
        self.called: dict[str, list[str]] = {}
        # By name of a group of flows: whether it uses TCP.
        self.groups: dict[str, bool] = {}
        self.places = Places()

    def build(self) -> Table:
        """The plan without the engine's defaults."""
        scenario = self.scenario
        plan: Table = {"schema_version": 1, "bss": {}}
        for section, place in SECTIONS.items():
            given = scenario.run_keys if section == "run" else getattr(scenario, section)
            name = default_name(plan_node(*place))
            table = checked({"name": name, **given} if name else given, plan_rule(*place), section)
            parent = plan["bss"] if place[0] == "bss" else plan
            parent[place[-1]] = layered(self.dialect.get(section, {}), table)
        if has_mcs(plan["bss"]["phy"]["name"]):  # stations from 802.11n on are QoS stations
            plan["bss"]["mac"].setdefault("edca", {})
        plan["bss"]["ap"] = self.access_point(0)
        plan["flows"] = self.flows()
        plan["bss"]["stations"] = self.bsss.stations[0]
        self.bsss.check_names(self.called)
        if neighbours := [self.neighbour(i) for i in range(1, len(scenario.bss))]:
            plan["neighbours"] = neighbours
            plan["bss_label"] = scenario.bss[0].name
        if scenario.bss:
            self.place_first(scenario.bss[0], plan)
        if scenario.field is not None:
            plan["bss"]["field"] = self.field(scenario.field)
        plan["events"] = self.events()
        return plan

    def place_first(self, table: BssTable, plan: Table) -> None:
        """Channel, width, primary channel and unused channels of the first BSS. Its width is that of the plan's PHY; the others have that of `[phy]`."""
        for key in ("channel", "primary", "punctured"):
            if (value := getattr(table, key)) is not None:
                plan[f"bss_{key}"] = value
        if table.width_mhz is None:
            return
        common = plan["bss"]["phy"].get("width_mhz")
        if common is None:
            allowed = "this key together with phy.width_mhz, which is the width of the other BSSs"
            raise ScenarioError("bss[0].width_mhz", "phy.width_mhz is not set", value=table.width_mhz, allowed=allowed)
        plan["bss"]["phy"]["width_mhz"] = table.width_mhz
        for neighbour in plan.get("neighbours", []):
            neighbour.setdefault("width_mhz", common)

    def neighbour(self, i: int) -> Table:
        """Another BSS than the first."""
        table = self.scenario.bss[i]
        found: Table = {"label": table.name, "ap": self.access_point(i), "stations": self.bsss.stations[i]}
        found |= {key: value for key in OF_NEIGHBOUR if (value := getattr(table, key)) is not None}
        if table.wire is not None:
            own = checked_table(table.wire, plan_rule("wire"), f"bss[{i}].wire")
            shared = checked_table(self.scenario.wire, plan_rule("wire"), "wire")
            found["wire"] = layered(layered(self.dialect.get("wire", {}), shared), own)
        return found

    def field(self, given: Table) -> Table:
        """The field, with one entry per pair of nodes."""
        table = checked_table(given, plan_rule("bss", "field"), "field")
        called = {**self.called, **self.bsss.access_points}
        for key in ("gains", "hidden"):
            entries: list[Any] = []
            for i, entry in enumerate(table.get(key, [])):
                origin = f"field.{key}[{i}]"
                if key == "hidden":
                    pairs: list[Any] = pairs_of(entry, called, origin)
                else:
                    between = pairs_of(entry.get("between"), called, f"{origin}.between")
                    pairs = [{**entry, "between": pair} for pair in between]
                entries += pairs
                self.pair_origins[key] += [origin] * len(pairs)
            if key in table:
                table[key] = entries
        return table

    def events(self) -> list[Table]:
        """One entry per event. An event for a group of stations gives one entry per station."""
        events: list[Table] = []
        for e, given in enumerate(self.scenario.events):
            origin = f"events[{e}]"
            event = checked_table(given, event_rule(), origin)
            unfolded = [event]
            if "station" in event:
                change = event["station"]
                name = change.pop("name", None)
                if name not in self.called:
                    problem = f"no stations are called {name!r}" if name else "the table needs the name of a station"
                    known = ", ".join(list(self.called)[:20])
                    hint = nearest(name, self.called) if name else ""
                    raise ScenarioError(f"{origin}.station.name", problem, value=name, allowed=known, hint=hint)
                unfolded = [{**event, "station": {"label": label, **change}} for label in self.called[name]]
            if "flows" in event:
                unfolded = self.of_groups(event["flows"], f"{origin}.flows", unfolded)
            events += unfolded
            self.event_origins += [origin] * len(unfolded)
        return events

    def of_groups(self, change: Table, origin: str, events: list[Table]) -> list[Table]:
        """One entry per group of flows concerned: the named one, or all TCP groups."""
        name = change.pop("name", None)
        if name is None and "count" in change:
            known = ", ".join(self.groups)
            raise ScenarioError(f"{origin}.name", "a count needs the name of a group of flows", allowed=known)
        if name is not None and name not in self.groups:
            hint = nearest(name, self.groups)
            known = ", ".join(self.groups)
            raise ScenarioError(f"{origin}.name", f"no flows are called {name!r}", value=name, allowed=known, hint=hint)
        groups = [group for group, over_tcp in self.groups.items() if over_tcp] if name is None else [name]
        at_s = events[0].get("at_s")
        others = [{key: value for key, value in event.items() if key != "flows"} for event in events]
        kept = [event for event in others if event.keys() - {"at_s"}]
        timed = {} if at_s is None else {"at_s": at_s}  # the engine reports what is missing
        return [*kept, *({**timed, "flows": {"group": group, **change}} for group in groups)]

    def access_point(self, i: int) -> Table:
        """The AP of a BSS. The keys of its transmit queue are directly in `[ap]`, and in the `ap` of the BSS, which holds over that."""
        of_queue = plan_rule("bss", "ap", "tx_queue").keys
        table = self.common_ap
        if self.scenario.bss:
            given = with_names_of(self.scenario.bss[i].ap, table)
            table = layered(table, checked_table(given, ap_rule(), f"bss[{i}].ap"))
        table = limited(layered(self.dialect.get("ap", {}), table), self.scenario.python_schemes)
        return {
            "tx_queue": {key: value for key, value in table.items() if key in of_queue},
            **{key: value for key, value in table.items() if key not in of_queue},
        }

    @cached_property
    def common_ap(self) -> Table:
        """The table `[ap]`."""
        return checked_table(self.scenario.ap, ap_rule(), "ap")

    @cached_property
    def common_station(self) -> Table:
        """The table `[station]`."""
        return checked_table(self.scenario.station, station_rule(), "station")

    @cached_property
    def common_tcp(self) -> Table:
        """The table `[tcp]` over that of the dialect."""
        table = checked(unfolded(self.scenario.tcp), flow_rule().keys["tcp"], "tcp")
        return layered(unfolded(self.dialect.get("tcp", {})), table)

    def flows(self) -> list[Table]:
        """One labelled entry per flow, and per station in its BSS. The labels are the keys of the random streams."""
        members = self.places.members
        self.check_size()
        for g, group in enumerate(self.scenario.stations):
            origin = f"stations[{g}]"
            if group.name in members:
                raise ScenarioError(f"{origin}.name", f"{group.name!r} is taken by another group", value=group.name)
            settings = self.station_settings(group.engine_keys(), origin)
            members[group.name] = labels(group.name, group.count)
            self.called[group.name] = members[group.name]
            self.called.update({label: [label] for label in members[group.name]})
            self.bsss.add(group.bss, members[group.name], settings, origin)
        flows: list[Table] = []
        waiting: list[list[str]] = []
        of_groups: list[Table] = []
        over_tcp = False
        for g, flow in enumerate(self.scenario.flows):
            origin = f"flows[{g}]"
            name = self.flow_group_name(g)
            settings = self.flow_settings(flow, name, origin)
            of_groups.append(settings)
            over_tcp |= is_over_tcp(settings)
            self.groups[name] = is_over_tcp(settings)
            own = labels(name, flow.count) if flow.count > 1 or flow.name is None else [name]
            if isinstance(flow.station, str):
                at = self.places.of_flows(flow.station, flow.count, flow.reserve, flow.first_station, origin)
                waiting.append(at[flow.count :])
            elif flow.first_station is not None:
                problem = "only flows at a named group of stations have a first one"
                allowed = "this key next to station = the name of [[stations]]"
                raise ScenarioError(f"{origin}.first_station", problem, value=flow.first_station, allowed=allowed)
            else:
                at = self.called[name] = own
                waiting.append([])
                self.add_own_stations(flow, own, origin)
            flows += [{"label": label, "station": place, **settings} for label, place in zip(own, at, strict=False)]
            self.flow_origins += [origin] * flow.count
        for g, flow in enumerate(self.scenario.flows):
            if flow.reserve:
                self.add_reserve(g, of_groups[g], waiting[g], flows)
        for g, group in enumerate(self.scenario.stations):
            if group.name not in self.places.taken:
                raise ScenarioError(
                    f"stations[{g}].name",
                    f"no flow uses the stations {group.name!r}, so they would have no effect",
                    value=group.name,
                )
        if self.scenario.tcp and not over_tcp:
            raise ScenarioError("tcp", "no flow is carried by TCP, so these keys would have no effect")
        return flows

    def add_own_stations(self, flow: FlowGroup, own: list[str], origin: str) -> None:
        """Adds the stations of flows that do not name any."""
        given = flow.station if isinstance(flow.station, dict) else {}
        settings = self.station_settings({k: v for k, v in given.items() if k != "bss"}, f"{origin}.station")
        self.called.update({label: [label] for label in own})
        self.bsss.add(given.get("bss"), own, settings, f"{origin}.station")

    def add_reserve(self, g: int, settings: Table, at: list[str], flows: list[Table]) -> None:
        """Adds a group's reserve flows after all others, so that they do not change the others' indexes."""
        flow = self.scenario.flows[g]
        name = self.flow_group_name(g)
        origin = f"flows[{g}]"
        settings = {key: value for key, value in settings.items() if key not in ("start_s", "start_spread_s")}
        settings["waits"] = True
        own = [f"{name}-{i}" for i in range(flow.count + 1, flow.count + flow.reserve + 1)]
        if not isinstance(flow.station, str):
            at = own
            self.called[name] = [*self.called[name], *own]
            self.add_own_stations(flow, own, origin)
        flows += [{"label": label, "station": place, **settings} for label, place in zip(own, at, strict=True)]
        self.flow_origins += [origin] * len(own)

    def check_size(self) -> None:
        """Rejects excessive counts before the groups are expanded."""
        limits = engine_schema().get("limits", {})
        groups = self.scenario.flows
        own_stations = sum(flow.count + flow.reserve for flow in groups if not isinstance(flow.station, str))
        for key, number in (
            ("flows", sum(flow.count + flow.reserve for flow in groups)),
            ("stations", own_stations + sum(group.count for group in self.scenario.stations)),
        ):
            most = limits.get(f"max_{key}", limits.get(key))
            if most is not None and number > most:
                raise ScenarioError(key, f"{number} are too many", value=number, allowed=f"1 to {most} {key}")

    def flow_group_name(self, index: int) -> str:
        """The group's name, or its direction, numbered from the second unnamed group of that direction on."""
        group = self.scenario.flows[index]
        if group.name is not None:
            return group.name
        earlier = sum(
            1 for other in self.scenario.flows[:index] if other.name is None and other.direction == group.direction
        )
        return group.direction if not earlier else f"{group.direction}{earlier + 1}"

    def flow_settings(self, group: FlowGroup, name: str, origin: str) -> Table:
        """The settings common to all flows of a group."""
        known = flow_rule().keys
        for key, value in group.engine_keys().items():
            if key not in known:
                raise unknown_key(origin, key, value, {*known, *FlowGroup.model_fields})
        own = {key: unfolded(value) if key == "tcp" else value for key, value in group.engine_keys().items()}
        settings = checked_table(own, flow_rule(), origin)
        if is_over_tcp(settings):
            settings["tcp"] = layered(self.common_tcp, settings.get("tcp", {}))
        return {"group": name, "direction": group.direction, **settings}

    def station_settings(self, own: Table, origin: str) -> Table:
        """The settings of a station: the dialect's, then the scenario's defaults, then the group's own."""
        known = station_rule().keys
        for key, value in own.items():
            if key not in known:
                others = {"bss"} if origin.endswith("station") else {"count", "name", "bss"}
                raise unknown_key(origin, key, value, {*known, *others})
        common = self.common_station
        own = checked_table(own, station_rule(), origin)
        phy = own.get("phy") or common.get("phy") or self.scenario.phy
        rate = highest_rate_mbps(phy.get("name"))  # of a station that sets none
        defaults = layered({"rate_mbps": rate} if rate else {}, self.dialect.get("station", {}))
        return layered(layered(defaults, common), own)

    def within_bss(self, plan_key: str) -> tuple[int, str]:
        """The number of the BSS that a key of the plan is in, and its key there; `bss.…` for a key of the table `[[bss]]`."""
        head, _, rest = plan_key.partition(".")
        if head in BSS_KEYS:
            return 0, BSS_KEYS[head]
        if head != "neighbours":
            return 0, rest if head == "bss" else plan_key
        index, _, rest = rest.partition(".")
        own = (
            "bss.name"
            if rest == "label"
            else f"bss.{rest}"
            if rest.partition(".")[0] in ("wire", *OF_NEIGHBOUR)
            else rest
        )
        return (int(index) + 1 if index else 0), own

    def scenario_key(self, plan_key: str) -> str:
        """The scenario's key for a key of the plan."""
        bss, plan_key = self.within_bss(plan_key.replace("[", ".").replace("]", ""))
        head, _, rest = plan_key.partition(".")
        if head == "bss" or not plan_key:
            return join(f"bss[{bss}]", rest) if rest else "bss"
        if head == "ap":
            rest = rest.removeprefix("tx_queue").lstrip(".")
            own = self.scenario.bss[bss].ap if self.scenario.bss else {}
            return join(f"bss[{bss}].ap" if rest.partition(".")[0] in own else "ap", rest)
        if head == "field":
            which, _, pair = rest.partition(".")
            index, _, inner = pair.partition(".")
            if index.isdigit() and int(index) < len(self.pair_origins.get(which, [])):
                origin = self.pair_origins[which][int(index)]
                return join(origin, inner) if inner else origin
        origins_of = {
            "stations": self.bsss.station_origins[bss],
            "flows": self.flow_origins,
            "events": self.event_origins,
        }
        if head in origins_of and rest:
            index, _, rest = rest.partition(".")
            origins = origins_of[head]
            head = origins[int(index)] if index.isdigit() and int(index) < len(origins) else head
            if rest == "label":  # derived from the group's name
                return join(head.removesuffix(".station"), "name")
            if head.startswith("flows") and rest.partition(".")[0] == "tcp" and self.scenario.tcp:
                inner = rest.removeprefix("tcp").lstrip(".")
                if inner.partition(".")[0] in unfolded(self.scenario.tcp):
                    return join("tcp", inner)
            if head.endswith("station") and rest.partition(".")[0] in self.scenario.station:
                head = "station"
        return join(head, rest) if rest else head


@cache
def flow_rule() -> Rule:
    """The engine's keys of a group of flows, with `profile` in its `tcp` table."""
    node = plan_node("flows", "[]")
    known = {k: v for k, v in properties(node).items() if k not in ("label", "group", "station", "direction")}
    profile = {"type": "string", "enum": [*PROFILES]}
    tcp = {"type": "object", "properties": {**properties(known["tcp"]), "profile": profile}}
    return table_of({**known, "tcp": tcp})


@cache
def station_rule() -> Rule:
    """The engine's keys of a station."""
    node = plan_node("bss", "stations", "[]")
    return table_of({key: value for key, value in properties(node).items() if key != "label"})


@cache
def ap_rule() -> Rule:
    """The table `[ap]`: the keys of the access point and of its transmit queue."""
    node = plan_node("bss", "ap")
    tx_queue = properties(properties(node)["tx_queue"])
    other = {key: value for key, value in properties(node).items() if key != "tx_queue"}
    return table_of(with_default_limits({**tx_queue, **other}))


@cache
def event_rule() -> Rule:
    """An event: stations and groups of flows have names."""
    node = plan_node("events", "[]")
    name = {"type": "string"}
    station = {k: v for k, v in properties(properties(node)["station"]).items() if k != "label"}
    flows = {k: v for k, v in properties(properties(node)["flows"]).items() if k != "group"}
    tables = {"station": {"name": name, **station}, "flows": {"name": name, **flows}}
    changed = {key: {"type": "object", "properties": keys} for key, keys in tables.items()}
    return table_of({**properties(node), **changed})


def unfolded(tcp: Table) -> Table:
    """A `tcp` table with its profile expanded below its other keys. What is no profile or no table is left to the check."""
    if not isinstance(tcp, Mapping) or tcp.get("profile") not in [*PROFILES]:
        return tcp
    return layered(PROFILES[tcp["profile"]], {key: value for key, value in tcp.items() if key != "profile"})


def is_over_tcp(flow: Table) -> bool:
    """Whether a flow of the plan uses TCP, by its application."""
    name = flow["application"]["name"] if "application" in flow else "bulk"
    return transport(name) == "tcp"


def labels(name: str, count: int) -> list[str]:
    """`name` alone for one, `name-1`, `name-2`, … for several."""
    return [f"{name}-{i}" for i in range(1, count + 1)] if count > 1 else [name]


def _scenario_error(error: ValidationError, settings: Mapping[str, Any]) -> ScenarioError:
    """Pydantic's first error as one sentence. If `flows` is missing, an unknown key may be what was meant: that error goes first."""
    first, *others = error.errors(include_url=False)
    if first["loc"] == ("flows",) and first["type"] == "missing":
        first = next((other for other in others if other["type"] == "extra_forbidden"), first)
    path = ""
    for part in first["loc"]:
        path = f"{path}[{part}]" if isinstance(part, int) else join(path, str(part))
    value = first.get("input")
    kind = first["type"]
    if kind == "extra_forbidden":
        model = BssTable if path.startswith("bss[") else Scenario
        known = [field.alias or name for name, field in model.model_fields.items()]
        known += ["building"] if model is Scenario else []
        return unknown_key(path.rpartition(".")[0], str(first["loc"][-1]), value, known)
    if kind == "missing":
        if path == "flows":
            return ScenarioError(
                "flows",
                "a scenario needs flows",
                allowed='at least one group, as [[flows]] with direction = "up", or a table [building], which draws them',
            )
        allowed = '"up" or "down"' if path.endswith("direction") else ""
        meant = nearest(str(first["loc"][-1]), value) if isinstance(value, Mapping) else ""
        instead = f"; {meant!r} is none" if meant and meant not in FlowGroup.model_fields else ""
        return ScenarioError(path, f"this key is needed{instead}", allowed=allowed)
    if kind == "too_short":
        return ScenarioError(path, "a scenario needs flows", value=value, allowed="one group or more")
    if kind == "literal_error":
        known = first["ctx"]["expected"].replace("'", "")
        hint = nearest(value, known.replace(" or ", ", ").split(", ")) if isinstance(value, str) else ""
        return ScenarioError(path, f"{value!r} is no choice", value=value, allowed=known, hint=hint)
    if kind == "greater_than_equal":
        return ScenarioError(path, f"{value!r} is too small", value=value, allowed=f"{first['ctx']['ge']} or more")
    message = first["msg"].removeprefix("Input should be ").removeprefix("a valid ")
    expected = {
        "dictionary": "a table of keys",
        "list": f"a list of tables, each below [[{path}]] with double brackets" if "." not in path else "a list",
        "integer": "a whole number",
        "string": "a text",
    }
    return ScenarioError(path, f"{value!r} is not accepted", value=value, allowed=expected.get(message, message))
