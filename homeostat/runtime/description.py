"""What the rest of a process needs to know of an operator before it is imported and set up.

An operator's module says it in `KINDS`, `FACES`, `WAKES` and `SETTINGS`. For operators that come with the package the
same is kept in a file beside the module, so that a process which hosts them imports them only when there is work.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from homeostat.objects.crd.custom_kind import CustomKind
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import Kind
from homeostat.runtime.faces.face import Face, kinds_of_face
from homeostat.runtime.setup import OperatorModule


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    name: str
    """A short one, for leases, logs and metrics."""
    definitions: Callable[[], tuple[JsonObject, ...]]
    """The CustomResourceDefinitions of its kinds and of those of its faces: read when needed, for they are large."""
    guarded: tuple[str, ...] = ()
    """Resources such as `deployments.apps` whose writes it checks."""
    faces: tuple[Face, ...] = ()
    wakes: tuple[Kind, ...] = ()
    """It sleeps until there is an object of one of these kinds; without any, it is set up from the start."""
    settings: tuple[str, ...] | None = ()
    """Variables of the environment that its `check_environment` reads; None for one that does not say."""
    load: Callable[[], OperatorModule]
    """Imports it, which may take some tenths of a second."""


def describe(name: str, module: OperatorModule) -> Description:
    """`ValueError` for a kind that no server would accept."""
    faces: Sequence[Face] = getattr(module, "FACES", ())
    kinds = [*module.KINDS, *(kind for face in faces for kind in kinds_of_face(face))]
    definitions = tuple(each.definition() for each in kinds)
    wakes: Sequence[Kind | CustomKind] = getattr(module, "WAKES", ())
    return Description(
        name=name,
        definitions=lambda: definitions,
        guarded=tuple(resource_of(each.kind) for each in kinds if each.is_guarded),
        faces=tuple(faces),
        wakes=tuple(each.kind if isinstance(each, CustomKind) else each for each in wakes),
        settings=_settings(module),
        load=lambda: module,
    )


def _settings(module: OperatorModule) -> tuple[str, ...] | None:
    named = getattr(module, "SETTINGS", None)
    if named is None:
        return None if hasattr(module, "check_environment") else ()
    return tuple(named)


def resource_of(kind: Kind) -> str:
    return f"{kind.plural}.{kind.group}" if kind.group else kind.plural
