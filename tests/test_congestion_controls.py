"""Congestion controls from a scenario's text."""

from __future__ import annotations

from pathlib import Path

import pytest
import wifair
from wifair import ScenarioError
from wifair.scenario.components import components

BACKGROUND = """
[run]
warmup_s = 20
duration_s = 60

[wire]
rate_mbps = 100

[tcp]
receiver_window_segments = 200

[[flows]]
name = "background"
direction = "down"
tcp = { congestion_control = { name = "ledbat", target_ms = 25 } }
"""
FOREGROUND = """
[[flows]]
name = "foreground"
direction = "down"
"""


def goodput(path: Path, text: str) -> dict[str, float]:
    path.write_text(text, encoding="utf-8")
    flows = wifair.run(wifair.load(path), seeds=1).flows
    return dict(zip(flows["label"], flows["goodput_mbps"], strict=True))


def test_ledbat_takes_what_others_leave(tmp_path: Path) -> None:
    alone = goodput(tmp_path / "alone.toml", BACKGROUND)
    both = goodput(tmp_path / "both.toml", BACKGROUND + FOREGROUND)
    only = goodput(tmp_path / "only.toml", BACKGROUND.partition("[[flows]]")[0] + FOREGROUND)
    assert alone["background"] > 0.95 * only["foreground"]
    assert both["background"] < 0.1 * both["foreground"]
    assert both["foreground"] > 0.9 * only["foreground"]


@pytest.mark.parametrize("name", [found["name"] for found in components("congestion_controls") if found["needs_rack"]])
def test_a_control_that_needs_rack_says_so(name: str) -> None:
    flows = [{"direction": "up"}]
    with pytest.raises(ScenarioError, match=rf'tcp\.congestion_control: {name} .*"rack"'):
        wifair.Scenario(tcp={"congestion_control": name}, flows=flows).plan()
    wifair.Scenario(tcp={"congestion_control": name, "profile": "today"}, flows=flows).plan()
    over = {"name": "arf-aware", "over": {"name": name}}
    with pytest.raises(ScenarioError, match=rf"over\.name: {name} "):
        wifair.Scenario(tcp={"congestion_control": over, "profile": "today"}, flows=flows).plan()
