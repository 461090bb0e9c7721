"""Writes the sections Words and Modules of docs/finding.md.

    python -m tools.index_finding

Words has words of the other documents, with the files that define them. A word is what a document shows as code: a
variable, an option, an annotation, a reason, a kind, a metric, a field. It is defined where the package has it as a
text, also as one that is put together of constants: `f"{GROUP}/pause"`. Words that have a row of their own elsewhere on
the page, or that many files have, are left out.

Modules has the modules that no row names, with the first sentence of each. Those of commands are left out: their names
follow from those of the commands.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
PACKAGE: Final = ROOT / "homeostat"
PAGE: Final = ROOT / "docs" / "finding.md"
HEADING: Final = "## Words\n"
MODULES: Final = "## Modules\n"
_NEXT: Final = "## Packages\n"
_OF_MODULES: Final = """
Modules that no row above names. `make format` writes this table, of their docstrings.

| module | purpose |
|---|---|
"""
_INTRODUCTION: Final = """
Words of the other documents, with the files that define them. `make format` writes this table.

| words | file |
|---|---|
"""
# They describe the code, or name what the others explain.
_NOT_READ: Final = frozenset({"finding.md", "architecture.md", "runtime.md", "features.md", "README.md"})
# What uses the words of other modules: they are asked only where no other module has a word.
_USERS: Final = re.compile(r"cli/demo/|sdk/|web/\w+/dashboard/|(.*/)?(__init__|deployment|signals|panels|catalog)\.py")
_COMMON: Final = frozenset({"--help", "--type", "--max", "is_open", "LOG_LEVEL"})
_MOST_FILES: Final = 2
_A_ROW: Final = 12
WORD: Final = re.compile(
    r"--[a-z][a-z-]+|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|[a-z0-9-]+(?:\.[a-z0-9-]+)+/[A-Za-z][\w.-]+"
    r"|(?:[A-Z][a-z0-9]+){2,}|[a-z]+(?:_[a-z0-9]+)+"
)
_heading = re.compile(r"^#+ (\S+)$", re.MULTILINE)  # Runbooks are named after alerts.
_code = re.compile(r"`([^`\n]+)`")
_docstring = re.compile(r'"""(.*?)"""', re.DOTALL)
_sentence = re.compile(r"(?<=\.) (?=[A-Z`])")
_fence = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def documented_words() -> set[str]:
    """Those that a document shows as code within its prose, without their values."""
    found: set[str] = set()
    for path in (ROOT / "docs").glob("*.md"):
        if path.name not in _NOT_READ:
            text = _fence.sub("", path.read_text("utf-8"))
            shown = [*_code.findall(text), *_heading.findall(text)]
            found.update(re.split(r"[ =:{]", each, maxsplit=1)[0] for each in shown)
    return {each for each in found if WORD.fullmatch(each)} - _COMMON


def table(page: str) -> str:
    """The section, for the page without it."""
    words = {each for each in documented_words() if each not in page}
    places = {word: files for word, files in _definitions(words).items() if len(files) <= _MOST_FILES}
    by_file: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for word, files in sorted(places.items()):
        by_file[files].append(word)
    rows = [
        f"| {', '.join(f'`{each}`' for each in some)} | {', '.join(f'`{each}`' for each in files)} |\n"
        for files, all_of_it in sorted(by_file.items())
        for some in (all_of_it[at : at + _A_ROW] for at in range(0, len(all_of_it), _A_ROW))
    ]
    return f"{HEADING}{_INTRODUCTION}{''.join(rows)}\n"


def unnamed_modules(page: str) -> dict[str, str]:
    """The first sentence of each module that the page does not name, without those of commands."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        place = path.relative_to(PACKAGE).as_posix()
        if path.name != "__init__.py" and f"`{place}`" not in page:
            sentence = _first_sentence(path.read_text("utf-8"))
            if not sentence.startswith("`homeostat "):
                found[place] = sentence
    return found


def _first_sentence(source: str) -> str:
    docstring = _docstring.match(source)
    text = " ".join(docstring[1].split("\n\n")[0].split()) if docstring else ""
    return _sentence.split(text, maxsplit=1)[0].removesuffix(" Pure.").rstrip(".").replace("|", "\\|")


def without_table(page: str) -> str:
    before, heading, rest = page.partition(HEADING)
    return before + rest[rest.index(_NEXT) :] if heading else page


def _definitions(words: set[str]) -> dict[str, tuple[str, ...]]:
    """Where a word is a constant of its own, else wherever it stands."""
    named: dict[str, set[str]] = defaultdict(set)
    used: dict[str, set[str]] = defaultdict(set)
    sources = _Sources()
    for module, tree in sources.trees.items():
        place = sources.paths[module].relative_to(PACKAGE).as_posix()
        constants = {id(node) for _, node in _assigned(tree)}
        for node in ast.walk(tree):
            text = sources.text(module, node) if isinstance(node, ast.Constant | ast.JoinedStr) else None
            if text is None or (found := _bare(text)) not in words:
                continue
            (named if id(node) in constants else used)[found].add(place)
    places = {word: named.get(word) or used[word] for word in words}
    defining = {word: {each for each in files if not _USERS.match(each)} for word, files in places.items()}
    return {word: tuple(sorted(defining[word] or files)) for word, files in places.items() if files}


def _bare(text: str) -> str:
    """An option may have its negation beside it, and a metric of Prometheus its labels."""
    return re.split(r"[/{]", text, maxsplit=1)[0] if text.startswith("--") or "{" in text else text


class _Sources:
    """The modules, and the values of their constants."""

    def __init__(self) -> None:
        files = [each for each in sorted(PACKAGE.rglob("*.py")) if "data" not in each.parts]
        self.paths = {self._module(each): each for each in files}
        self.trees = {name: ast.parse(path.read_bytes()) for name, path in self.paths.items()}
        self._constants = {name: dict(_assigned(tree)) for name, tree in self.trees.items()}
        self._imported = {name: dict(_imported(tree)) for name, tree in self.trees.items()}

    def _module(self, path: Path) -> str:
        parts = path.relative_to(ROOT).with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    def text(self, module: str, node: ast.AST, depth: int = 4) -> str | None:
        """The text of an expression that is made of constants alone."""
        match node:
            case ast.Constant(value=str(text)):
                return text
            case ast.JoinedStr(values=values):
                parts = [self.text(module, each, depth) for each in values]
                return None if None in parts else "".join(each or "" for each in parts)
            case ast.FormattedValue(value=value, conversion=-1, format_spec=None):
                return self.text(module, value, depth)
            case ast.Name(id=name) if depth and name in self._constants[module]:
                return self.text(module, self._constants[module][name], depth - 1)
            case ast.Name(id=name) if depth and name in self._imported[module]:
                source, original = self._imported[module][name]
                if original in self._constants.get(source, {}):
                    return self.text(source, self._constants[source][original], depth - 1)
        return None


def _assigned(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    """The constants of a module."""
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                yield name, value
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                yield name, value
            case _:
                pass


def _imported(tree: ast.Module) -> Iterator[tuple[str, tuple[str, str]]]:
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from ((each.asname or each.name, (node.module, each.name)) for each in node.names)


def main() -> None:
    page = without_table(PAGE.read_text("utf-8"))
    before, heading, after = page.partition(_NEXT)
    rows = (f"| `{place}` | {sentence} |\n" for place, sentence in unnamed_modules(page).items())
    modules = f"{MODULES}{_OF_MODULES}{''.join(rows)}\n"
    PAGE.write_text(f"{before}{table(page)}{modules}{heading}{after}", "utf-8")


if __name__ == "__main__":
    main()
