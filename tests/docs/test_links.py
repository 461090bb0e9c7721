from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.documents import ROOT, anchors, documents, relative_links, text_of


@pytest.mark.parametrize("document", documents(), ids=str)
def test_every_relative_link_leads_somewhere(document: Path) -> None:
    dead = []
    for link in relative_links(text_of(document)):
        path, _, anchor = link.partition("#")
        target = (ROOT / document.parent / path).resolve() if path else ROOT / document
        if not target.exists() or (anchor and anchor not in anchors(target.read_text("utf-8"))):
            dead.append(link)
    assert dead == []


def test_every_decision_is_numbered_in_its_title_as_in_its_name() -> None:
    decisions = sorted((ROOT / "docs" / "decisions").glob("*.md"))
    numbers = [int(path.name.partition("-")[0]) for path in decisions]
    assert numbers == list(range(1, len(decisions) + 1))
    assert all(path.read_text("utf-8").startswith(f"# {n}. ") for n, path in zip(numbers, decisions, strict=True))


def test_the_readme_leads_to_the_index_and_that_to_every_page() -> None:
    pages = {path.name for path in (ROOT / "docs").glob("*.md")} - {"README.md"}
    index = {link.partition("#")[0] for link in relative_links(text_of("docs/README.md"))}
    assert pages - index == set()
    assert "docs/README.md" in relative_links(text_of("README.md"))
