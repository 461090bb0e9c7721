"""The pages as the site has them: copies whose links lead to pages of the site.

The files in the repository stay as they are, with links that a forge follows. What the site does not have (the source
code, the tests) keeps its text and loses its link.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Final

from tools.provision import ROOT

_TOP: Final = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "docs/README.md": "questions.md",
    "docs/decisions": "decisions/index.md",
    "deploy/compose/README.md": "compose.md",
    "examples": "examples/index.md",
}
_LANGUAGES: Final = {".py": "python", ".yaml": "yaml", ".yml": "yaml", ".toml": "toml", ".ini": "ini", ".sh": "sh"}
_fence = re.compile(r"^(```.*?^```$)", re.MULTILINE | re.DOTALL)
_link = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")
_title = re.compile(r"^# (.+)$", re.MULTILINE)


def stage(folder: Path) -> None:
    """Write all pages that people wrote, and one for each example."""
    for source, target in pages().items():
        _write(folder / target, relinked((ROOT / source).read_text("utf-8"), source, target))
    for image in sorted((ROOT / "docs").rglob("*.png")):
        kept = folder / image.relative_to(ROOT / "docs")
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_bytes(image.read_bytes())
    examples = sorted(path for path in (ROOT / "examples").iterdir() if path.is_dir())
    for example in examples:
        _write(folder / "examples" / f"{example.name}.md", _example(example))
    listed = "".join(f"- [{example.name}]({example.name}.md)\n" for example in examples)
    _write(folder / "examples" / "index.md", f"# Examples\n\nThe files that the pages use, as they are.\n\n{listed}")
    _write(folder / "decisions" / "index.md", _decisions())


def pages() -> dict[str, str]:
    """Each written page by its path in the repository, with its path in the site."""
    known = {source: target for source, target in _TOP.items() if (ROOT / source).is_file()}
    for path in sorted((ROOT / "docs").rglob("*.md")):
        source = path.relative_to(ROOT).as_posix()
        known.setdefault(source, source.removeprefix("docs/"))
    return known


def relinked(text: str, source: str, target: str) -> str:
    """`text` of the file `source` with links for the page `target`; code stays as it is."""
    parts = _fence.split(text)
    return "".join(part if n % 2 else _link.sub(_leading(source, target), part) for n, part in enumerate(parts))


def _leading(source: str, target: str) -> Callable[[re.Match[str]], str]:
    def lead(match: re.Match[str]) -> str:
        image, label, link = match.groups()
        if "://" in link or link.startswith("mailto:"):
            return match[0]
        path, _, anchor = link.partition("#")
        found = _in_site(os.path.normpath(PurePosixPath(source).parent / path) if path else source)
        if found is None:
            return label
        to = os.path.relpath(found, PurePosixPath(target).parent)
        return f"{image}[{label}]({to}{'#' + anchor if anchor else ''})"

    return lead


def _in_site(path: str) -> str | None:
    if path in _TOP:
        return _TOP[path]
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    if path.startswith("examples/"):
        return f"examples/{path.split('/')[1]}.md"
    return None


def _example(folder: Path) -> str:
    text = f"# {folder.name}\n"
    for path in sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix in _LANGUAGES):
        body = path.read_text("utf-8").rstrip("\n")
        text += f"\n## {path.relative_to(folder)}\n\n```{_LANGUAGES[path.suffix]}\n{body}\n```\n"
    return text


def _decisions() -> str:
    text = "# Decisions\n\nWhy it is built that way, each with what was measured.\n\n"
    for path in sorted((ROOT / "docs" / "decisions").glob("*.md")):
        title = _title.search(path.read_text("utf-8"))
        text += f"- [{title[1] if title else path.stem}]({path.name})\n"
    return text


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
