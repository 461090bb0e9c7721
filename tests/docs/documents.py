"""The project's documents as text: their links, their code, their tables."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
EXAMPLES = ROOT / "examples"

_fences = re.compile(r"^```[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_indented = re.compile(r"(?:^ {4,}[^ \n].*\n)+", re.MULTILINE)
_inline = re.compile(r"`([^`\n]+)`")
_links = re.compile(r"\]\(([^)\s]+)\)")
_headings = re.compile(r"^#+ (.+)$", re.MULTILINE)


def documents() -> list[Path]:
    found = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *EXAMPLES.rglob("*.md")]
    return sorted(path.relative_to(ROOT) for path in found)


def text_of(document: Path | str) -> str:
    return (ROOT / document).read_text("utf-8")


def code_in(text: str) -> list[str]:
    """Fenced and indented blocks, and what stands between backticks."""
    fenced = _fences.findall(text)
    rest = _fences.sub("", text)
    return [*fenced, *_indented.findall(rest), *_inline.findall(rest)]


def relative_links(text: str) -> list[str]:
    return [link for link in _links.findall(_fences.sub("", text)) if "://" not in link]


def anchors(text: str) -> set[str]:
    """As the usual renderers name headings."""
    headings = _headings.findall(_fences.sub("", text))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def table_rows(text: str, header: str) -> Iterator[list[str]]:
    """The cells of the table under a header line, without backticks."""
    lines = iter(text.splitlines())
    assert header in lines, f"no table {header}"
    next(lines)
    for line in lines:
        if not line.startswith("|"):
            return
        yield [cell.strip().strip("`") for cell in line.strip("|").split("|")]
