"""No package, file or function grows past what one reads in one go."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "homeostat"
MOST_MODULES = 16
MOST_LINES = 400
MOST_LINES_OF_A_FUNCTION = 60
_STARTS = re.compile(r"\s*(def|async def|class|@)")
LONGER = {
    # One state machine: a part of it would read and set the flags of the rest.
    "edge/connection/connection.py": 470,
}


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def lines_of(file: Path) -> int:
    return len(file.read_text().splitlines())


def may_have_long_functions(file: Path) -> bool:
    """Whether a module is worth parsing: after a definition, the next one as far left is far enough away."""
    lines = file.read_text().splitlines()
    starts = [at for at, line in enumerate(lines) if _STARTS.match(line)]
    functions_left: list[tuple[int, int]] = []
    for at in (*starts, len(lines)):
        line = lines[at] if at < len(lines) else ""
        while functions_left and functions_left[-1][1] >= indent(line):
            if at - functions_left.pop()[0] > MOST_LINES_OF_A_FUNCTION:
                return True
        if "def " in line:
            functions_left.append((at, indent(line)))
    return False


def indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def functions(file: Path) -> Iterator[tuple[str, int]]:
    """Names and lines, with those of docstrings."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, (node.end_lineno or node.lineno) - node.lineno + 1


def test_a_package_has_at_most_sixteen_modules() -> None:
    found: dict[str, int] = {}
    for file in modules():
        if file.name != "__init__.py":
            package = file.parent.relative_to(PACKAGE).as_posix()
            found[package] = found.get(package, 0) + 1
    assert len(found) > 100
    assert {name: count for name, count in found.items() if count > MOST_MODULES} == {}


def test_a_file_is_short_enough_to_be_one_noun() -> None:
    long = {
        name: size
        for file in modules()
        if (size := lines_of(file)) > LONGER.get(name := file.relative_to(PACKAGE).as_posix(), MOST_LINES)
    }
    assert long == {}


def test_a_file_that_may_be_longer_is_longer() -> None:
    assert [name for name in LONGER if lines_of(PACKAGE / name) <= MOST_LINES] == []


def test_a_function_fits_on_a_page() -> None:
    long = [
        f"{file.relative_to(PACKAGE)}: {name} has {size} lines"
        for file in modules()
        if may_have_long_functions(file)
        for name, size in functions(file)
        if size > MOST_LINES_OF_A_FUNCTION
    ]
    assert long == []


def test_a_long_function_would_be_found(tmp_path: Path) -> None:
    (short := tmp_path / "short.py").write_text("def few() -> None:\n    pass\n")
    inner = "    def inner() -> None:\n        pass\n" * 30
    (long := tmp_path / "long.py").write_text(
        f"def outer() -> None:\n{inner}    inner()\n\n\ndef few() -> None:\n    pass\n"
    )
    assert [may_have_long_functions(each) for each in (short, long)] == [False, True]
    assert ("outer", 62) in functions(long)
