"""One scenario of a population."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from wifair.population import radio, traffic
from wifair.population.distribution import Weights
from wifair.population.draws import Draws, rounded
from wifair.population.quantities import quantities
from wifair.population.traffic import UPLOADING, Flow, Host

# Simulated seconds: before the measurement, and measured.
WARMUP_S = 10
DURATION_S = 120
SCHEME = "mac80211"
AP_STREAMS = 2
# The kinds whose access point may be anywhere.
AP_ANYWHERE = ("home", "cafe")
# The new name of a PHY at 2.4 GHz that has no such band.
AT_2_4_GHZ = {"802.11ac": "802.11n"}


@dataclass(frozen=True)
class Station:
    """A connected station with its link."""

    number: int
    activity: str
    generation: str
    streams: int
    path: radio.Path
    # Received power at the station and at the access point, in dBm.
    down_dbm: float
    up_dbm: float
    # The keys `mcs_down` and `mcs`.
    mcs_down: int
    mcs_up: int
    error_down: float
    error_up: float
    system: str

    @property
    def name(self) -> str:
        """Its name in the file."""
        return f"station-{self.number}"


@dataclass(frozen=True)
class Drawn:
    """Scenario number `index` of a kind; every part follows from these and the seed."""

    kind: str
    index: int
    seed: int

    @property
    def name(self) -> str:
        """Its name, and that of its file."""
        return f"{self.kind}-{self.index:03}"

    @cached_property
    def draws(self) -> Draws:
        """Its random numbers."""
        return Draws(self.seed, self.kind, self.index)

    @cached_property
    def connected(self) -> int:
        """Stations connected, silent ones included."""
        return int(self.draws.draw("connected"))

    @cached_property
    def band_ghz(self) -> float:
        """The band."""
        return float(self.draws.draw("band"))

    @cached_property
    def generation(self) -> str:
        """The PHY of the BSS."""
        return self._in_band(self.draws.draw("generation"))

    @cached_property
    def width_mhz(self) -> int:
        """The channel width."""
        return radio.width_of(self.generation, self.band_ghz, self.draws.draw("width"))

    @property
    def hardware(self) -> str:
        """What lies below the scheme."""
        return "ath9k" if self.generation == "802.11n" else "firmware"

    @cached_property
    def wire_mbps(self) -> tuple[float, float]:
        """The wire's rates down and up, at the same quantile."""
        u = self.draws.uniform("wire")
        return float(self.draws.draw("wire_down", u=u)), float(self.draws.draw("wire_up", u=u))

    @cached_property
    def activities(self) -> tuple[str, ...]:
        """What each connected station does; the first has a large transfer."""
        first = str(self.draws.draw("busy"))
        return (first, *(str(self.draws.draw("activity", f"station {n}")) for n in range(2, self.connected + 1)))

    @cached_property
    def probe(self) -> int:
        """The number of the station that pings: one that is active and does not upload, else a silent one, else the first."""
        numbered = list(enumerate(self.activities, 1))
        able = [n for n, activity in numbered if activity not in (*UPLOADING, "silent")]
        able = able or [n for n, activity in numbered if activity == "silent"] or [1]
        return able[int(self.draws.uniform("probe") * len(able))]

    @cached_property
    def stations(self) -> list[Station]:
        """The stations that send something, the probe among them."""
        return [
            self._station(n, activity)
            for n, activity in enumerate(self.activities, 1)
            if activity != "silent" or n == self.probe
        ]

    def flows_of(self, station: Station) -> list[Flow]:
        """The flows of a station."""
        host = Host(self.draws, station.number, station.system, self._video_mbps, self._marked, self._upload_line_mbps)
        found = [] if station.activity == "silent" else traffic.flows(host, station.activity)
        return found + ([traffic.ping(host)] if station.number == self.probe else [])

    @cached_property
    def _marked(self) -> bool:
        return bool(self.draws.draw("marked"))

    @cached_property
    def _video_mbps(self) -> float:
        """The drawn rate, or the fastest that half of the wire carries."""
        rates = quantities()["video_rate"].by_kind[self.kind]
        assert isinstance(rates, Weights)
        most = min(self.draws.draw("video_rate"), self.wire_mbps[0] / 2)
        every = sorted(rate for rate, _ in rates.pairs)
        return float(max((rate for rate in every if rate <= most), default=every[0]))

    @cached_property
    def _upload_line_mbps(self) -> float | None:
        down, up = self.wire_mbps
        uploads = sum(activity in UPLOADING for activity in self.activities)
        return rounded(up / uploads) if up < down and uploads else None

    def _in_band(self, generation: str) -> str:
        return AT_2_4_GHZ.get(generation, generation) if self.band_ghz == min(radio.CARRIER_GHZ) else generation

    def _station(self, number: int, activity: str) -> Station:
        draws, where = self.draws, f"station {number}"
        generation = self._station_generation(where)
        streams = int(draws.draw("streams", where))
        path = self._path(where)
        loss_db = path.loss_db(self.band_ghz) + draws.draw("shadowing", where) + draws.draw("device_loss", where)
        down_dbm, up_dbm = draws.draw("ap_power") - loss_db, draws.draw("station_power") - loss_db
        width = radio.width_of(generation, self.band_ghz, self.width_mhz)

        def key(power_dbm: float) -> int:
            return radio.key_of(radio.mcs(power_dbm, generation, width, streams), generation, streams)

        return Station(
            number=number,
            activity=activity,
            generation=generation,
            streams=streams,
            path=path,
            down_dbm=rounded(down_dbm),
            up_dbm=rounded(up_dbm),
            mcs_down=key(down_dbm),
            mcs_up=key(up_dbm),
            error_down=draws.draw("error_rate", f"{where} down"),
            error_up=draws.draw("error_rate", f"{where} up"),
            system=str(draws.draw("system", where)),
        )

    def _station_generation(self, where: str) -> str:
        weights = quantities()["station_generation"].by_kind[self.kind]
        assert isinstance(weights, Weights)
        order = list(radio.MCS_COUNT)
        not_newer = weights.only(lambda name: order.index(name) <= order.index(self.generation))
        return self._in_band(str(not_newer.at(self.draws.uniform(f"{where} station_generation"))))

    def _path(self, where: str) -> radio.Path:
        draws = self.draws
        side_m = math.sqrt(draws.draw("area"))
        anywhere = self.kind in AP_ANYWHERE
        at = [draws.uniform(f"access point {axis}") if anywhere else 0.5 for axis in ("x", "y")]
        away = [draws.uniform(f"{where} {axis}") - place for axis, place in zip(("x", "y"), at, strict=True)]
        distance_m = rounded(max(side_m * math.hypot(*away), 1.0))
        floors = int(draws.draw("other_floor", where))
        walls = int(distance_m // draws.draw("wall_every"))
        return radio.Path(distance_m, walls, floors, draws.draw("breakpoint"), draws.draw("wall_loss"))
