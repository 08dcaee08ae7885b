"""`wifair check STUDY.toml`, and the remark of `wifair sweep`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from wifair.cli import execute

STUDY = """
title = "sizes"
replications = 1
metrics = ["jain"]
[scenario]
run = { warmup_s = 0.1, duration_s = 0.1 }
tcp.receiver_window_segments = 500
flows = [{ direction = "up" }]
[product]
ap.scheme = ["droptail", "ack-filtering"]
wire.rate_mbps = [50, 100]
[[points]]
"flows[0].direction" = "up"
[[points]]
"flows[0].direction" = "down"
"""


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    monkeypatch.chdir(tmp_path)

    def write(text: str) -> str:
        (tmp_path / "study.toml").write_text(text)
        return "study.toml"

    return write


def test_a_finding_is_shown_once_with_the_scenarios_that_it_concerns(
    study: Callable[[str], str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert execute(["check", study(STUDY), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["title"], document["scenarios"]) == ("sizes", 8)
    found = {finding["key"]: finding for finding in document["findings"]}
    assert len(found) == len(document["findings"])
    own = found["station.tx_queue.limit_packets"]
    assert (own["scenarios"], own["example"]) == (4, "scheme=droptail, rate_mbps=50, direction=up")
    assert found["ap.scheme"]["scenarios"] == 2  # ack-filtering on downloads

    assert execute(["check", "study.toml"]) == 0
    out = capsys.readouterr().out
    assert out.count("station.tx_queue.limit_packets: ") == 1
    assert "in 4 of 8 scenarios, such as scheme=droptail, rate_mbps=50, direction=up" in " ".join(out.split())


def test_a_sweep_says_how_many_findings_there_are_and_which_command_shows_them(
    study: Callable[[str], str], capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--schemes", "droptail", "--set", "tcp.receiver_window_segments=600"]
    assert execute(["sweep", study(STUDY), *options]) == 0
    remark, *_ = capsys.readouterr().err.splitlines()
    said, _, command = remark.partition("; shown by: wifair ")
    assert execute([*command.split(), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert said == f"likely mistakes in this study: {len(document['findings'])}"
    assert {"station.tx_queue.limit_packets"} <= {finding["key"] for finding in document["findings"]}
    assert document["scenarios"] == 4


def test_a_study_without_findings(study: Callable[[str], str], capsys: pytest.CaptureFixture[str]) -> None:
    calm = STUDY.partition("[product]")[0].replace("500", "20").replace("0.1", "1").replace('"up"', '"up", count = 10')
    assert execute(["check", study(calm)]) == 0
    assert capsys.readouterr().out == "no likely mistakes found\n"
    assert execute(["sweep", "study.toml"]) == 0
    assert "likely" not in capsys.readouterr().err


def test_schemes_are_for_studies(capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["check", "plain", "--schemes", "droptail"]) == 2
    assert "--schemes: has an effect on studies only" in capsys.readouterr().err


def test_events_are_left_out_and_named(study: Callable[[str], str], capsys: pytest.CaptureFixture[str]) -> None:
    """Of a study those of the scenario that has most."""
    event = "[[events]]\nat_s = 0.1\nap.limit_packets = 10\n"
    alone = f'run = {{ warmup_s = 0.1, duration_s = 0.1 }}\nflows = [{{ direction = "up" }}]\n{event}'
    assert execute(["check", study(alone), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["events_left_out"] == 1
    assert execute(["check", "study.toml"]) == 0
    left = "1 event left out: all of this is about the values at the start."
    assert " ".join(capsys.readouterr().out.split()).endswith(left)
    both = STUDY.replace("[product]", event.replace("[[events]]", "[[scenario.events]]") * 2 + "[product]")
    assert execute(["check", study(both)]) == 0
    assert " ".join(capsys.readouterr().out.split()).endswith(left.replace("1 event", "2 events"))
    assert execute(["check", study(STUDY)]) == 0
    assert "left out" not in capsys.readouterr().out
