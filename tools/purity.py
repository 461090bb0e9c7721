"""A contract of import-linter: modules that do no I/O, read no clock, draw no random numbers and do not log.

It holds for `pure_modules`, for the modules of `claims_within` whose docstring ends its first line with "Pure.", and
for all that these import, however indirectly. Each of them may

- import, from outside this package, what `allowed_imports` lists: a list of what is harmless ends, one of what is
  harmful does not. Where it lists names of a module, such as `threading.Lock`, the others of this module are forbidden;
- import no module of `forbidden_modules`, and none of another package than this one;
- define no coroutine, which can do I/O without an import, unless it is only imported by one that has to be pure;
- use none of `_FORBIDDEN_NAMES`: the clocks of modules that are otherwise harmless, and what Python has for files.

Names are followed through `import ... as`, and not through variables: this finds mistakes, and not malice.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Final, NamedTuple

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output

_CLAIM: Final = "Pure."
_CLOCKS: Final = frozenset({"datetime.datetime.now", "datetime.datetime.utcnow", "datetime.datetime.today"})
_FORBIDDEN_NAMES: Final = _CLOCKS | {
    "datetime.date.today",
    "open",
    "print",
    "input",
    "breakpoint",
    "exec",
    "eval",
    "__import__",
}


class Fault(NamedTuple):
    """A line of a module that ought to be pure: what it uses, and why the module ought to be pure."""

    module: str
    line: int
    used: str
    chain: tuple[str, ...]


class PureContract(Contract):
    type_name = "pure"

    pure_modules = fields.SetField(subfield=fields.StringField())
    claims_within = fields.SetField(subfield=fields.StringField())
    allowed_imports = fields.SetField(subfield=fields.StringField())
    forbidden_modules = fields.SetField(subfield=fields.StringField())

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        package = str(self.session_options["root_packages"][0])
        sources = _Sources(package)
        faults = [
            fault
            for module, chain in sorted(_closure(graph, self._roots(graph, sources), package).items())
            for fault in self._faults(sources, module, chain)
        ]
        return ContractCheck(kept=not faults, metadata={"faults": faults})

    def render_broken_contract(self, check: ContractCheck) -> None:
        for module, line, used, chain in check.metadata["faults"]:
            output.print_error(f"{module} is not allowed to use {used} (l.{line})")
            if len(chain) > 1:
                output.print_error(f"    because {' -> '.join(chain)}", bold=False)
        output.print_error("If an import is harmless, add it to allowed_imports in pyproject.toml.", bold=False)

    def _roots(self, graph: ImportGraph, sources: _Sources) -> set[str]:
        named: set[str] = set()
        for expression in self._set("pure_modules"):
            found = graph.find_matching_modules(expression) if "*" in expression else {expression}
            if not found <= graph.modules or not found:
                raise ValueError(f'pure_modules: no module is named "{expression}"')
            named |= found
        inner = {each for name in named for each in graph.find_descendants(name)}
        claiming = {each for each in graph.modules if _is_within(each, self._set("claims_within"))}
        return named | inner | {each for each in claiming if sources.claims_purity(each)}

    def _faults(self, sources: _Sources, module: str, chain: tuple[str, ...]) -> Iterator[Fault]:
        allowed, imports = self._set("allowed_imports"), _imports(sources.tree(module))
        partly = {each.rpartition(".")[0] for each in allowed if "." in each} - allowed
        for each in imports:
            if _is_within(each.name, {sources.package}):
                is_allowed = not _is_within(each.name, self._set("forbidden_modules"))
            else:
                is_allowed = each.name in partly or _is_within(each.name, allowed)
            if not is_allowed:
                yield Fault(module, each.line, each.name, chain)
        for node in ast.walk(sources.tree(module)):
            if isinstance(node, ast.AsyncFunctionDef) and len(chain) == 1:
                yield Fault(module, node.lineno, "async def", chain)
        for line, name in _names(sources.tree(module), {each.bound: each.meant for each in imports}):
            is_other_part = name.rpartition(".")[0] in partly and not _is_within(name, allowed)
            if name in _FORBIDDEN_NAMES or is_other_part:
                yield Fault(module, line, name, chain)

    def _set(self, option: str) -> set[str]:
        """The class has the field, and the instance its value, under one name."""
        return set(getattr(self, option))


class _Import(NamedTuple):
    """`bound` is the name that the module gets, `meant` what it stands for."""

    line: int
    name: str
    bound: str
    meant: str


class _Sources:
    """The sources of a package, parsed when they are asked for."""

    def __init__(self, package: str) -> None:
        spec = find_spec(package)
        assert spec is not None
        assert spec.origin is not None
        self.package, self._root = package, Path(spec.origin).parent
        self._trees: dict[str, ast.Module] = {}

    def tree(self, module: str) -> ast.Module:
        if module not in self._trees:
            path = self._root.joinpath(*module.split(".")[1:])
            path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
            # A directory of data counts as a package to import-linter.
            self._trees[module] = ast.parse(path.read_bytes() if path.exists() else b"", str(path))
        return self._trees[module]

    def claims_purity(self, module: str) -> bool:
        return (ast.get_docstring(self.tree(module)) or "").partition("\n")[0].endswith(_CLAIM)


def _closure(graph: ImportGraph, roots: set[str], package: str) -> dict[str, tuple[str, ...]]:
    """The roots and all that they import of the package, each with the way there from a root."""
    found: dict[str, tuple[str, ...]] = {root: (root,) for root in sorted(roots)}
    waiting = list(found)
    for module in waiting:
        for imported in sorted(graph.find_modules_directly_imported_by(module)):
            if imported not in found and imported.split(".")[0] == package:
                found[imported] = (*found[module], imported)
                waiting.append(imported)
    return found


def _imports(tree: ast.Module) -> list[_Import]:
    """Wherever they stand; the package has no relative ones."""
    found = []
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                for each in names:
                    first = each.name.partition(".")[0]
                    found.append(
                        _Import(node.lineno, each.name, each.asname or first, each.name if each.asname else first)
                    )
            case ast.ImportFrom(module=str(source), names=names):
                for each in names:
                    name = f"{source}.{each.name}"
                    found.append(_Import(node.lineno, name, each.asname or each.name, name))
            case _:
                pass
    return found


def _names(tree: ast.Module, bound: dict[str, str]) -> Iterator[tuple[int, str]]:
    """The imported and built-in names that are used, as `datetime.datetime.now`, with their lines. A variable that has
    the name of a function of Python counts as that function."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute | ast.Name) and isinstance(node.ctx, ast.Load) and (name := _dotted(node)):
            first, dot, rest = name.partition(".")
            yield node.lineno, f"{bound.get(first, first)}{dot}{rest}"


def _dotted(node: ast.expr) -> str:
    """`a.b.c` as text; empty for what is no plain name."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=attribute) if inner := _dotted(value):
            return f"{inner}.{attribute}"
        case _:
            return ""


def _is_within(name: str, modules: set[str]) -> bool:
    """Whether it is one of these modules, or something in one."""
    return any(name == each or name.startswith(f"{each}.") for each in modules)
