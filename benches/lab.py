"""The cost of the live page: time to the first picture, main-thread time per frame, and the engine's speed with a page attached.

    .venv/bin/python benches/lab.py

Twenty flows in headless Chromium, at real time, at 100 times real time and as fast as the engine runs. Wall-clock
figures are only meaningful on an idle machine; the main thread's time is also given in processor time. A frame is the time from one
picture of the server to the next, thirty per second, and has all of the main thread's tasks in it, style, layout and paint
included.
"""

from __future__ import annotations

import bisect
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import CDPSession, Page, sync_playwright
from wifair.live import Session
from wifair.scenario import Scenario

CELL = '[[flows]]\ncount = 10\ndirection = "up"\n[[flows]]\ncount = 10\ndirection = "down"\n'
# Places of the page's speed slider: real time, 100 times that, as fast as the engine runs.
SPEEDS = {"real time": 9, "100 x": 15, "fastest": 17}
SECONDS = 8.0
WATCH = """globalThis.longest = []; new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) longest.push(entry.duration); }).observe({ entryTypes: ["longtask"] });
    const post = Worker.prototype.postMessage;
    Worker.prototype.postMessage = function (message, ...given) {
        if (message.type === "picture") performance.mark("picture");
        post.call(this, message, ...given);
    };
    true"""


def until(page: Page, condition: str) -> None:
    while not page.evaluate(condition):
        page.wait_for_timeout(10)


def task_s(client: CDPSession) -> float:
    metrics = client.send("Performance.getMetrics")["metrics"]
    return next(float(one["value"]) for one in metrics if one["name"] == "TaskDuration")


def frames_ms(trace: bytes, clock: str) -> list[float]:
    """The main thread's time in each frame of a browser trace: `dur` for wall-clock, `tdur` for processor time."""
    events = json.loads(trace)["traceEvents"]
    begun = [event for event in events if event["name"] == "picture"]
    thread = (begun[0]["pid"], begun[0]["tid"])
    starts = sorted(event["ts"] for event in begun)
    found = [0.0] * (len(starts) + 1)
    for event in events:
        if event["name"] == "ThreadControllerImpl::RunTask" and (event["pid"], event["tid"]) == thread:
            found[bisect.bisect_right(starts, event["ts"])] += event.get(clock, 0) / 1000
    return found[1:-1]


def p95(values: list[float]) -> float:
    return sorted(values)[int(0.95 * len(values))] if values else float("nan")


def server_s(pid: int) -> float:
    """Processor time that a process has used."""
    return sum(map(int, Path(f"/proc/{pid}/stat").read_text().split()[13:15])) / 100


def measure(page: Page, client: CDPSession, pid: int, name: str, place: int) -> dict[str, object]:
    page.evaluate(
        f"(s => {{ s.value = {place}; s.dispatchEvent(new Event('input')) }})(document.getElementById('speed'))"
    )
    page.click("#play")
    page.wait_for_timeout(1500)
    page.evaluate("lab.takes.length = lab.writes.length = longest.length = 0; lab.pictures = 0")
    before, then, sim = task_s(client), time.perf_counter(), page.evaluate("lab.store.state.time_ns")
    cpu = server_s(pid)
    page.wait_for_timeout(SECONDS * 1000)
    found = page.evaluate(
        "({ pictures: lab.pictures, takes: lab.takes, writes: lab.writes, longest, now: lab.store.state.time_ns })"
    )
    passed, used = time.perf_counter() - then, task_s(client) - before
    cpu = server_s(pid) - cpu
    browser = page.context.browser
    assert browser
    browser.start_tracing(page=page, categories=["toplevel", "blink.user_timing"])
    page.wait_for_timeout(SECONDS * 500)
    trace = browser.stop_tracing()
    page.click("#play")
    page.wait_for_timeout(500)
    return {
        "speed": name,
        "pictures_per_s": round(found["pictures"] / passed, 1),
        "script_ms_per_picture_p95_wall": round(p95(found["takes"]) + p95(found["writes"]), 2),
        "main_thread_ms_per_picture_mean_cpu": round(1e3 * used / max(1, found["pictures"]), 2),
        "main_thread_ms_per_frame_p95_wall": round(p95(frames_ms(trace, "dur")), 2),
        "main_thread_ms_per_frame_p95_cpu": round(p95(frames_ms(trace, "tdur")), 2),
        "longest_task_ms_wall": round(max(found["longest"], default=0.0), 1),
        "simulated_s_per_s": round((found["now"] - sim) / 1e9 / passed, 2),
        "simulated_s_per_server_cpu_s": round((found["now"] - sim) / 1e9 / cpu, 1),
    }


def engine_alone(path: Path) -> float:
    """Simulated seconds per processor second of the engine without a page."""
    session = Session(Scenario.from_toml(path))
    session.advance(20)
    start = time.process_time()
    session.advance(420)
    return 400 / (time.process_time() - start)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        path = Path(folder) / "cell.toml"
        path.write_text(CELL, encoding="utf-8")
        chromium = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = chromium.new_context(viewport={"width": 1400, "height": 1000}).new_page()
        client = page.context.new_cdp_session(page)
        client.send("Performance.enable", {"timeDomain": "threadTicks"})
        start = time.perf_counter()
        command = [
            sys.executable,
            "-c",
            "from wifair.cli import main; main()",
            "lab",
            str(path),
            "--port",
            "0",
            "--no-browser",
        ]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert server.stdout
        url = None
        while not url:
            url = re.search(r"http://\S+#token=\S+", server.stdout.readline())
        page.goto(url.group(0))
        until(page, "globalThis.lab?.ready === true")
        print(json.dumps({"first_picture_s": round(time.perf_counter() - start, 2)}))
        page.evaluate(WATCH)
        for name, place in SPEEDS.items():
            print(json.dumps(measure(page, client, server.pid, name, place)), flush=True)
        server.send_signal(2)
        start = time.perf_counter()
        server.wait()
        print(json.dumps({"ctrl_c_s": round(time.perf_counter() - start, 2)}))
        chromium.close()
        print(json.dumps({"engine_alone_simulated_s_per_cpu_s": round(engine_alone(path), 1)}))


if __name__ == "__main__":
    main()
