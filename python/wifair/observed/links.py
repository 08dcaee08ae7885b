"""The PHY of the cell and of each station, from the bit rates that were observed.

A scenario has one number of streams, one channel width and one guard interval per station, and an MCS for each direction. Of the two
directions, the one with the newer PHY, the wider channel and the more streams sets them; the other one gets the MCS with the nearest rate.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

from wifair.errors import ScenarioError
from wifair.observed.bitrate import ANY, DSSS_MBPS, GENERATIONS, OFDM_MBPS, Bitrate, mbps
from wifair.observed.network import Observed, Station, Value, assumed, read, unknown
from wifair.planned import RATES
from wifair.population import radio
from wifair.scenario.scenario import Scenario
from wifair.toml_text import value

# Without a rate, a signal and a frequency.
GENERATION, BAND_GHZ, WIDTH_MHZ, STREAMS, SIGNAL_DBM = "802.11ax", 5, 20, 2, -65.0
INTERVAL_NS = 800
# The widest channel of HT, which a VHT rate at 2.4 GHz becomes.
HT_WIDTH_MHZ, HT_MCS = 40, 7

# Both directions of a link change together if they do within this time.
TOGETHER_S = 0.5

Keys = dict[str, Value[Any]]


@dataclass(frozen=True)
class Links:
    """The keys of the table `phy` and of each station."""

    observed: Observed

    @cached_property
    def band(self) -> Value[float]:
        """The band in GHz, from the frequency."""
        found = self.observed.frequency_mhz
        if not found and self.observed.band_ghz:
            return self.observed.band_ghz
        if not found:
            return unknown(BAND_GHZ, "no file names the frequency")
        return found.of(2.4 if found.value < 3000 else 5 if found.value < 5925 else 6)

    @cached_property
    def rates(self) -> dict[str, list[Value[Bitrate]]]:
        """The rates of each station, those that the band allows. Of a station with an MCS, rates before 802.11n are left out."""
        found = {}
        for key, station in self.observed.stations.items():
            every = (station.down, station.up, *(change.rate for change in station.changes))
            rates = [self._in_band(rate) for rate in every if rate]
            modern = [rate for rate in rates if rate.value.has_mcs]
            nominal = [rate for rate in rates if rate.value.generation == ANY]
            found[key] = modern or nominal or rates
        return found

    @cached_property
    def generation(self) -> Value[str]:
        """The PHY of the configuration, else the newest PHY of all stations."""
        given = self.observed.generation
        every = [rates for rates in self.rates.values() if rates and rates[0].value.generation != ANY]
        names = [self._generation(rates) for rates in every]
        if given and all(GENERATIONS.index(name) <= GENERATIONS.index(given.value) for name in names):
            return given
        if not names:
            return unknown(GENERATION, "no station has a rate with an MCS")
        return assumed(max(names, key=GENERATIONS.index), "the newest PHY among the stations' rates")

    @cached_property
    def is_modern(self) -> bool:
        """Whether it is 802.11n or later."""
        return self.generation.value in radio.MCS_COUNT

    @cached_property
    def width(self) -> Value[int]:
        """The channel width in MHz."""
        given = self.observed.width_mhz
        modes = [rate.value for rates in self.rates.values() for rate in rates if rate.value.has_mcs]
        widest = max((rate.width_mhz for rate in modes), default=0)
        if given and given.value >= widest:
            return given
        if widest:
            return self._of_all(widest, "the widest among the stations' rates")
        nominal = [rate.value.mbps for rates in self.rates.values() for rate in rates if rate.value.generation == ANY]
        top = radio.MCS_COUNT[self.generation.value] - 1 if self.is_modern else 0
        for mhz in (20, 40, 80, 160) if nominal and self.is_modern else ():
            if mbps(self.generation.value, top, STREAMS, mhz, INTERVAL_NS) >= max(nominal):
                return assumed(mhz, f"the narrowest that has the highest rate with {STREAMS} streams")
        return unknown(WIDTH_MHZ, "no file names it")

    @cached_property
    def streams(self) -> Value[int]:
        """The number of streams of the access point."""
        modes = [rate.value.streams for rates in self.rates.values() for rate in rates if rate.value.has_mcs]
        if not modes:
            return unknown(STREAMS, "no rate has it")
        return self._of_all(max(modes), "the most among the stations' rates")

    @cached_property
    def interval(self) -> Value[int]:
        """The guard interval that most stations of the newest PHY have, in ns."""
        modes = [rate.value for rates in self.rates.values() for rate in rates if rate.value.has_mcs]
        own = [rate.guard_interval_ns for rate in modes if rate.generation == self.generation.value]
        if not own:
            return unknown(INTERVAL_NS, "no rate has it")
        frequent = Counter(own).most_common(1)[0][0] or INTERVAL_NS
        return self._of_all(frequent, "the most frequent one among the stations' rates")

    def _of_all(self, found: int, what: str) -> Value[int]:
        """A value that is read if each station has a mode: those with another value have it as a key, so no link depends on it."""
        modern = all(rates and rates[0].value.has_mcs for rates in self.rates.values())
        return read(found, what, "") if modern else assumed(found, what)

    def phy(self) -> Keys:
        """The keys of the table `phy`."""
        if not self.is_modern:
            return {"name": self.generation}
        return {
            "name": self.generation,
            "band_ghz": self.band,
            "width_mhz": self.width,
            "streams": self.streams,
            "guard_interval_ns": self.interval,
        }

    def station(self, station: Station) -> Keys:
        """The keys of a station's link at first."""
        now = [self._in_band(rate) for rate in (station.down, station.up) if rate]
        rates = [rate for rate in now if rate in self.rates[station.key]]
        rates += [rate for rate in self.rates[station.key] if rate not in rates]
        if rates and all(rate.value.has_mcs for rate in rates):
            return self._modern(station, rates)
        if rates and all(rate.value.generation == ANY for rate in rates) and self.is_modern:
            return self._nominal(station, rates)
        if rates:
            return self._legacy(station, rates)
        return self._by_signal(station)

    def changes(self, station: Station) -> list[tuple[Value[float], Keys]]:
        """The times from which on the link has other rates, and the keys of these. A change of both directions is one."""
        found: list[tuple[Value[float], Keys]] = []
        now, keys = station, self.station(station)
        for change in station.changes:
            now = replace(now, down=change.rate) if change.direction == "down" else replace(now, up=change.rate)
            before, keys = keys, {key: each for key, each in self.station(now).items() if key in RATES}
            if all(key in before and before[key].value == each.value for key, each in keys.items()):
                continue
            at_s = change.rate.of(round(change.at_s, 2))
            if found and change.at_s - found[-1][0].value < TOGETHER_S:
                at_s, _ = found.pop()
            found.append((at_s, keys))
        return found

    def _modern(self, station: Station, rates: list[Value[Bitrate]]) -> Keys:
        main = max(rates, key=lambda rate: _order(rate.value))
        mode = main.value
        keys: Keys = {}
        phy = self._phy_of(mode)
        if phy:
            keys["phy"] = main.of(phy)
        if mode.streams != self.streams.value:
            keys["streams"] = main.of(mode.streams)
        down, up = (self._direction(rate, main, rates) for rate in (station.down, station.up))
        return keys | self._indices(down, up, mode, phy)

    def _direction(self, own: Value[Bitrate] | None, main: Value[Bitrate], rates: list[Value[Bitrate]]) -> Value[int]:
        """The MCS from 0 per stream of a direction."""
        mode = main.value
        rate = self._in_band(own) if own else None
        if rate is None or rate not in rates:
            return assumed(_index(mode), "as in the other direction")
        if _order(rate.value) == _order(mode) and rate.value.guard_interval_ns == mode.guard_interval_ns:
            return rate.of(_index(rate.value))
        return replace(
            self._nearest(rate, mode), origin="assumed", what=f"{rate.what}, the nearest mode of this station"
        )

    def _nearest(self, rate: Value[Bitrate], mode: Bitrate) -> Value[int]:
        interval = mode.guard_interval_ns or INTERVAL_NS

        def distance(index: int) -> float:
            own = mbps(mode.generation, index, mode.streams, mode.width_mhz, interval)
            return abs(own - rate.value.mbps)

        return rate.of(min(range(radio.MCS_COUNT[mode.generation]), key=distance))

    def _indices(self, down: Value[int], up: Value[int], mode: Bitrate, phy: Mapping[str, Any]) -> Keys:
        """The keys `mcs` and `mcs_down`, with the next lower MCS if the PHY does not have the observed one."""
        keys: Keys = {}
        bss = value({key: each.value for key, each in self.phy().items()})
        for key, found in (("mcs", up), ("mcs_down", down)):
            index = _existing(bss, mode.generation if phy else "", value(phy), mode.streams, found.value)
            if index != found.value:
                found = assumed(index, f"{found.what}, the next lower MCS that the PHY has")
            keys[key] = found.of(radio.key_of(index, mode.generation, mode.streams))
        if keys["mcs_down"].value == keys["mcs"].value and keys["mcs_down"].origin != "read":
            del keys["mcs_down"]
        return keys

    def _phy_of(self, mode: Bitrate) -> dict[str, Any]:
        """The station's own PHY; empty if it is that of the BSS."""
        phy: dict[str, Any] = {"name": mode.generation}
        if mode.width_mhz != self.width.value:
            phy["width_mhz"] = mode.width_mhz
        if mode.guard_interval_ns != self.interval.value or mode.generation != self.generation.value:
            phy["guard_interval_ns"] = mode.guard_interval_ns
        return phy if len(phy) > 1 or mode.generation != self.generation.value else {}

    def _nominal(self, station: Station, rates: list[Value[Bitrate]]) -> Keys:
        mode = self._bss_mode()
        down, up = (self._nearest(rate or rates[0], mode) for rate in (station.down, station.up))
        down, up = (assumed(each.value, f"{each.what}, the nearest mode") for each in (down, up))
        return self._indices(down, up, mode, {})

    def _bss_mode(self) -> Bitrate:
        return Bitrate(0, self.generation.value, 0, self.streams.value, self.width.value, self.interval.value)

    def _legacy(self, station: Station, rates: list[Value[Bitrate]]) -> Keys:
        generation = self.generation.value if rates[0].value.generation == ANY else self._generation(rates)
        known: tuple[float, ...] = DSSS_MBPS if generation == "802.11b" else OFDM_MBPS
        keys: Keys = {}
        if generation != self.generation.value:
            keys["phy"] = rates[0].of(generation)
        down, up = station.down or station.up, station.up or station.down
        for key, rate in (("rate_mbps", up), ("rate_down_mbps", down)):
            assert rate
            nearest = min(known, key=lambda each: abs(each - rate.value.mbps))
            same = nearest == rate.value.mbps
            keys[key] = rate.of(nearest) if same else assumed(nearest, f"{rate.what}, the nearest of {generation}")
        return keys

    def _by_signal(self, station: Station) -> Keys:
        signal = station.signal_dbm or unknown(SIGNAL_DBM, "neither rate nor signal")
        origin = "assumed" if signal.origin == "read" else signal.origin
        if not self.is_modern:
            rate = min(OFDM_MBPS) if self.generation.value != "802.11b" else min(DSSS_MBPS)
            return {"rate_mbps": unknown(float(rate), "no rate was read")}
        mode = self._bss_mode()
        index = radio.mcs(signal.value, mode.generation, mode.width_mhz, mode.streams)
        what = f"the fastest MCS whose sensitivity is below {signal.what if signal.origin == 'read' else f'{SIGNAL_DBM:g} dBm'}"
        found = Value(index, origin, what, signal.place)
        keys = self._indices(found, found, mode, {})
        return keys

    def _in_band(self, rate: Value[Bitrate]) -> Value[Bitrate]:
        """VHT rates at 2.4 GHz, which some chips have and 802.11 does not, as HT."""
        mode = rate.value
        if mode.generation != "802.11ac" or self.band.value != 2.4:
            return rate
        width = min(mode.width_mhz, HT_WIDTH_MHZ)
        index = min(mode.mcs or 0, HT_MCS) + 8 * (mode.streams - 1)
        return assumed(
            replace(mode, generation="802.11n", mcs=index, width_mhz=width), f"{rate.what}, VHT as HT at 2.4 GHz"
        )

    def _generation(self, rates: list[Value[Bitrate]]) -> str:
        """The generation of a station whose rates have their modes, or are from before 802.11n."""
        modes = [rate.value for rate in rates]
        names = [mode.generation for mode in modes if mode.generation]
        if names:
            return max(names, key=GENERATIONS.index)
        if self.band.value != 2.4 or self.band.origin == "unknown":
            return "802.11a" if any(mode.mbps in OFDM_MBPS for mode in modes) else "802.11b"
        return "802.11g" if any(mode.mbps in OFDM_MBPS for mode in modes) else "802.11b"


def _order(mode: Bitrate) -> tuple[int, int, int]:
    return GENERATIONS.index(mode.generation), mode.width_mhz, mode.streams


def _index(mode: Bitrate) -> int:
    """The MCS from 0 per stream."""
    return (mode.mcs or 0) % 8 if mode.generation == "802.11n" else mode.mcs or 0


@cache
def _existing(bss: str, generation: str, phy: str, streams: int, index: int) -> int:
    """The highest MCS, `index` at most, that the engine has with these keys; `index` if it has none."""
    import tomllib

    keys = tomllib.loads(f"bss = {bss}\nphy = {phy}")
    own = {"phy": keys["phy"]} if generation else {}
    streamed = {"streams": streams}
    for lower in range(index, -1, -1):
        name = generation or keys["bss"]["name"]
        station = {**own, **streamed, "mcs": radio.key_of(lower, name, streams)}
        try:
            Scenario(phy=keys["bss"], flows=[{"direction": "up", "station": station}])
        except ScenarioError as error:
            if not error.key.endswith(".mcs"):
                return index
        else:
            return lower
    return index
