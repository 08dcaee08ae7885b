"""The pictures of docs/lab.md, one of which is in the README: `python docs/figures/lab.py`, a minute. Wants chromium.

A browser opens a lesson, plays it at its speed, continues after each caption, applies the change that it offers, and stops when its last caption has appeared.
Of another it plays the captions before the first restart, and shows the air.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).resolve().parents[2]
PICTURE, FIELD = ROOT / "docs/images/lab.png", ROOT / "docs/images/lab-neighbours.png"
LESSON, CHANGE = "one-slow-station", "Share airtime instead"
LESSON_OF_FIELD, RESTART = "starved-in-the-middle", "Restart with RTS and CTS"
SIZE = {"width": 1300, "height": 800}


def until(page: Page, condition: str) -> None:
    """Waits until the expression holds in the page, which forbids the `eval` of Playwright's own wait."""
    while not page.evaluate(condition):
        page.wait_for_timeout(20)


@contextmanager
def opened(lesson: str) -> Iterator[Page]:
    """The page of a lab with that lesson, which plays."""
    command = [sys.executable, "-c", "from wifair.cli import main; main()", "lab", "--lesson", lesson]
    lab = subprocess.Popen([*command, "--port", "0", "--no-browser"], stderr=subprocess.PIPE, text=True)
    try:
        assert lab.stderr
        address = next(found[0] for line in lab.stderr if (found := re.search(r"http://\S+", line)))
        with sync_playwright() as driver:
            chromium = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
            page = chromium.new_page(viewport=SIZE, color_scheme="light", reduced_motion="reduce")
            page.goto(address)
            until(page, "globalThis.lab?.ready === true")
            page.get_by_role("button", name="Play").click()
            yield page
            chromium.close()
    finally:
        lab.terminate()


def to_caption(page: Page, captions: int) -> None:
    """Continues after each caption before that number, and waits for the last picture of the pause at that one."""
    while page.evaluate("lab.lesson.progress.shown") < captions:
        if page.locator("#next").is_visible():
            page.locator("#next").click()
        page.wait_for_timeout(100)
    until(page, "lab.lesson.held")
    page.wait_for_timeout(500)


def main() -> None:
    """Takes the pictures."""
    with opened(LESSON) as page:
        to_caption(page, 2)
        page.get_by_role("button", name=CHANGE).click()
        to_caption(page, 4)
        page.screenshot(path=PICTURE, full_page=True)
    with opened(LESSON_OF_FIELD) as page:
        to_caption(page, 3)
        page.get_by_role("button", name=RESTART).wait_for()
        page.get_by_role("button", name="Show less time").click()
        page.wait_for_timeout(500)
        page.locator(".air").screenshot(path=FIELD)
    for path in (PICTURE, FIELD):
        sys.stdout.write(f"{path.relative_to(ROOT)}: {path.stat().st_size / 1000:.0f} kB\n")


if __name__ == "__main__":
    main()
