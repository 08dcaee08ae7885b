"""The picture of docs/lab.md and the README: `python docs/figures/lab.py`, a minute. Wants chromium.

A browser opens a lesson, plays it at real time, applies the change that it offers, and stops when its last caption has appeared.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).resolve().parents[2]
PICTURE = ROOT / "docs/images/lab.png"
LESSON, CHANGE = "one-slow-station", "Share airtime instead"
SIZE = {"width": 1300, "height": 800}


def until(page: Page, condition: str) -> None:
    """Waits until the expression holds in the page, which forbids the `eval` of Playwright's own wait."""
    while not page.evaluate(condition):
        page.wait_for_timeout(20)


def main() -> None:
    """Takes the picture."""
    command = [sys.executable, "-c", "from wifair.cli import main; main()", "lab", "--lesson", LESSON]
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
            page.get_by_role("button", name=CHANGE).click(timeout=120_000)
            until(page, "lab.lesson.progress.ended")
            page.get_by_role("button", name="Pause").click()
            page.get_by_role("button", name="Play").wait_for()
            page.wait_for_timeout(500)  # the last picture
            page.screenshot(path=PICTURE, full_page=True)
            chromium.close()
    finally:
        lab.terminate()
    sys.stdout.write(f"{PICTURE.relative_to(ROOT)}: {PICTURE.stat().st_size / 1000:.0f} kB\n")


if __name__ == "__main__":
    main()
