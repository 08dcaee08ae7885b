"""How far a lesson has come: the same for all browsers of a lab."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from wifair.lab import controls
from wifair.lab.lessons import find_lesson

Table = dict[str, Any]


@dataclass
class Progress:
    """The captions of a lesson that have appeared."""

    lesson: str
    # When each appeared, in simulated seconds; none if it is listed only because the session began after it.
    times: list[float | None]
    # Whether the last one offers something that has not been taken up.
    asked: bool = False
    # The time of the last change that a caption offered. What was measured before it says nothing about what follows.
    from_s: float | None = None

    @property
    def captions(self) -> list[Table]:
        """All captions of the lesson."""
        found: list[Table] = find_lesson(self.lesson)["caption"]
        return found

    def appear(self, now_s: float) -> None:
        """The next caption appears."""
        self.asked = "button" in self.captions[len(self.times)]
        self.times.append(now_s)

    def follow(self, change: Table, now_s: float) -> bool:
        """A change has been made. Whether it is the one that the last caption offers."""
        offered = self.captions[len(self.times) - 1].get("change") if self.asked else None
        if offered is None or change != controls.change(offered, {}):
            return False
        self.asked, self.from_s = False, now_s
        return True

    def begin_again(self, after: int) -> Progress:
        """The progress of a session that begins after a caption, by its number."""
        known = [*self.times, *[None] * len(self.captions)]
        return Progress(self.lesson, known[: after + 1])

    def told(self) -> Table:
        """As browsers get it."""
        return {key: value for key, value in asdict(self).items() if key != "lesson"}
