"""`wifair check` with several BSSs: each is checked, and named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from wifair import Scenario, gallery, toml_text
from wifair.analysis.check import Finding, check
from wifair.cli import execute

NAMES = ("ap-1", "ap-3", "ap-5")


def row(**bsss: dict[str, Any]) -> Scenario:
    """Three BSSs with a film and a call each; `bsss` has what one of them sets."""
    stations = [{"name": f"at-{name}", "bss": name, "mcs": 7} for name in NAMES]
    flows: list[dict[str, Any]] = []
    for name in NAMES:
        web = {"name": "web", "min_bytes": 4_000_000, "max_bytes": 8_000_000}
        flows.append({"name": f"{name}-film", "station": f"at-{name}", "direction": "down", "application": web})
        flows.append({"name": f"{name}-talk", "station": f"at-{name}", "direction": "down", "application": "voip"})
    return Scenario(
        phy={"name": "802.11ac", "width_mhz": 80},
        field={},
        ap={"limit_packets": 10},
        bss=[{"name": name, **bsss.get(name.replace("-", "_"), {})} for name in NAMES],
        stations=stations,
        flows=flows,
        tcp={"receiver_window_segments": 500},
    )


def found(scenario: Scenario) -> dict[str, Finding]:
    return {finding.key: finding for finding in check(scenario)}


def shown(scenario: Scenario, folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    path = folder / "row.toml"
    path.write_text(toml_text.document(scenario.settings()), encoding="utf-8")
    assert execute(["check", str(path)]) == 0
    return " ".join(capsys.readouterr().out.split())


def test_a_slow_wire_of_any_bss_is_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert not [key for key in found(row()) if "wire" in key]
    slow = row(ap_5={"wire": {"rate_mbps": 10}})
    finding = found(slow)["bss[ap-5].wire.rate_mbps"]
    assert finding.bsss == ("ap-5",)
    assert finding.values["wire_mbps"] == 10
    assert finding.to_dict()["bsss"] == ["ap-5"]
    told = shown(slow, tmp_path, capsys)
    assert "bss[ap-5].wire.rate_mbps: the wired link is slower than the air: downlink" in told
    assert "likewise" not in told


def test_a_wire_is_slower_than_the_part_of_the_air_that_a_bss_has() -> None:
    """BSSs of one channel that hear each other share it, and queue at their access points where the wire alone is slower than all of it."""
    air_mbps = found(row().override({"wire.rate_mbps": 10}))["wire.rate_mbps"].values["air_mbps"]
    half, quarter = (row().override({"wire.rate_mbps": air_mbps / of}) for of in (2, 4))
    assert "wire.rate_mbps" not in found(half)
    assert found(quarter)["wire.rate_mbps"].values["sharing"] == 3
    assert "ap-1-film; 3 BSSs share it" in found(quarter)["wire.rate_mbps"].arithmetic
    channels = {f"bss[{name}].channel": channel for name, channel in zip(NAMES, (42, 58, 106), strict=True)}
    assert found(half.override(channels))["wire.rate_mbps"].bsss == NAMES


def test_what_several_have_is_shown_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    common = row().override({"wire.rate_mbps": 10})
    assert found(common)["wire.rate_mbps"].bsss == NAMES
    told = shown(common, tmp_path, capsys)
    assert told.count("the wired link") == told.count("wire.rate_mbps: ap-1: the wired link") == 1
    assert "10 Mbps against" in told
    assert "carries for ap-1-film; 3 BSSs share it likewise at ap-3, ap-5" in told
    faster = common.override({"bss[ap-1].ap.limit_packets": 10_000, "wire.rate_mbps": 10_000})
    assert found(faster)["bss[ap-1].ap.limit_packets"].bsss == ("ap-1",)
    large = row().override({"ap.limit_packets": 10_000, "bss[ap-1].ap.limit_packets": 10})
    assert found(large)["ap.limit_packets"].bsss == ("ap-3", "ap-5")
    told = shown(large, tmp_path, capsys)
    assert "ap.limit_packets: ap-3: the windows can never fill" in told
    assert "likewise at ap-5" in told


def test_a_finding_about_the_first_bss_alone_names_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    faster = row().override({"flows[0].application": {"name": "udp", "rate_mbps": 5000.0}})
    assert found(faster)["flows.application.rate_mbps"].bsss == ("ap-1",)
    told = shown(faster, tmp_path, capsys)
    assert "flows.application.rate_mbps: ap-1: the UDP flows offer more" in told
    assert "mac.edca: ap-1-talk, ap-3-talk" in told, "a finding about the whole scenario names none"


def test_findings_of_one_key_are_kept_apart() -> None:
    """Downloads wait before a slow wire in one BSS, uploads in another."""
    uploads = row().override({"wire.rate_mbps": 10, "flows[2].direction": "up", "flows[2].application": "bulk"})
    told = {(finding.finding.split()[8], finding.bsss) for finding in check(uploads) if finding.key == "wire.rate_mbps"}
    assert told == {("downlink", ("ap-1", "ap-5")), ("uplink", ("ap-3",))}


def test_marks_are_counted_in_all() -> None:
    finding = found(row())["mac.edca"]
    assert finding.values == {"marked_flows": 3}
    assert finding.finding.startswith("ap-1-talk, ap-3-talk, ap-5-talk: marked with a DSCP")
    assert finding.bsss == ()
    assert "flows marked: 12" in found(Scenario.from_toml(gallery.file_of("flats")))["mac.edca"].arithmetic
