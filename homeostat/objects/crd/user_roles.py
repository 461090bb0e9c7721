"""ClusterRoles that extend Kubernetes' default roles `view`, `edit` and `admin` to an operator's kinds.

Kubernetes adds the rules of a ClusterRole with a label such as `rbac.authorization.k8s.io/aggregate-to-view: "true"` to
the default role that the label names, so whoever is bound to it works with custom kinds as with built-in ones. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from homeostat.objects.json import JsonObject
from homeostat.objects.roles import READ, role, rule

if TYPE_CHECKING:
    from homeostat.objects.crd.custom_kind import CustomKind

Level = Literal["view", "edit"]
WRITE: Final = ("create", "update", "patch", "delete", "deletecollection")
_EXTENDED: Final[Mapping[Level, Sequence[str]]] = {"view": ("view", "edit", "admin"), "edit": ("edit", "admin")}
"""The default roles that the role of a level extends."""


class UserRules(msgspec.Struct, frozen=True):
    """Rules for the holders of a default role; holders of `edit` and `admin` have those of `view` as well."""

    view: tuple[JsonObject, ...] = ()
    edit: tuple[JsonObject, ...] = ()


def user_rules(kinds: Iterable[CustomKind], more: UserRules) -> UserRules:
    """The rules for these kinds, as they declare `read_by` and `written_by`, and `more` for other kinds."""
    found = list(kinds)
    readable: dict[Level, list[CustomKind]] = {
        "view": [each for each in found if each.read_by == "view"],
        "edit": [each for each in found if each.read_by == "edit"],
    }
    written = [each for each in found if each.written_by == "edit" and each.kind.is_namespaced]
    return UserRules(
        view=(*_rules(readable["view"], READ), *more.view),
        edit=(*_rules(readable["edit"], READ), *_rules(written, WRITE), *more.edit),
    )


def _rules(kinds: Iterable[CustomKind], verbs: Sequence[str]) -> Iterator[JsonObject]:
    """One rule for each group. Who reads a kind reads its status, and nobody writes that but the operator."""
    groups: dict[str, list[str]] = {}
    for each in kinds:
        status = [f"{each.kind.plural}/status"] if verbs == READ and each.status is not None else []
        groups.setdefault(each.kind.group, []).extend([each.kind.plural, *status])
    return (rule(group, resources, verbs) for group, resources in groups.items())


def user_roles(name: str, rules: UserRules) -> list[JsonObject]:
    """The ClusterRoles `NAME-view` and `NAME-edit`, each if it has rules."""
    levels: dict[Level, tuple[JsonObject, ...]] = {"view": rules.view, "edit": rules.edit}
    return [role(_metadata(f"{name}-{level}", level), found) for level, found in levels.items() if found]


def _metadata(name: str, level: Level) -> JsonObject:
    labels = {f"rbac.authorization.k8s.io/aggregate-to-{each}": "true" for each in _EXTENDED[level]}
    return {"name": name, "labels": {"app.kubernetes.io/name": "homeostat", **labels}}
