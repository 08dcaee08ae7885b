"""The documentation site: complete, whole, and readable without network."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
import typer
import wifair
from conftest import ROOT
from test_notebooks import NOTEBOOKS, Ran, check_run, run_by_docsite
from wifair import plots, stats
from wifair.cli.app import app
from wifair.scenario.components import engine_schema
from wifair.scenario.keys import parameters_node

from docsite import commands, components, python, reference
from docsite.__main__ import assemble
from docsite.keys import KINDS, folder

COMPONENTS = [(kind, component["name"]) for kind in KINDS for component in engine_schema()[kind]]


def build(configuration: Path) -> subprocess.CompletedProcess[str]:
    """The builder, as `make docs` calls it."""
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean", "--config-file", str(configuration)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Ran]]:
    """The site, and the notebooks that were run for it."""
    with pytest.MonkeyPatch.context() as patch:
        ran = run_by_docsite(patch)
        configuration = assemble(tmp_path_factory.mktemp("site") / "docs")
    done = build(configuration)
    assert done.returncode == 0, done.stdout + done.stderr
    return configuration.parent / "site", ran


@pytest.fixture(scope="module")
def site(built: tuple[Path, dict[str, Ran]]) -> Path:
    return built[0]


def test_every_kind_of_component_is_known_to_the_site() -> None:
    listed = {key for key, value in engine_schema().items() if isinstance(value, list) and "idea" in value[0]}
    assert listed == set(KINDS)


@pytest.mark.parametrize(("kind", "name"), COMPONENTS, ids=[f"{kind}/{name}" for kind, name in COMPONENTS])
def test_every_component_has_a_page_with_all_that_it_says(kind: str, name: str) -> None:
    page = dict(components.pages())[f"{folder(kind)}/{name}.md"]
    assert f"`{name}`" in page
    assert components.head_comment(kind, name).strip()
    for parameter, node in parameters_node(kind, name)[0].get("properties", {}).items():
        if parameter != "name":
            assert re.search(rf"^\| `{parameter}` \|.*\| \S.* \|$", page, re.MULTILINE), (parameter, node)


def test_the_reference_has_every_key_of_a_plan() -> None:
    page = reference.page()
    named = set(re.findall(r"^\| `([^`]+)` \|", page, re.MULTILINE))
    last = {name.rpartition(".")[2].removesuffix("[]") for name in named}
    made_from_others = {
        "label",
        "schema_version",
        "bss",
        "tx_queue",
        "group",
        "events",
        "flows",
        "stations",
        "phy",
        "mac",
    }
    made_from_others |= {"channel", "field", "wire", "ap", "run", "neighbours", "bss_label", "bss_channel"}
    made_from_others |= {"bss_primary", "primary", "bss_punctured", "punctured"}
    unnamed = keys_of(engine_schema()["plan"]) - last - made_from_others
    # What is left are parameters of components, which have pages of their own.
    pages = "\n".join(text for _, text in components.pages())
    assert {key for key in unnamed if f"`{key}`" not in pages and f".{key}`" not in pages} == set()


def test_every_section_of_the_reference_has_keys() -> None:
    sections = re.split(r"^## ", reference.page(), flags=re.MULTILINE)[1:-1]  # the last one is of dialects
    rows = {told.split("\n")[0]: re.findall(r"^\| `([^`]+)` \|", told, re.MULTILINE) for told in sections}
    assert all(rows.values()), rows
    of_phys = {
        key for name in ("802.11b", "802.11g", "802.11be") for key in parameters_node("phys", name)[0]["properties"]
    }
    assert set(rows["`[phy]`"]) == of_phys | {"name"}
    assert "he_ltf" in of_phys


def test_a_key_is_needed_only_where_a_scenario_without_it_is_refused() -> None:
    needed = re.findall(r"^\| `([^`]+)` \| [^|]+ \| needed \|", reference.page(), re.MULTILINE)
    assert sorted(set(needed)) == [
        *("at_s", "direction", "fading.coherence_time_s", "fading.sigma_db", "flows.group"),
        *("frame_error_rate.by_rate[].data", "gains[].between", "gains[].gain_db", "model", "name"),
        *("station.frame_error_rate.by_rate[].data", "station.name"),
        *("walls[].from_m", "walls[].loss_db", "walls[].to_m", "wire.one_way_delay_ms"),
    ]


def test_a_key_of_one_choice_says_which() -> None:
    rows = re.findall(r"^\| `hardware\.aql_high_us` \|.*Only with `(\w+)`\. \|$", reference.page(), re.MULTILINE)
    assert rows == ["firmware", "ath10k", "hwsim"] * 2  # of access points and of stations


def keys_of(schema: dict[str, Any]) -> set[str]:
    nodes = [schema, *schema["$defs"].values()]
    nodes += [option for node in nodes for option in node.get("oneOf", [])]
    return {key for node in nodes for key in node.get("properties", {})} - {"name"}


def test_the_python_page_has_every_public_name() -> None:
    page = python.page()
    functions = [plots.lines, plots.save, plots.figure_in, stats.jain, stats.t_interval]
    names = [*wifair.__all__, *(found.__name__ for found in functions)]
    sections = dict(re.findall(r"^### `(\w+)`\n\n(.*?)(?=^##|\Z)", page, re.MULTILINE | re.DOTALL))
    assert all(len(sections[name].split()) > 3 for name in names)
    assert "| `with_metrics()` | " in sections["Results"]
    assert "model_dump" not in page


def test_the_commands_page_has_every_command() -> None:
    page = commands.page()
    names = [name for name, found in typer.main.get_command(app).commands.items() if not hasattr(found, "commands")]  # type: ignore[attr-defined]
    assert names
    assert all(f"## wifair {name}\n" in page for name in names)
    assert "## wifair results export" in page


def test_a_broken_link_fails_the_build(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text("# A\n\n[nowhere](b.md)\n")
    (tmp_path / "mkdocs.yml").write_text("site_name: a\n")
    done = build(tmp_path / "mkdocs.yml")
    assert done.returncode != 0
    assert "does not exist" in re.sub(r"\x1b\[[\d;]*m", "", done.stdout + done.stderr)


def addresses(site: Path) -> Iterator[tuple[Path, str, str]]:
    """Page, attribute and address of everything that a page refers to."""
    for page in site.rglob("*.html"):
        for attribute, address in re.findall(r"\s(src|href)=\"?([^\">\s]+)", page.read_text(encoding="utf-8")):
            yield page, attribute, address


def test_whatever_a_page_refers_to_is_there(site: Path) -> None:
    missing = [
        (page.name, address)
        for page, _, address in addresses(site)
        if not re.match(r"[a-z]+:|#|//", address) and page.name != "404.html"
        if not (page.parent / unquote(re.split(r"[?#]", address)[0])).exists()
    ]
    assert missing == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=[path.stem for path in NOTEBOOKS])
def test_notebooks_run_and_solutions_have_the_numbers_of_their_runs(
    path: Path, built: tuple[Path, dict[str, Ran]]
) -> None:
    check_run(built[1][path.stem])


@pytest.mark.parametrize("path", NOTEBOOKS, ids=[path.stem for path in NOTEBOOKS])
def test_every_notebook_is_there_with_its_outputs(path: Path, site: Path) -> None:
    page = (site / "notebooks" / f"{path.stem}.html").read_text(encoding="utf-8")
    shown = re.findall(rf'<img[^>]* src="?({path.stem}-[\w-]+\.png)', page)
    assert shown
    assert all((site / "notebooks" / name).stat().st_size > 10_000 for name in shown)
    assert "class=wifair" in page or 'class="wifair"' in page
    assert f"notebooks/{path.stem}.html" in (site / "index.html").read_text(encoding="utf-8")


def test_a_page_fetches_nothing_from_elsewhere(site: Path) -> None:
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert not re.findall(
            r"<(?:script|img|iframe|link rel=\"?(?:stylesheet|preconnect))[^>]+https?://[^>]*>", text
        ), page
    for style in site.rglob("*.css"):
        assert not re.findall(r"url\(\"?https?:|@import \"?http", style.read_text(encoding="utf-8")), style


@pytest.mark.needs("chromium")
def test_the_site_is_read_and_searched_from_a_disk(site: Path) -> None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = chromium.new_context(offline=True).new_page()
        said: list[str] = []
        asked: list[str] = []
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto((site / "schemes" / "dqm.html").as_uri())
        assert page.locator("h1").inner_text().startswith("dqm")
        assert page.evaluate("document.querySelector('article img').naturalWidth") > 0
        page.wait_for_function("document.documentElement.classList.contains('js')")
        page.keyboard.press("Control+k")
        box = page.get_by_placeholder("Search").last
        box.press_sequentially("least attained", delay=20)
        page.locator("a[href*='schemes/las.html#']").first.wait_for(timeout=60_000)
        assert box.input_value() == "least attained"
        assert said == []
        assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
        chromium.close()


def test_the_scope_page_names_every_component_that_departs_from_its_source() -> None:
    page = (ROOT / "docs/scope.md").read_text(encoding="utf-8")
    departs = 0
    for kind in KINDS:
        for component in engine_schema()[kind]:
            text = " ".join(components.head_comment(kind, component["name"]).split())
            told = re.search(r"Deviations(?:: | from [\w-]+: |\. )(.{12})", text)
            if told and not told[1].startswith("none"):
                departs += 1
                path = components.source(kind, component["name"]).relative_to(ROOT)
                assert f"[`{component['name']}`](../{path})" in page, component["name"]
    assert departs >= 5
    for link in re.findall(r"\]\((\.\./[^)#]+|[\w-]+\.md)", page):
        assert (ROOT / "docs" / link).exists(), link
