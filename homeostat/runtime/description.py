"""The description of an operator, which a process needs before it imports the operator and sets it up.

The module of an operator declares it as `KINDS`, `FACES`, `SECTIONS`, `WAKES`, `WAKES_IF_SERVED`, `SETTINGS`,
`USER_RULES`, `RESERVED` and `NEEDS_PLANE`. The operators of the catalog also have it in a file beside the module,
without `NEEDS_PLANE`, which none of them declares, so that a process imports them only when there is work.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import msgspec

from homeostat.objects.crd.user_roles import UserRules, user_rules
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import Kind
from homeostat.runtime.faces.face import Face, kinds_of_face
from homeostat.runtime.faces.section import DeclaredSection
from homeostat.runtime.reserved import Reserved

if TYPE_CHECKING:
    from homeostat.objects.crd.custom_kind import CustomKind
    from homeostat.runtime.setup import OperatorModule


class OperatorOption(msgspec.Struct, frozen=True, kw_only=True):
    """An option of `up` and `run` that sets an environment variable; without a `metavar` it is a switch."""

    name: str
    """Without the dashes."""
    variable: str
    help: str
    metavar: str = ""


class Description(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    """A short name for leases, logs and metrics."""
    definitions: Callable[[], tuple[JsonObject, ...]]
    """The CustomResourceDefinitions of its kinds and of the kinds of its faces. They are large, so read on demand."""
    guarded: tuple[str, ...] = ()
    """Resources such as `deployments.apps` whose writes it checks."""
    reserved: tuple[Reserved, ...] = ()
    """Writes that others must not make."""
    faces: tuple[Face, ...] = ()
    sections: tuple[DeclaredSection, ...] = ()
    """What it adds to the dashboard."""
    wakes: tuple[Kind, ...] = ()
    """The operator sleeps until an object of one of these kinds exists. Without any it is set up at the start."""
    wakes_if_served: tuple[Kind, ...] = ()
    """Those of `wakes` that a server may lack."""
    settings: tuple[str, ...] | None = ()
    """The environment variables that its `check_environment` reads; None if it does not declare them."""
    options: tuple[OperatorOption, ...] = ()
    user_rules: UserRules = UserRules()
    """What holders of Kubernetes' default roles may do with its kinds."""
    needs_plane: bool = False
    """It would do harm on a cluster, so `homeostat run` refuses any server but a plane."""
    load: Callable[[], OperatorModule]
    """Imports the operator, which may take some tenths of a second."""


def describe(name: str, module: OperatorModule) -> Description:
    """`ValueError` for a kind with an invalid definition."""
    faces: Sequence[Face] = getattr(module, "FACES", ())
    kinds = [*module.KINDS, *(kind for face in faces for kind in kinds_of_face(face))]
    definitions = tuple(each.definition() for each in kinds)
    wakes: Sequence[Kind | CustomKind] = getattr(module, "WAKES", ())
    return Description(
        name=name,
        definitions=lambda: definitions,
        guarded=tuple(resource_of(each.kind) for each in kinds if each.is_guarded),
        reserved=tuple(getattr(module, "RESERVED", ())),
        faces=tuple(faces),
        sections=tuple(getattr(module, "SECTIONS", ())),
        wakes=tuple(each if isinstance(each, Kind) else each.kind for each in wakes),
        wakes_if_served=tuple(getattr(module, "WAKES_IF_SERVED", ())),
        settings=_settings(module),
        options=tuple(getattr(module, "OPTIONS", ())),
        user_rules=user_rules(kinds, getattr(module, "USER_RULES", UserRules())),
        needs_plane=bool(getattr(module, "NEEDS_PLANE", False)),
        load=lambda: module,
    )


def _settings(module: OperatorModule) -> tuple[str, ...] | None:
    named = getattr(module, "SETTINGS", None)
    if named is None:
        return None if hasattr(module, "check_environment") else ()
    return tuple(named)


def resource_of(kind: Kind) -> str:
    return f"{kind.plural}.{kind.group}" if kind.group else kind.plural
