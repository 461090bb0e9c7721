"""Operators by name: ours, those of installed packages, and a file or module of your own.

    policy                one of ours, or an entry point of the group `homeostat.operators`
    ./greeter.py          a file
    shop.operators.stock  a module

An operator is a module with `register(setup)` and the `KINDS` that it declares; it may also have `RULES`
(`access.py`). It is imported when it is asked for.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from traceback import FrameSummary, extract_tb
from types import ModuleType

from homeostat.objects.json import JsonObject
from homeostat.runtime.setup import OperatorModule

GROUP = "homeostat.operators"
_NOT_OWN = ("<", str(Path(__file__).parents[1]), sys.prefix, sys.base_prefix)
_unnameable = re.compile(r"[^a-z0-9]+").sub
OURS = {"policy": "homeostat.operators.policy", "actions": "homeostat.operators.actions"}
"""Module by name, in the order in which they are listed."""


class UnknownOperatorError(Exception):
    """No such operator, or what was found is none."""


class BrokenOperatorError(Exception):
    """An operator that fails before it runs: says where, and what its author is to mend."""

    def __init__(self, name: str, doing: str, error: Exception) -> None:
        super().__init__(f'the operator "{name}" cannot {doing}: {_place(error)}{type(error).__name__}: {error}')


def known_operators() -> list[str]:
    """Ours and those of installed packages."""
    return list(dict.fromkeys([*OURS, *(each.name for each in entry_points(group=GROUP))]))


def load_operator(name: str) -> OperatorModule:
    try:
        module = _module(name)
    except UnknownOperatorError:
        raise
    except ModuleNotFoundError as error:
        if f"{name}.".startswith(f"{error.name}."):
            raise UnknownOperatorError(f'there is no module "{name}": {error}') from error
        raise BrokenOperatorError(name, "be imported", error) from error
    except Exception as error:
        raise BrokenOperatorError(name, "be imported", error) from error
    if missing := _missing(module):
        raise UnknownOperatorError(f'"{name}" is no operator: it has no {" and no ".join(missing)}')
    return module


def _missing(module: OperatorModule) -> list[str]:
    has_register = callable(getattr(module, "register", None))
    has_kinds = hasattr(module, "KINDS")
    return ["register(setup)"] * (not has_register) + ["KINDS (may be empty)"] * (not has_kinds)


def definitions_of(name: str, module: OperatorModule) -> list[JsonObject]:
    """Of its kinds; `BrokenOperatorError` where a server would take one for none."""
    try:
        return [kind.definition() for kind in module.KINDS]
    except Exception as error:
        raise BrokenOperatorError(name, "say what its kinds are", error) from error


def check_environment(name: str, module: OperatorModule, environment: Mapping[str, str]) -> None:
    """`BrokenOperatorError` where the operator could not be set up with these settings; it need not say beforehand."""
    check = getattr(module, "check_environment", None)
    try:
        if check is not None:
            check(environment)
    except ValueError as error:
        raise BrokenOperatorError(name, "be set up", error) from error


def operator_name(name: str) -> str:
    """A short one, for leases, logs and metrics: that of the file or module, as an object may be named."""
    stem = Path(name).stem if name.endswith(".py") else name.rpartition(".")[2]
    return _unnameable("-", stem.lower()).strip("-") or "operator"


def _module(name: str) -> ModuleType:
    if name in OURS:
        return import_module(OURS[name])
    if name.endswith(".py"):
        return _file(Path(name))
    for each in entry_points(group=GROUP, name=name):
        found: ModuleType = each.load()
        return found
    if "." in name:
        return import_module(name)
    told = f"there are: {', '.join(known)}" if (known := known_operators()) else "none is installed"
    raise UnknownOperatorError(
        f'no operator is named "{name}"; {told}; a file is named with its .py, a module with its package'
    )


def _place(error: Exception) -> str:
    """Where in the operator's own file it went wrong, as far as that is known."""
    if isinstance(error, SyntaxError):
        return f"{error.filename}:{error.lineno}: "
    frames = [each for each in extract_tb(error.__traceback__) if _is_own(each)]
    return f"{frames[-1].filename}:{frames[-1].lineno}: " if frames else ""


def _is_own(frame: FrameSummary) -> bool:
    """Neither of this package nor of what is installed."""
    return not frame.filename.startswith(_NOT_OWN)


def _file(path: Path) -> ModuleType:
    if not path.is_file():
        raise UnknownOperatorError(f'there is no file "{path}"')
    # Under a name that no other module has, and listed, for whoever looks up the types of its structs.
    name = f"homeostat_operator_{path.stem}"
    spec = spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
