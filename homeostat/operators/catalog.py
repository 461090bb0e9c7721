"""Operators by name: ours, those of installed packages, and a file or module of your own.

    policy                one of ours, or an entry point of the group `homeostat.operators`
    ./greeter.py          a file
    shop.operators.stock  a module

An operator is a module with `register(setup)` and the `KINDS` that it declares; it may also have `RULES`
(`access.py`), `FACES`, `SECTIONS`, `WAKES`, `SETTINGS`, `OPTIONS` and `USER_RULES`
(`runtime/description.py`). One of ours is a package here with a file `operator.json`, which says of it what the module
says, so that it is described without being imported. To generate these files: `python -m tools.describe_operators`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from traceback import FrameSummary, extract_tb
from types import ModuleType
from typing import TYPE_CHECKING

import msgspec

from homeostat.objects.crd.user_roles import UserRules
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import Kind
from homeostat.runtime.deployment import FaceAdmission
from homeostat.runtime.description import Description, OperatorOption, describe
from homeostat.runtime.faces.face import Face
from homeostat.runtime.faces.section import DeclaredSection
from homeostat.runtime.reserved import Reserved

if TYPE_CHECKING:
    from homeostat.runtime.setup import OperatorModule

GROUP = "homeostat.operators"
_NOT_OWN = ("<", str(Path(__file__).parents[1]), sys.prefix, sys.base_prefix)
_unnameable = re.compile(r"[^a-z0-9]+").sub
_FILE = "operator.json"
_HERE = Path(__file__).parent
OURS = {file.parent.name: f"{__package__}.{file.parent.name}" for file in sorted(_HERE.glob(f"*/{_FILE}"))}
"""Module by name, in the order in which they are listed."""


class _KeptFace(msgspec.Struct, frozen=True, kw_only=True):
    """A face all of whose parts are named and not imported."""

    name: str
    title: str
    prefixes: tuple[str, ...]
    open: str
    first: str | None = None
    alone: tuple[str, ...] = ()
    port: int
    pages: tuple[tuple[str, str], ...]
    rules: str
    settings: tuple[str, ...]
    check: str | None
    sign_in: str = ""
    opened_by: tuple[str, ...]
    is_signed: bool = False
    switch: str = ""
    admission: FaceAdmission | None = None


class _KeptSection(msgspec.Struct, frozen=True, kw_only=True):
    open: str
    rules: tuple[JsonObject, ...]


class _KeptOption(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    variable: str
    help: str
    metavar: str = ""


class _Kept(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What `operator.json` holds."""

    wakes: tuple[Kind, ...]
    wakes_if_served: tuple[Kind, ...] | msgspec.UnsetType = msgspec.UNSET
    settings: tuple[str, ...] | None
    options: tuple[_KeptOption, ...] = ()
    guarded: tuple[str, ...]
    reserved: tuple[Reserved, ...] | msgspec.UnsetType = msgspec.UNSET
    faces: tuple[_KeptFace, ...]
    sections: tuple[_KeptSection, ...] | msgspec.UnsetType = msgspec.UNSET
    user_rules: UserRules = UserRules()
    definitions: msgspec.Raw


class UnknownOperatorError(Exception):
    """No such operator, or what was found is none."""


class BrokenOperatorError(Exception):
    """An operator that fails before it runs: says where, and what its author is to mend."""

    def __init__(self, name: str, doing: str, error: Exception) -> None:
        super().__init__(f'operator "{name}" cannot {doing}: {_place(error)}{type(error).__name__}: {error}')


def known_operators() -> list[str]:
    """Ours and those of installed packages."""
    from homeostat.runtime.catalog import offered  # imports a megabyte to look at packages

    return list(dict.fromkeys([*OURS, *(each.name for each in offered(GROUP))]))


def load_operator(name: str) -> OperatorModule:
    try:
        module = _module(name)
    except UnknownOperatorError:
        raise
    except ModuleNotFoundError as error:
        if f"{name}.".startswith(f"{error.name}."):
            raise UnknownOperatorError(f'no module "{name}": {error}') from error
        raise BrokenOperatorError(name, "be imported", error) from error
    except Exception as error:
        raise BrokenOperatorError(name, "be imported", error) from error
    if missing := _missing(module):
        raise UnknownOperatorError(f'"{name}" is not an operator: it does not define {" and ".join(missing)}')
    return module


def find_operator(name: str) -> Description:
    """Imports the operator only if it is not one of ours; errors as of `load_operator`."""
    if name in OURS:
        return _described(name)
    module = load_operator(name)
    try:
        return describe(operator_name(name), module)
    except Exception as error:
        raise BrokenOperatorError(operator_name(name), "list its kinds", error) from error


def kept_description(name: str) -> bytes:
    """What `operator.json` of one of ours has to hold, from its module."""
    found = describe(name, load_operator(name))
    kept = _Kept(
        wakes=found.wakes,
        wakes_if_served=found.wakes_if_served or msgspec.UNSET,
        settings=found.settings,
        options=tuple(msgspec.convert(msgspec.to_builtins(each), _KeptOption) for each in found.options),
        guarded=found.guarded,
        reserved=found.reserved or msgspec.UNSET,
        faces=tuple(msgspec.convert(msgspec.to_builtins(each), _KeptFace) for each in found.faces),
        sections=tuple(msgspec.convert(msgspec.to_builtins(each), _KeptSection) for each in found.sections)
        or msgspec.UNSET,
        user_rules=found.user_rules,
        definitions=msgspec.Raw(msgspec.json.encode(found.definitions())),
    )
    return msgspec.json.format(msgspec.json.encode(kept), indent=1) + b"\n"


def kept_file(name: str) -> Path:
    return _HERE / name / _FILE


@cache
def _described(name: str) -> Description:
    kept = _kept(name)
    return Description(
        name=name,
        definitions=lambda: _definitions(name),
        guarded=kept.guarded,
        reserved=kept.reserved or (),
        faces=tuple(Face(**msgspec.structs.asdict(each)) for each in kept.faces),
        sections=tuple(DeclaredSection(**msgspec.structs.asdict(each)) for each in kept.sections or ()),
        wakes=kept.wakes,
        wakes_if_served=kept.wakes_if_served or (),
        settings=kept.settings,
        options=tuple(OperatorOption(**msgspec.structs.asdict(each)) for each in kept.options),
        user_rules=kept.user_rules,
        load=lambda: load_operator(name),
    )


def _kept(name: str) -> _Kept:
    return msgspec.json.decode(kept_file(name).read_bytes(), type=_Kept)


def declared_sections() -> tuple[DeclaredSection, ...]:
    """The sections of the dashboard that our operators declare."""
    return tuple(section for name in OURS for section in find_operator(name).sections)


def shipped_definition(name: str) -> JsonObject | None:
    """The CustomResourceDefinition of this name, if one of our operators declares it. Tests validate all of them."""
    found = (each for operator in OURS for each in _definitions(operator) if each["metadata"]["name"] == name)
    return next(found, None)


@cache
def _definitions(name: str) -> tuple[JsonObject, ...]:
    return msgspec.json.decode(_kept(name).definitions, type=tuple[JsonObject, ...])


def _missing(module: OperatorModule) -> list[str]:
    has_register = callable(getattr(module, "register", None))
    has_kinds = hasattr(module, "KINDS")
    return ["register(setup)"] * (not has_register) + ["KINDS (may be empty)"] * (not has_kinds)


def check_environment(operator: Description, environment: Mapping[str, str]) -> None:
    """`BrokenOperatorError` where the operator could not be set up with these settings; it need not say beforehand.

    One that names its `settings` is imported for this only if one of them is given.
    """
    if operator.settings is not None and not any(environment.get(each) for each in operator.settings):
        return
    check = getattr(operator.load(), "check_environment", None)
    try:
        if check is not None:
            check(environment)
    except ValueError as error:
        raise BrokenOperatorError(operator.name, "be set up", error) from error


def operator_name(name: str) -> str:
    """A short one, for leases, logs and metrics: that of the file or module, as an object may be named."""
    stem = Path(name).stem if name.endswith(".py") else name.rpartition(".")[2]
    return _unnameable("-", stem.lower()).strip("-") or "operator"


def _module(name: str) -> ModuleType:
    if name in OURS:
        return import_module(OURS[name])
    if name.endswith(".py"):
        return _file(Path(name))
    from homeostat.runtime.catalog import offered

    for each in offered(GROUP):
        if each.name == name:
            found: ModuleType = each.load()
            return found
    if "." in name:
        return import_module(name)
    hint = f"known operators: {', '.join(known)}" if (known := known_operators()) else "no operators are installed"
    raise UnknownOperatorError(
        f'unknown operator "{name}"; {hint}; for one of your own pass a file (./{name}.py) or a module (package.{name})'
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
        raise UnknownOperatorError(f'no such file: "{path}"')
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
