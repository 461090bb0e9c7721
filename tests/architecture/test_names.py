"""Nothing outside an operator's own packages names that operator: hosts work from what operators declare."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from homeostat.operators.catalog import OURS

PACKAGE = Path(__file__).parents[2] / "homeostat"
OWN = {
    "actions": ("operators/actions/", "web/actions/", "cli/resource/", "cli/type/", "cli/plan/", "sdk/plugins.py"),
    "contracts": (
        "operators/contracts/",
        "cli/contract/",
        "web/contracts/",
        "web/documentation/",
        "web/receivers/contracts.py",
    ),
    "images": ("operators/images/", "web/images/", "cli/image/", "web/receivers/images.py"),
    "sync": ("operators/sync/", "web/sync/", "cli/sync/", "web/receivers/sync.py"),
    "policy": ("operators/policy/", "cli/policy/", "web/policy/", "web/admission/"),
}
HOSTS = (
    "plane/",
    "runtime/",
    "testing/",
    "web/certificates/",
    "web/dashboard/",
    "web/identity/",
    "web/kit/",
    "web/mcp/",
    "cli/auth/",
    "cli/completion/",
    "cli/console/",
    "cli/doctor/",
    "cli/files/",
    "cli/monitoring/",
    "cli/objects/",
    "cli/operators/",
    "cli/plane/",
    "cli/support/",
    "cli/top/",
    "cli/webhook/",
    "operators/catalog.py",
    "operators/access.py",
)


def modules(*below: str) -> list[Path]:
    found = sorted(PACKAGE.rglob("*.py"))
    return [each for each in found if not below or each.relative_to(PACKAGE).as_posix().startswith(below)]


def named(tree: ast.Module) -> Iterator[str]:
    """Modules that are imported, and texts that are neither a docstring nor a field (a decision has `actions`)."""
    nodes = list(ast.walk(tree))
    docstrings = {
        id(node.body[0].value)
        for node in nodes
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    skipped = docstrings | {id(key) for node in nodes if isinstance(node, ast.Dict) for key in node.keys}
    for node in nodes:
        match node:
            case ast.Import():
                yield from (each.name for each in node.names)
            case ast.ImportFrom():
                yield from (f"{node.module}.{each.name}" for each in node.names)
            case ast.Constant(value=str() as text) if id(node) not in skipped:
                yield text


@cache
def names_in(file: Path) -> tuple[str, ...]:
    return tuple(named(ast.parse(file.read_text())))


@cache
def mentions_operators(file: Path) -> bool:
    """Whether a module is worth parsing: most mention neither of the packages."""
    return re.search(r"\b(operators|web)\b", file.read_text()) is not None


def offenders(files: list[Path], pattern: str) -> list[str]:
    found = re.compile(pattern).search
    return [f"{file.relative_to(PACKAGE)}: {text}" for file in files for text in names_in(file) if found(text)]


@pytest.mark.parametrize("name", OURS)
def test_no_module_outside_an_operators_own_packages_imports_it(name: str) -> None:
    own = set(modules(*OWN[name]))
    others = [each for each in modules() if each not in own and mentions_operators(each)]
    assert offenders(others, rf"homeostat[./](operators|web)[./]{name}\b") == []


@pytest.mark.parametrize("name", OURS)
def test_hosts_of_operators_name_none(name: str) -> None:
    assert offenders(modules(*HOSTS), rf"^{name}$|operators? {name}\b|operators[ .=]{name}\b") == []


def test_a_name_would_be_found(tmp_path: Path) -> None:
    file = tmp_path / "host.py"
    file.write_text('"""actions"""\nfrom homeostat.operators.actions import KINDS\nRUNS = "policy"\n')
    found = list(named(ast.parse(file.read_text())))
    assert found == ["homeostat.operators.actions.KINDS", "policy"]
