"""A replication that runs step by step and can be inspected and changed in between.

    from wifair.live import Session

    session = Session("home")
    session.advance(5)
    session.apply({"ap": {"scheme": "fq-codel"}})
    session.advance(10)
    print(session.snapshot()["tx_queues"][0]["queued_packets"])
    Path("what-i-did.toml").write_text(session.to_toml())

A snapshot changes nothing, and every change is recorded as an event with its time in nanoseconds: `wifair run
what-i-did.toml --seeds 1` repeats the trajectory. `wifair lab` is a page in the browser over such a session.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from wifair.errors import InputError
from wifair.planned import bsss_of, named
from wifair.scenario.scenario import Scenario

Table = dict[str, Any]

# The counters in `snapshot()["tx_queues"][i]["counters"]`, in packets, for each of data, ACKs and others.
COUNTERS = (
    "offered",
    "tail_dropped",
    "aqm_refused",
    "evicted",
    "aqm_evicted",
    "filtered",
    "dequeued",
    "delivered",
    "lost_at_retry_limit",
    "ce_marked",
    "ece_marked",
    "policed",
    "police_marked",
    "police_dropped",
)

# The longest session, in simulated seconds.
LONGEST_S = 1_000_000.0
# The largest number of changes per session.
MOST_CHANGES = 10_000

# How the file of a session begins.
SAVED = """\
# A session of wifair. run.duration_s is the moment at which it was saved, and run.warmup_s is 0, so results include the start.
# For means of a steady state, raise run.warmup_s.
"""

_SEED = 1  # the seed of `wifair run --seeds 1`


class Session:
    """One replication of a scenario with seed 1, initially at time zero.

    A change of a group's count can open up to `reserve` more flows of each group. Until then they cost nothing and do
    not affect the others.
    """

    def __init__(self, scenario: Scenario | str | Path, reserve: int = 0) -> None:
        from wifair import _native
        from wifair.scheme.python import failed

        given = scenario if isinstance(scenario, Scenario) else Scenario.from_toml(scenario)
        settings = given.drawn_settings()
        settings["run"] = {**settings.get("run", {}), "warmup_s": 0.0, "duration_s": LONGEST_S}
        settings["flows"] = [{**flow, "reserve": max(reserve, flow.get("reserve", 0))} for flow in settings["flows"]]
        self._scenario = Scenario.from_settings(settings)
        self._changes = 0
        self._shown = next(iter(bsss_of(self._scenario.plan())))
        self._failure: Exception | None = None
        try:
            self._live = _native.Live(self._scenario.plan_json, _SEED, self._makers())
        except _native.SchemeFailed as error:
            raise failed(error, self._scenario.python_schemes) from error.__cause__

    @property
    def scenario(self) -> Scenario:
        """The scenario with all changes so far, and without an end time."""
        return self._scenario

    @property
    def shown(self) -> str:
        """The name of the BSS whose access point's transmit queues snapshots show: at first the first."""
        return self._shown

    def show(self, bss: str) -> None:
        """Shows the transmit queues of the access point of another of several BSSs from now on."""
        plan = self._scenario.plan()
        self._shown = named(plan, bss, "bss")
        self._live.show(list(bsss_of(plan)).index(bss))

    @property
    def now_ns(self) -> int:
        """The simulated time in nanoseconds. All earlier events have run, those at this instant have not run yet."""
        return self._live.now_ns()

    @property
    def now_s(self) -> float:
        """The simulated time in seconds."""
        return self.now_ns / 1e9

    def advance(self, until_s: float, look_s: float | None = None) -> None:
        """Runs until `until_s`, in seconds since the start; does nothing if that has passed.

        During the last `look_s` seconds, frames on the air and events at the AP's transmit queues are recorded for the next
        snapshot. Recording slows the run. Of each only the newest few thousand are kept.
        """
        self.advance_ns(round(until_s * 1e9), None if look_s is None else round(look_s * 1e9))

    def advance_ns(self, until_ns: int, look_ns: int | None = None) -> None:
        """Like `advance`, in nanoseconds."""
        until_ns = min(until_ns, round(LONGEST_S * 1e9))
        record_from_ns = until_ns if look_ns is None else max(0, until_ns - look_ns)
        self._run(lambda python: self._live.advance(max(0, until_ns), record_from_ns, python))

    def step(self) -> bool:
        """Runs to the end of the next frame exchange, recording frames and events. False if none begins within a second.

        In a field it runs until the next sender knows the outcome of its exchange.
        """
        stepped: bool = self._run(self._live.step)
        return stepped

    def modes(self) -> list[Table]:
        """By station of all BSSs, what an event can set of its links: `key` (`rate_mbps`, or `mcs` from 802.11n on) and `choices`, the slowest first."""
        found: list[Table] = json.loads(self._live.modes())
        return found

    def snapshot(self) -> Table:
        """The present state; see `snapshot_json`."""
        found: Table = json.loads(self.snapshot_json())
        return found

    def snapshot_json(self) -> str:
        """The present state as JSON. Counters are cumulative; past times are in nanoseconds before now.

        - `time_ns`
        - `bss`: number of the BSS that is shown (`show`), 0 for the first
        - `tx_queues`: one per transmit queue of its AP: `category`, `limit_packets`, `queued_packets`, `gauges` by name, `counters` (for data,
          ACKs and others, each as `COUNTERS` says), `sojourn_count` and `sojourn_sum_ns` (of the packets dequeued), `packets`
          (from head to tail; for each, one after the other: index of its flow, class (0 data, 1 ACK, 2 other), IP bytes, age, 1
          if it is marked CE)
        - `flows`: by flow, in the order of the plan
        - `stations`: by station, in the order of the plan, those of the first BSS first
        - `air`: of the BSS that is shown, exchanges, collisions, time of collisions, of beacons and time idle
        - `field`: if the nodes do not all hear each other, counters by BSS, as in the table `bsss` of results; else empty lists
        - `frames`: on the air, each begin, end, transmitter (0 the AP of the first BSS, 1 + index of the station, then the APs of the other
          BSSs), kind (0 data, 1 MAC ACK, 2 RTS, 3 CTS, 4 beacon), outcome (0 received, 1 collided, 2 data lost, 3 ACK lost; in a
          field 1 lost to a frame of the same start, 4 lost to hidden ones, 5 an RTS that is received and not answered), flow, class, attempt, rate
          in Mbps, since when its sender has waited for access, the packets of a PPDU under a Block Ack agreement (for each, one
          after the other: flow, class, IP bytes, and 1 if its MPDU is decoded, else 0, or 2 if it is lost to hidden frames; those of the
          newest PPDUs, where there are many). In a field a frame is listed once its sender knows the outcome of its exchange
        - `frames_omitted`: those that were dropped because there were too many
        - `frames_under_way`: in a field, those that are not listed yet: begin, end or now, transmitter, kind
        - `events`: at the AP's transmit queues, each time, what (0 enqueue, 1 dequeue, 2 tail drop, 3 refused by the scheme, 4 evicted, 5
          filtered, 6 evicted by the scheme as a signal, 7 marked, 8 lost at the retry limit), flow, class, since when it had been
          queued, packets queued then
        """
        found: str = self._run(self._live.snapshot)
        return found

    def apply(self, change: Mapping[str, Any]) -> Table:
        """Applies a change now: the tables of an `[[events]]` entry, without its time. Returns the event.

        An invalid change raises `wifair.errors.ScenarioError` and has no effect.
        """
        if "at_s" in change:
            raise InputError("at_s: a change happens now; leave the key out.")
        if self._changes >= MOST_CHANGES:
            raise InputError(f"a session has at most {MOST_CHANGES:,} changes.")
        self._check()
        event = {"at_s": self.now_s, **change}
        settings = self._scenario.settings()
        # The engine knows events by their index in the plan, so a new one is appended, also at the same instant.
        settings["events"] = [*settings.get("events", []), event]
        changed = Scenario.from_settings(settings)
        _ = changed.plan_json
        before, self._scenario = self._scenario, changed
        try:
            self._live.change(changed.plan_json, self._makers())
        except BaseException:
            self._scenario = before
            raise
        self._changes += 1
        given: Table = self._scenario.settings()["events"][-1]
        return given

    def past(self) -> Scenario:
        """The session up to now as a scenario, whose `fingerprint()` equals that of this session."""
        from wifair.scenario.overrides import layered

        if self.now_ns < 1_000_000:
            raise InputError("there is nothing to save yet: less than a simulated millisecond has passed.")
        settings = layered(self._scenario.settings(), {})
        settings["run"]["duration_s"] = self.now_s
        settings["events"] = [event for event in settings.get("events", []) if event["at_s"] <= self.now_s]
        return Scenario.from_settings(settings)

    def to_toml(self) -> str:
        """`past()` as the text of a scenario file."""
        import tomli_w

        past = self.past()
        if past.python_schemes:
            names = ", ".join(str(scheme) for scheme in past.python_schemes.values())
            problem = f"the session has used {names}, written in Python, which a scenario file cannot name"
            raise InputError(f"{problem}; `Session.past()` gives the scenario in Python.")
        return SAVED + tomli_w.dumps(past.settings())

    def fingerprint(self) -> int:
        """A hash over every packet delivered over the air so far, with its time."""
        return self._live.fingerprint()

    def _makers(self) -> Any:
        from wifair.scheme.python import makers

        return makers(self._scenario.python_schemes)

    def _check(self) -> None:
        if self._failure:
            raise self._failure

    def _run(self, call: Any) -> Any:
        from wifair import _native
        from wifair.scheme.python import failed

        self._check()
        try:
            return call(bool(self._scenario.python_schemes))
        except _native.SchemeFailed as error:
            self._failure = failed(error, self._scenario.python_schemes, _SEED)
            raise self._failure from error.__cause__
