"""The page of `wifair lab` in a browser."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from labs import Lab
from wifair.lab import controls
from wifair.lab.lessons import lessons
from wifair.live import Session
from wifair.scenario import Scenario

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.needs("chromium")


@pytest.fixture
def page(lab: Lab, browser: Browser) -> Iterator[Page]:
    """The page of a session that has begun again; nothing may be said on the console."""
    context = browser.new_context(viewport={"width": 1400, "height": 1000}, accept_downloads=True)
    context.set_default_timeout(60_000)
    shown = context.new_page()
    problems: list[str] = []
    shown.on("console", lambda message: problems.append(message.text) if message.type in ("error", "warning") else None)
    shown.on("pageerror", lambda error: problems.append(str(error)))
    shown.goto(lab.url)
    until(shown, "globalThis.lab?.ready === true")
    shown.get_by_label("Lesson").select_option("")
    shown.get_by_role("button", name="Restart", exact=True).click()
    until(shown, "lab.store.scene.title !== '' && lab.lesson.lesson === null")
    until(shown, "lab.store.state?.time_ns === 0")
    pause_at_captions(shown, True)
    yield shown
    context.close()
    assert problems == []


@contextmanager
def another_page(lab: Lab, browser: Browser, script: str = "") -> Iterator[Page]:
    """One more browser of a lab, with a script that runs before the page's own. It ends with the block."""
    with browser.new_context() as context:
        shown = context.new_page()
        if script:
            shown.add_init_script(script)
        shown.goto(lab.url)
        until(shown, "globalThis.lab?.ready === true")
        yield shown


def until(page: Page, condition: str, seconds: float = 60) -> None:
    """Waits until the expression holds in the page. (Playwright's own wait wants `eval`, which the page forbids.)"""
    end = time.monotonic() + seconds
    while not page.evaluate(condition):
        assert time.monotonic() < end, f"not within {seconds} s: {condition}"
        page.wait_for_timeout(40)


def pause_at_captions(page: Page, on: bool) -> None:
    """Chooses it. The box is hidden where there is no lesson, and every browser of the lab has the same choice."""
    page.evaluate(f"(box => box.checked === {json.dumps(on)} || box.click())(document.getElementById('pauses'))")


def time_ns(page: Page) -> int:
    return int(page.evaluate("lab.store.state.time_ns"))


def test_play_pause_step_and_save(page: Page, tmp_path: Path) -> None:
    assert "token" not in page.evaluate("location.href")
    assert page.title() == "<b>ten</b> & ten – wifair lab"
    page.get_by_role("button", name="Play").click()
    until(page, "lab.store.state?.time_ns > 3e8")
    page.keyboard.press("Space")
    page.get_by_role("button", name="Play").wait_for()
    before = page.evaluate("lab.store.state.air.exchanges")
    page.keyboard.press("s")
    until(page, f"lab.store.state?.air.exchanges > {before}")
    assert page.evaluate("lab.store.state.air.exchanges") == before + 1
    page.get_by_label("Scheme").select_option("codel")
    page.get_by_text("Parameters of codel").click()
    page.get_by_label("target ms").fill("20")
    page.get_by_label("target ms").press("Tab")
    until(page, "lab.store.values.scheme.target_ms === 20")
    page.get_by_label("up (up)").fill("3")
    until(page, "lab.store.values.counts.up === 3")
    page.get_by_label("One-way delay").fill("25")
    page.get_by_label("One-way delay").press("Enter")
    until(page, "lab.store.values.one_way_delay_ms === 25")
    page.get_by_role("button", name="Play").click()
    now = time_ns(page)
    until(page, f"lab.store.state?.time_ns > {now + 2e8}")
    page.get_by_role("button", name="Pause").click()
    page.get_by_role("button", name="Play").wait_for()
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Save as scenario").click()
    path = tmp_path / "session.toml"
    waiting.value.save_as(path)
    saved = Scenario.from_toml(path)
    assert [sorted(key for key, value in event.items() if value) for event in saved.plan()["events"]] == [
        ["ap", "at_s"],
        ["ap", "at_s"],
        ["at_s", "flows"],
        ["at_s", "wire"],
    ]
    page.get_by_label("Limit").fill("0")
    page.get_by_label("Limit").press("Enter")
    assert page.evaluate("document.querySelector('#controls :invalid') !== null")


def test_keys_and_words(page: Page) -> None:
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("+")
    assert page.locator("#speed-said").text_content() == "2× real time"
    page.keyboard.press("-")
    page.keyboard.press("]")
    assert page.locator("#zoom-said").text_content() in ("50 ms", "100 ms")
    page.keyboard.press("s")
    until(page, "document.getElementById('summary').textContent.includes('Buffer:')")
    page.keyboard.press("j")
    until(page, "document.querySelector('#bars [aria-pressed=true]').textContent.startsWith('up-2')")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("lesson", ["one-slow-station", "starved-in-the-middle"])
def test_axe_finds_nothing_serious(page: Page, scheme: Any, lesson: str) -> None:
    from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]

    page.emulate_media(color_scheme=scheme)
    page.get_by_label("Lesson").select_option(lesson)
    until(page, f"lab.lesson.lesson?.name === '{lesson}'")
    page.get_by_label("Scheme").select_option("codel")
    page.get_by_text("Parameters of codel").click()
    page.get_by_text("Keys and legend").click()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Step").click()
    found = Axe().run(page).response["violations"]
    serious = [(one["id"], one["nodes"][0]["html"]) for one in found if one["impact"] in ("serious", "critical")]
    assert serious == []


@pytest.mark.parametrize("name", lessons())
def test_every_lesson_comes_to_its_end(page: Page, name: str) -> None:
    page.get_by_label("Lesson").select_option(name)
    until(page, f"lab.store.scene.title === {json.dumps(lessons()[name]['scenario']['title'])}")
    page.evaluate("const s = document.getElementById('speed'); s.value = 15; s.dispatchEvent(new Event('input'))")
    page.get_by_label("Pause at each caption").uncheck()
    page.get_by_role("button", name="Play").click()
    offers = sum("button" in caption for caption in lessons()[name]["caption"])
    for number in range(offers):
        button = page.locator("#captions button").nth(number)
        button.click()
    until(page, "lab.lesson.progress.ended")
    assert page.locator("#captions li").count() == len(lessons()[name]["caption"])


def open_lesson(page: Page, name: str, place: int) -> None:
    """Opens a lesson at a place of the speed slider, and plays it."""
    page.get_by_label("Lesson").select_option(name)
    until(page, f"lab.lesson.lesson?.name === '{name}' && lab.store.state?.time_ns === 0")
    page.evaluate(f"const s = document.getElementById('speed'); s.value = {place}; s.dispatchEvent(new Event('input'))")
    page.get_by_role("button", name="Play").click()


def held(page: Page, captions: int) -> int:
    """Waits for the pause at the caption that makes so many; the simulated time of the pause."""
    until(page, f"lab.lesson.held && lab.lesson.progress.shown === {captions}")
    until(page, "document.getElementById('play').textContent === 'Play'")
    now = time_ns(page)
    page.wait_for_timeout(300)
    assert time_ns(page) == now
    assert page.locator("#captions li").count() == captions
    assert page.evaluate("lab.lesson.now.times.at(-1)") == now / 1e9
    return now


def test_a_lesson_waits_at_each_caption(page: Page) -> None:
    going_on = page.get_by_role("button", name="Next")
    open_lesson(page, "one-slow-station", 11)
    assert going_on.is_hidden()
    first = held(page, 1)
    page.locator("#speed").evaluate("s => { s.value = 12; s.dispatchEvent(new Event('input')) }")
    going_on.click()
    assert held(page, 2) > first
    assert going_on.is_hidden(), "the caption offers a change"
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("Space")
    until(page, "!lab.lesson.held && lab.store.message.playing")
    assert page.get_by_role("button", name="Share airtime instead").is_enabled()
    page.keyboard.press("ArrowRight")
    page.wait_for_timeout(300)
    assert page.evaluate("lab.store.values.scheme.name") == "fq-codel", "the key does nothing while the session plays"
    page.get_by_role("button", name="Share airtime instead").click()
    held(page, 3)
    assert page.evaluate("lab.store.values.scheme.name") == "mac80211"
    page.keyboard.press("Space")
    held(page, 4)
    assert going_on.is_hidden()
    assert "the end of the lesson" in page.locator("#waiting").inner_text()
    page.keyboard.press("ArrowRight")
    until(page, "lab.store.message.playing")


def test_the_right_arrow_leads_through_changes_and_restarts(page: Page) -> None:
    open_lesson(page, "starved-in-the-middle", 12)
    for captions in range(1, 8):
        held(page, captions)
        page.keyboard.press("ArrowRight")
    assert page.locator("#captions time").count() == 7
    assert page.evaluate("lab.store.values.fixed['bss[middle].channel']") == 40
    page.get_by_role("button", name="Restart", exact=True).click()
    until(page, "lab.lesson.progress.shown === 0 && lab.store.state?.time_ns === 0")
    assert not page.evaluate("lab.lesson.held || lab.store.message.playing")


def test_pauses_at_captions_change_nothing_that_is_simulated(page: Page) -> None:
    open_lesson(page, "uploads-starve-downloads", 12)
    for captions in (1, 2, 3):
        now = held(page, captions)
        page.keyboard.press("ArrowRight")
    now = held(page, 4)
    session = Session(Scenario.from_settings(lessons()["uploads-starve-downloads"]["scenario"]), controls.RESERVE)
    session.advance_ns(now)
    shown, wanted = page.evaluate("lab.store.state"), session.snapshot()
    for part in ("time_ns", "flows", "stations", "air", "tx_queues"):
        assert shown[part] == wanted[part]


def test_all_browsers_of_a_lab_pause_and_go_on_together(lab: Lab, page: Page, browser: Browser) -> None:
    with another_page(lab, browser) as other:
        open_lesson(page, "one-slow-station", 12)
        now = held(page, 1)
        assert held(other, 1) == now
        other.get_by_role("button", name="Next").click()
        held(page, 2)
        held(other, 2)
        other.reload()
        until(other, "globalThis.lab?.ready === true")
        held(other, 2)
        other.get_by_role("button", name="Share airtime instead").click()
        held(page, 3)
        assert page.get_by_role("button", name="Share airtime instead").is_disabled()
        page.get_by_label("Pause at each caption").uncheck()
        until(other, "!document.getElementById('pauses').checked")
        page.keyboard.press("ArrowRight")
        until(other, "lab.lesson.progress.ended")
        until(other, "lab.store.message.playing && !lab.lesson.held")


def test_scenes_that_change_while_pictures_are_drawn_do_not_stop_it(lab: Lab, browser: Browser) -> None:
    """A browser that draws late gets the next scene between a picture and its drawing."""
    late = """const post = Worker.prototype.postMessage;
        Worker.prototype.postMessage = function (...given) { setTimeout(() => post.apply(this, given), 150); };
        const soon = requestAnimationFrame;
        globalThis.requestAnimationFrame = (f) => soon(() => setTimeout(() => f(performance.now()), 150));"""
    with another_page(lab, browser, late) as shown:
        *others, last = lessons()
        for name in [*others, ""] * 2:
            shown.get_by_label("Lesson").select_option(name)
            shown.get_by_role("button", name="Play").click()
            shown.wait_for_timeout(60)
        # No scene before this one belongs to the last lesson, so no other can follow once it is seen.
        shown.get_by_label("Lesson").select_option(last)
        until(shown, f"lab.lesson.lesson?.name === '{last}' && lab.store.state?.time_ns === 0")
        shown.get_by_role("button", name="Play").click()
        until(shown, "lab.store.state?.time_ns > 0")


def test_a_page_that_writes_after_its_worker_has_drawn_is_ready(lab: Lab, browser: Browser) -> None:
    late = """const soon = requestAnimationFrame;
        globalThis.requestAnimationFrame = (f) => soon(() => setTimeout(() => f(performance.now()), 400));"""
    with another_page(lab, browser, late) as shown:
        assert shown.evaluate("lab.pictures > 0 && lab.writes.length > 0")


@pytest.mark.parametrize("width", [400, 1400])
@pytest.mark.parametrize("lesson", ["", "starved-in-the-middle"])
def test_nothing_is_wider_than_the_page(page: Page, width: int, lesson: str) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.get_by_label("Lesson").select_option(lesson)
    until(page, f"(lab.lesson.lesson?.name ?? '') === '{lesson}' && lab.store.state?.time_ns === 0")
    page.get_by_role("button", name="Step").click()
    until(page, "lab.store.state?.time_ns > 0")
    page.wait_for_timeout(300)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_page_shows_several_bsss(page: Page) -> None:
    assert page.locator("#field").is_hidden()
    assert page.locator("#bss").is_hidden()
    page.get_by_label("Lesson").select_option("starved-in-the-middle")
    until(page, "lab.store.scene.in_field && lab.store.state?.time_ns === 0")
    page.get_by_label("Pause at each caption").uncheck()
    page.get_by_role("button", name="Play").click()
    until(page, "lab.store.state.time_ns > 1e9")
    page.locator("#bss").select_option("right")
    until(page, "lab.store.state.bss === 2 && lab.store.values.bss === 'right'")
    page.get_by_text("Scheme and buffer of right").wait_for()
    page.get_by_label("Scheme").select_option("codel")
    until(page, "lab.store.values.scheme.name === 'codel'")
    now = time_ns(page)
    until(page, f"lab.store.state.time_ns > {now + 2e9} && lab.store.rates.fates !== null")
    assert page.get_by_label("right-down").count() == 1
    assert page.get_by_label("left-down").count() == 0
    rows = {
        row.locator("th").text_content(): row.locator("td").all_text_contents()
        for row in page.locator("#bsss tbody tr").all()
    }
    assert list(rows) == ["middle", "left", "right"]
    own = {name: float(cells[3].removesuffix(" %")) for name, cells in rows.items()}
    assert own["middle"] < 20
    assert min(own["left"], own["right"]) > 60
    assert page.locator("#bsss [aria-current=true] th").text_content() == "right"
    assert "right: own frames" in (page.locator("#air-said").text_content() or "")
    # Two of the four flows send datagrams and starve: an index of the other two would say that all is fair.
    assert page.locator("#jain").text_content() == "–"
    assert "none next to datagrams" in (page.locator("#jain-of").text_content() or "")
    page.get_by_label("RTS above").fill("500")
    page.get_by_label("RTS above").press("Tab")
    page.get_by_role("button", name="Restart with these").click()
    until(page, "lab.store.values.fixed['mac.rts_threshold_bytes'] === 500 && lab.store.values.bss === 'middle'")
    until(page, "lab.store.state?.time_ns > 1e8")  # it plays on
    page.get_by_role("button", name="Pause").click()


def test_outcomes_in_a_field_differ_without_colours_and_at_any_width(page: Page) -> None:
    """Along the height of a bar: solid if received, with one gap if lost to a frame of the same start, striped if to a hidden one."""
    drawn = """async ([width, mpdus]) => {
        const { AirPicture } = await import("./air-picture.js");
        const { colours, readColours } = await import("./colours.js");
        readColours();
        const canvas = Object.assign(document.createElement("canvas"), { width: 200, height: 40 });
        const cx = canvas.getContext("2d", { willReadFrequently: true });
        const store = { scene: { in_field: true, flows: [{ direction: "up" }] } };
        return [0, 1, 4].map((outcome) => {
            cx.fillStyle = colours.panel;
            cx.fillRect(0, 0, 200, 40);
            const fate = { 0: 1, 1: 0, 4: 2 }[outcome];
            const frame = { kind: 0, cls: 0, flow: 0, outcome, mpdus: mpdus ? [0, 0, 1500, fate] : [], rate: 24 };
            new AirPicture(null).frame(cx, store, frame, 10, width, 5, 28, true, -1);
            const { data } = cx.getImageData(10 + Math.floor(width / 2), 5, 1, 28);
            const dark = Array.from({ length: 28 }, (_, i) => 0.3 * data[4 * i] + 0.59 * data[4 * i + 1] + 0.11 * data[4 * i + 2] < 200);
            return dark.filter((one, i) => one && !dark[i - 1]).length;
        });
    }"""
    for width in (1, 3, 40):
        for mpdus in (False, True):
            solid, gap, stripes = page.evaluate(drawn, [width, mpdus])
            assert (solid, gap) == (1, 2)
            assert stripes > 4


def test_an_rtt_sample_between_gaps_is_drawn(page: Page) -> None:
    drawn = """async (rtt) => {
        const { FlowsView } = await import("./flows.js");
        const box = document.createElement("div");
        document.body.append(box);
        const store = { open: () => [0], scene: { flows: [{ label: "ping", direction: "up", over_tcp: false }] } };
        const view = new FlowsView({ boxes: { goodput: box, cwnd: box, rtt: box } }, () => {});
        view.bars = document.createElement("ul");
        view.jainOf = document.createElement("span");
        const still = [null, null, null, null, null];
        view.clear(store, { t: [1, 2, 3, 4, 5], goodput: [still], cwnd: [still], rtt: [rtt], retransmitted: [], timeouts: [] });
        for (let chart = 0; chart < 3; chart += 1) view.drawChart(store);
        await new Promise((done) => setTimeout(done, 50));
        const { ctx, bbox } = view.charts.rtt;
        const { data } = ctx.getImageData(bbox.left, bbox.top, bbox.width, bbox.height);
        // The flow is blue, and the grid grey.
        return data.filter((red, i) => i % 4 === 0 && data[i + 2] - red > 60).length;
    }"""
    line = page.evaluate(drawn, [None, 20, 20, 20, None])
    alone = page.evaluate(drawn, [None, None, 20, None, None])
    assert 3 < alone < 40 < line
    assert page.evaluate(drawn, [20, None, 20, None, 20]) > 1.5 * alone
    assert page.evaluate(drawn, [None] * 5) == 0


@pytest.mark.parametrize("width", [500, 1400])
def test_titles_and_names_are_shown_in_full(page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    longest = max(lessons(), key=lambda name: len(lessons()[name]["title"]))
    page.get_by_label("Lesson").select_option(longest)
    until(page, f"lab.lesson.lesson?.name === '{longest}'")
    cut = page.evaluate(
        """[...document.querySelectorAll("select")].filter((box) => {
            const shown = box.offsetWidth;
            Object.assign(box.style, { maxWidth: "none", width: "max-content" });
            const wanted = box.offsetWidth;
            Object.assign(box.style, { maxWidth: "", width: "" });
            return shown < wanted;
        }).map((box) => `${box.labels[0].textContent}: ${box.selectedOptions[0].textContent}, ${box.offsetWidth} wide`)"""
    )
    assert cut == []
    for part in ("h1", "#title", "#story-title"):
        sizes = f"(() => {{ const e = document.querySelector('{part}'); return [e.scrollWidth, e.offsetWidth]; }})()"
        inner, outer = page.evaluate(sizes)
        assert inner <= outer, part


def test_a_script_in_a_name_is_text(page: Page) -> None:
    assert page.locator("#title b").count() == 0
    assert page.locator("#title").text_content() == "<b>ten</b> & ten"
