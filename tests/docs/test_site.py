from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from tests.docs.documents import ROOT, relative_links
from tools.site import reference, staging

_SETTINGS = tomllib.loads((ROOT / "tools" / "site" / "zensical.toml").read_text("utf-8"))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    staging.stage(folder)
    reference.write(folder / "reference")
    return folder


def _listed(entries: object) -> set[str]:
    if isinstance(entries, str):
        return {entries}
    found = entries.values() if isinstance(entries, dict) else entries
    assert not isinstance(found, str)
    return {page for each in found for page in _listed(each)}  # type: ignore[attr-defined]


def test_every_page_is_in_the_navigation(site: Path) -> None:
    pages = {path.relative_to(site).as_posix() for path in site.rglob("*.md")}
    listed = _listed(_SETTINGS["project"]["nav"])
    apart = {page for page in pages if page.startswith(("decisions/0", "examples/"))} | {"compose.md"}
    assert listed - pages == set()
    assert pages - listed - apart == set(), "add them to nav of tools/site/zensical.toml"


def test_no_page_of_the_navigation_stands_for_its_section() -> None:
    """With these features a section shows its first index.md as its own page, and does not list it."""
    assert {"navigation.indexes", "toc.integrate"} & {*_SETTINGS["project"]["theme"]["features"]} == set()


def test_the_search_runs_without_a_server_and_without_the_internet() -> None:
    assert "offline" in _SETTINGS["project"]["plugins"]
    (script,) = (each["path"] for each in _SETTINGS["project"]["extra"]["polyfills"])
    assert (ROOT / "tools" / "site" / Path(script).name).is_file()
    assert "iframe-worker" in script, "Zensical adds a script of another host for any other name"


def test_every_link_of_the_site_leads_to_a_page_of_it(site: Path) -> None:
    dead = []
    for page in site.rglob("*.md"):
        for link in relative_links(page.read_text("utf-8")):
            path = link.partition("#")[0]
            if path and not link.startswith("mailto:") and not (page.parent / path).exists():
                dead.append(f"{page.relative_to(site)}: {link}")
    assert dead == []


def test_code_keeps_what_looks_like_a_link() -> None:
    text = "[a](cli.md)\n```sh\nx[b](../homeostat)\n```\n[c](../homeostat/store/base.py)"
    assert staging.relinked(text, "docs/api.md", "api.md") == "[a](cli.md)\n```sh\nx[b](../homeostat)\n```\nc"


def test_the_reference_has_every_command_with_its_help(site: Path) -> None:
    text = (site / "reference" / "commands.md").read_text("utf-8")
    headings = re.findall(r"^#+ (homeostat.*)$", text, re.MULTILINE)
    assert {"homeostat up", "homeostat policy check", "homeostat contract validate", "homeostat sync"} <= {*headings}
    assert all(f"Usage: {heading} " in text for heading in headings)


def test_the_reference_has_the_fields_of_every_kind(site: Path) -> None:
    text = (site / "reference" / "kinds.md").read_text("utf-8")
    for kind in ("ResourceType", "Pacto", "ImageUpdate", "DevOpsPolicy", "SyncPolicy"):
        assert f"\n### {kind}\n" in text
    assert "| `spec.schema` | object | The schema of a resource's spec: JSON Schema, or OpenAPI v3. |" in text
