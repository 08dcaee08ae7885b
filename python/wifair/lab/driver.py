"""The thread that runs a session at the page's speed.

It executes commands between short pieces of work, and takes a picture (a snapshot) of the session when a browser is
ready for one, at most 30 times per second. A slow browser gets fewer pictures; the engine does not wait for it.
"""

from __future__ import annotations

import json
import math
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from wifair.live import LONGEST_S, Session

# The least time between two pictures, and the longest time between two commands.
PICTURE_S = 1 / 30
PIECE_S = 0.01
# The longest simulated time before a picture in which frames and events at the AP's transmit queues are recorded.
LOOK_S = 0.1
SLOWEST, FASTEST = 1e-3, math.inf

Command = Callable[[], Any]


class Driver:
    """Runs a session. All methods but `run` may be called from any thread.

    `publish` receives each picture as JSON. It is called on the driver's thread and must return at once.
    """

    def __init__(self, session: Session, publish: Callable[[str], None]) -> None:
        self.session = session
        self.speed = 1.0
        self.playing = False
        # Whether it is paused at a caption of a lesson.
        self.held = False
        # Number of earlier sessions.
        self.generation = 0
        self._publish = publish
        self._commands: queue.SimpleQueue[tuple[Command, Future[Any]]] = queue.SimpleQueue()
        self._wake = threading.Event()
        self._wanted = threading.Event()
        self._stopping = False
        self._pictures = 0
        self._last_picture = -math.inf
        # Simulated seconds per real second: the engine's speed, and the recent speed of the session.
        self._rate = 1.0
        self._went = (0.0, 0)
        self._achieved = 0.0
        self._changed = True
        # Whether frames since the last picture were not recorded.
        self._missed = False
        # The simulated time should be `_anchor[1]` plus speed times the real time since `_anchor[0]`.
        self._anchor = (0.0, 0)
        self._thread = threading.Thread(target=self.run, name="wifair-lab", daemon=True)

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Ends the thread. Queued commands are dropped."""
        self._stopping = True
        self._wake.set()
        self._thread.join(timeout=0.5)  # it is a daemon thread: longer work ends with the process

    def want(self) -> None:
        """Requests a picture."""
        self._wanted.set()
        self._wake.set()

    def do(self, command: Command) -> Future[Any]:
        """Runs `command` on the driver's thread, between two pieces of work."""
        future: Future[Any] = Future()
        self._commands.put((command, future))
        self._wake.set()
        return future

    # The commands, called on the driver's thread.

    def play(self, speed: float) -> None:
        """Runs at `speed` simulated seconds per second."""
        self.speed, self.playing, self.held = speed, True, False
        self._settle()

    def pause(self) -> None:
        """Pauses. After a high speed, first runs a short interval with recording of frames."""
        if self.playing and self.speed * PICTURE_S > LOOK_S:
            look_ns = round(LOOK_S * 1e9)
            self.session.advance_ns(self.session.now_ns + look_ns, look_ns)
        self.playing = False
        self._settle()

    def hold(self) -> None:
        """Pauses at a caption, until `play` or `load`."""
        self.pause()
        self.held = True

    def step(self) -> bool:
        """Pauses after the next exchange."""
        self.playing = False
        found = self.session.step()
        self._settle()
        return found

    def load(self, session: Session) -> None:
        """Replaces the session; the new one is paused."""
        self.session, self.playing, self.held = session, False, False
        self.generation += 1
        self._settle()

    def touch(self) -> None:
        """Requests a new picture after a change of the session."""
        self._settle()

    def _settle(self) -> None:
        self._changed = True
        self._last_picture = -math.inf
        self._anchor = (time.perf_counter(), self.session.now_ns)
        self._went = self._anchor
        if not self.playing:
            self._achieved = 0.0

    def run(self) -> None:
        """The thread's main function."""
        while not self._stopping:
            self._obey()
            try:
                pause_s = self._work()
            except Exception as error:
                self.playing = False
                self._settle()
                self._publish(json.dumps({"type": "failed", "message": str(error)}))
                pause_s = 1.0
            if pause_s > 0:
                self._wake.wait(pause_s)
            self._wake.clear()
        while not self._commands.empty():
            self._commands.get()[1].cancel()

    def _obey(self) -> None:
        while not self._commands.empty():
            command, future = self._commands.get()
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(command())
            except BaseException as error:
                future.set_exception(error)

    def _work(self) -> float:
        """Does one piece of work. Returns for how long there is nothing to do, in seconds."""
        now = time.perf_counter()
        if not self.playing:
            self._picture(now)
            return 1.0
        if self.session.now_s >= LONGEST_S:
            self.pause()
            return 0.0
        goal_ns = self._goal(now)
        due_s = self._last_picture + PICTURE_S - now
        if goal_ns > self.session.now_ns:
            self._advance(goal_ns)
            now = time.perf_counter()
        if self._last_picture + PICTURE_S <= now:
            self._picture(now)
            return 0.0
        return 0.0 if self.speed == FASTEST or goal_ns > self.session.now_ns else max(0.0, due_s)

    def _goal(self, now: float) -> int:
        """The simulated time that the session should have reached, in nanoseconds."""
        if self.speed == FASTEST:
            return round(LONGEST_S * 1e9)
        return self._anchor[1] + round((now - self._anchor[0]) * self.speed * 1e9)

    def _advance(self, goal_ns: int) -> None:
        """Runs one piece of simulated time and measures the speed. A delayed session does not catch up later."""
        session, start = self.session, time.perf_counter()
        from_ns = session.now_ns
        piece_ns = max(1_000, round(self._rate * PIECE_S * 1e9))
        until_ns = min(goal_ns, from_ns + piece_ns)
        look_ns = round(LOOK_S * 1e9)
        if self.speed * PICTURE_S <= LOOK_S:
            session.advance_ns(until_ns, look_ns + piece_ns)
        elif start + PIECE_S >= self._last_picture + PICTURE_S and self._wanted.is_set():
            session.advance_ns(until_ns, min(look_ns, until_ns - from_ns))
            self._missed = True
        else:
            self._missed = True
            session.advance_ns(until_ns)
        took = max(1e-6, time.perf_counter() - start)
        if until_ns - from_ns == piece_ns:
            self._rate = min(4 * self._rate, 0.5 * (self._rate + (until_ns - from_ns) / 1e9 / took))
            self._rate = max(self._rate, 1e-4)
        behind_ns = goal_ns - until_ns
        if self.speed != FASTEST and behind_ns > self.speed * 0.2 * 1e9:
            self._anchor = (time.perf_counter(), until_ns)

    def _picture(self, now: float) -> None:
        """Publishes a picture if one is wanted."""
        if not self._wanted.is_set() or not (self._changed or self.playing):
            return
        self._wanted.clear()
        session = self.session
        then, then_ns = self._went
        if self.playing and now - then > 0.25:
            self._achieved = (session.now_ns - then_ns) / 1e9 / (now - then)
            self._went = (now, session.now_ns)
        self._pictures += 1
        head = {
            "type": "state",
            "number": self._pictures,
            "generation": self.generation,
            "playing": self.playing,
            "held": self.held,
            "speed": None if self.speed == FASTEST else self.speed,
            "achieved": self._achieved,
            "every_event": not self._missed,
        }
        text = json.dumps(head)
        self._publish(f'{text[:-1]}, "state": {session.snapshot_json()}}}')
        self._last_picture = now
        self._changed = False
        self._missed = False
