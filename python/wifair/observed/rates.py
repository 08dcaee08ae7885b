"""The rates of one direction of a link over the time of a capture.

Rate adaptation tries rates frame by frame, so the rate of a bin of time is the one that most of its frames have. Another rate counts as a change of the link if it
has been that for a while. A link whose rate changes often is under rate adaptation, and no list of changes describes it: its rate is the most frequent one, or, if
the link becomes much slower or faster, that of each part of the time.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

from wifair.observed.bitrate import Bitrate

BIN_S = 0.05
# A rate counts that most frames of each bin have for this time, and so many frames in all.
LEAST_S, LEAST_FRAMES = 1.0, 50
# With more changes, or with fewer of the frames at the rate of their time, the rate changes often.
MOST_CHANGES, LEAST_SHARE = 20, 0.8
# Parts of the time, the length of the first ones in seconds, and the ratio of their rates from which on they count.
MOST_PARTS, PART_S, MUCH = 20, 1.0, 2.0
# The longest capture whose changes count, in seconds: runs that compare retries and rates are as long as the capture then.
MOST_S = 300.0


class Since(NamedTuple):
    """A rate, and the time in seconds from which on a link has it."""

    at_s: float
    rate: Bitrate


@dataclass
class _Parts:
    """The rates of frames in equal parts of the time. Before there are more than `MOST_PARTS`, each two become one."""

    length_s: float = PART_S
    counted: list[Counter[Bitrate]] = field(default_factory=list)

    def add(self, at_s: float, frames: Counter[Bitrate]) -> None:
        while at_s >= MOST_PARTS * self.length_s:
            self.counted = [sum(self.counted[i : i + 2], Counter()) for i in range(0, len(self.counted), 2)]
            self.length_s *= 2
        number = int(at_s / self.length_s)
        self.counted += [Counter() for _ in range(number + 1 - len(self.counted))]
        self.counted[number].update(frames)

    def most_frequent(self) -> list[Since]:
        """The most frequent rate of each part with frames enough, from where it differs from that before."""
        found: list[Since] = []
        for number, counted in enumerate(self.counted):
            if counted.total() >= LEAST_FRAMES:
                [(rate, _)] = counted.most_common(1)
                if not found or found[-1].rate != rate:
                    found.append(Since(number * self.length_s if found else 0.0, rate))
        return found


@dataclass
class Rates:
    """Follows the rates of data frames in the order of time, in a bounded memory."""

    counted: Counter[Bitrate] = field(default_factory=Counter)
    _parts: _Parts = field(default_factory=_Parts)
    # The rates in turn, and how many frames had the rate of their time.
    _turns: list[Since] = field(default_factory=list)
    _held: int = 0
    # The present bin: its begin and its frames.
    _began_s: float = 0.0
    _bin: Counter[Bitrate] = field(default_factory=Counter)
    # What most frames have had since a while and was not the rate before, and its frames.
    _next: Since | None = None
    _frames: int = 0

    def add(self, at_s: float, rate: Bitrate) -> None:
        """Takes a frame at a time since the capture began."""
        if at_s >= self._began_s + BIN_S:
            self._close(at_s)
            self._began_s = at_s
        self._bin[rate] += 1

    def turns(self) -> list[Since]:
        """The rates in turn, the first one from the beginning on; those of `adapted` if they change often; empty without a frame."""
        self._close(self._began_s + BIN_S)
        if self._is_steady:
            return [Since(0.0, self._turns[0].rate), *self._turns[1:]]
        return self.adapted() if self.change_often else self.most_frequent

    def adapted(self) -> list[Since]:
        """The most frequent rate of each part of the time if one is `MUCH` times another one, else the most frequent rate of all."""
        self._close(self._began_s + BIN_S)
        parts = self._parts.most_frequent()
        speeds = [each.rate.mbps for each in parts]
        return parts if speeds and max(speeds) >= MUCH * min(speeds) else self.most_frequent

    @property
    def most_frequent(self) -> list[Since]:
        """The most frequent rate, for all of the time; empty without a frame."""
        self._close(self._began_s + BIN_S)
        return [Since(0.0, rate) for rate, _ in self.counted.most_common(1)]

    @property
    def change_often(self) -> bool:
        """Whether the rate changes too often for a list of changes."""
        self._close(self._began_s + BIN_S)
        return len(self._turns) > 1 and not self._is_steady

    @property
    def _is_steady(self) -> bool:
        return 1 < len(self._turns) <= MOST_CHANGES + 1 and self._held >= LEAST_SHARE * self.counted.total()

    def _close(self, at_s: float) -> None:
        """Ends the present bin."""
        if not self._bin:
            return
        [(rate, count)] = self._bin.most_common(1)
        self.counted.update(self._bin)
        self._parts.add(self._began_s, self._bin)
        if 2 * count > self._bin.total():
            self._won(rate, at_s, count)
        self._bin.clear()

    def _won(self, rate: Bitrate, at_s: float, count: int) -> None:
        """Takes the rate that most frames of the bin until `at_s` have."""
        if self._turns and self._turns[-1].rate == rate:
            self._held, self._next = self._held + count, None
            return
        if self._next is None or self._next.rate != rate:
            self._next, self._frames = Since(self._began_s, rate), 0
        self._frames += count
        is_there = self._frames >= LEAST_FRAMES and at_s - self._next.at_s >= LEAST_S
        if is_there and len(self._turns) <= MOST_CHANGES + 1:
            self._turns.append(self._next)
            self._held, self._next = self._held + self._frames, None
