"""Traces of replications: packet captures (pcapng) and the event log. Format: `docs/traces.md`.

Each replication has a separate folder:

    DIR/seed-1/ap-air.pcapng             frames that the AP's radio receives and sends
    DIR/seed-1/ap-wire.pcapng            the AP's Ethernet interface
    DIR/seed-1/servers.pcapng            the servers' interface, on request
    DIR/seed-1/ap-NAME-air.pcapng        the radio of another BSS's AP, on request
    DIR/seed-1/ap-NAME-wire.pcapng       its Ethernet interface
    DIR/seed-1/station-NAME-air.pcapng   a station's radio, on request
    DIR/seed-1/station-NAME-host.pcapng  a station's host, on request
    DIR/seed-1/events/*.parquet          the log of events

Tracing does not change the trajectory and is not part of the plan.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from wifair import _native
from wifair.errors import InputError, ScenarioError, WifairError
from wifair.keys import nearest
from wifair.results.results import writable_folder
from wifair.results.segment import atomic

if TYPE_CHECKING:
    from wifair.study.job import Job

PARQUET = ".parquet"


@dataclass(frozen=True)
class Traces:
    """The traces to write: captures below the folder `pcap`, event logs below the folder `events`, each if set.

    `stations` (labels), `aps` (names of BSSs, for their APs) and `servers` are captured in addition to the AP, that of the first BSS
    if there are several. Captures hold headers only, unless `full_frames`.
    """

    pcap: str | Path | None = None
    events: str | Path | None = None
    stations: Sequence[str] = ()
    servers: bool = False
    full_frames: bool = False
    aps: Sequence[str] = ()

    def __post_init__(self) -> None:
        if self.pcap is None and (self.stations or self.aps or self.servers or self.full_frames):
            raise InputError("traces: stations, aps, servers and full frames need a folder for captures.")
        if self.pcap is None and self.events is None:
            raise InputError(
                "traces: nothing is to be written; allowed here: a folder for captures, for events, or both."
            )

    def batch(self, jobs: Sequence[Job], threads: int) -> TracedBatch:
        """Starts the jobs, which are seeds of one scenario. Creates their folders and removes old event logs."""
        if len({plan for plan, _ in jobs}) > 1:
            raise InputError("traces: several scenarios would write to the same files; allowed here: one.")
        for plan, _ in jobs[:1]:
            self._check(plan)
        return TracedBatch(self, jobs, _native.Batch(list(jobs), threads, [self._of(seed) for _, seed in jobs]))

    def _check(self, plan: str) -> None:
        whole = json.loads(plan)
        neighbours = whole.get("neighbours", [])
        labels = [station["label"] for bss in (whole["bss"], *neighbours) for station in bss["stations"]]
        names = [whole.get("bss_label") or "ap", *(bss["label"] for bss in neighbours)]
        for key, kind, wanted, there in (
            ("traces.stations", "station", self.stations, labels),
            ("traces.aps", "BSS", self.aps, names),
        ):
            for name in wanted:
                if name not in there:
                    shown = ", ".join(there) if len(there) <= 20 else f"{there[0]}, {there[1]}, … {there[-1]}"
                    hint = nearest(name, there)
                    raise ScenarioError(key, f"there is no {kind} {name!r}", value=name, allowed=shown, hint=hint)

    def of(self, plan: str, seed: int) -> str:
        """The engine's trace options for an emulated run, as JSON. Creates its folders."""
        self._check(plan)
        if self.pcap is not None and json.loads(plan)["bss"].get("field") is not None:
            allowed = "a scenario without the table field, or wifair run --pcap"
            raise ScenarioError("traces.pcap", "there is no capture of real packets in a field", allowed=allowed)
        return self._of(seed)

    def _of(self, seed: int) -> str:
        spec: dict[str, object] = {"events": self.events is not None}
        if self.pcap is not None:
            chosen = {
                "stations": list(dict.fromkeys(self.stations)),
                "aps": list(dict.fromkeys(self.aps)),
                "servers": self.servers,
            }
            spec["folder"] = str(writable_folder(_folder(self.pcap, seed)).absolute())
            spec["pcap"] = {**chosen, "full_frames": self.full_frames}
        if self.events is not None:
            for old in writable_folder(_folder(self.events, seed) / "events").glob(f"*{PARQUET}"):
                old.unlink()
        return json.dumps(spec)

    def remark(self) -> str:
        """The message that says where the traces are."""
        parts = []
        if self.pcap is not None:
            parts.append(f"captures are in {self.pcap}")
        if self.events is not None:
            parts.append(f"events are in {self.events}")
        return " and ".join(parts)


class TracedBatch:
    """Running jobs whose events are written meanwhile: a Parquet file per batch of rows, each written atomically."""

    def __init__(self, traces: Traces, jobs: Sequence[Job], batch: _native.Batch) -> None:
        self._traces = traces
        self._jobs = jobs
        self._batch = batch
        self._written = [0] * len(jobs)

    def wait(self, timeout_ms: int) -> int:
        """Like `_native.Batch.wait`."""
        done = self._batch.wait(timeout_ms)
        self._write_events()
        return done

    def take(self) -> Mapping[str, _native.Table]:
        """Like `_native.Batch.take`. The events of finished jobs are written before."""
        self._write_events()
        return self._batch.take()

    def simulated_s(self) -> float:
        """Like `_native.Batch.simulated_s`."""
        return self._batch.simulated_s()

    def cancel(self) -> None:
        """Like `_native.Batch.cancel`."""
        self._batch.cancel()

    def failure(self) -> str | None:
        """Like `_native.Batch.failure`."""
        return self._batch.failure()

    def _write_events(self) -> None:
        while (found := self._batch.take_events()) is not None:
            job, rows = found
            folder = _folder(self._traces.events or "", self._jobs[job][1]) / "events"
            path = folder / f"{self._written[job]:06}{PARQUET}"
            try:
                with atomic(path) as file:
                    pl.DataFrame(rows).write_parquet(file, compression="zstd")
            except OSError as error:
                raise WifairError(f"{path}: cannot be written: {error.strerror}.") from None
            self._written[job] += 1


def _folder(root: str | Path, seed: int) -> Path:
    return Path(root) / f"seed-{seed}"
