"""The behaviour of CustomResourceDefinitions: validated as in Kubernetes, with their names accepted on write."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from threading import Lock

from homeostat.objects.crd.accepted import Decision, accept_names
from homeostat.objects.crd.definition import default_crd, validate_crd, validate_crd_update
from homeostat.objects.errors import Cause, quoted
from homeostat.objects.json import JsonObject
from homeostat.objects.schema.formats import unrecognized_formats
from homeostat.server.kinds.builtin import BuiltinBehaviour
from homeostat.server.kinds.builtins.members import struct, structs
from homeostat.server.kinds.custom.kinds import establishment
from homeostat.server.kinds.registry import Behaviour, Claim, Kind, Registry

CLEANUP_FINALIZER = "customresourcecleanup.apiextensions.k8s.io"
Shipped = Callable[[str], JsonObject | None]
"""Returns the definition of this name that comes with the program, and is known to be valid."""


_MOST_WARNINGS = 32
_WRITTEN = frozenset({"apiVersion", "kind", "metadata", "spec"})


def _defaulted_spec(definition: JsonObject) -> JsonObject:
    """A copy, with the defaults of the server."""
    spec = {**definition["spec"], "names": dict(definition["spec"]["names"])}
    if "conversion" in spec:
        spec["conversion"] = dict(spec["conversion"])
    default_crd({"spec": spec})
    return spec


class DefinitionBehaviour(BuiltinBehaviour):
    claims_names = True

    def __init__(self, registry: Registry, shipped: Shipped) -> None:
        super().__init__("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
        self.is_slow = True
        self._registry, self._shipped = registry, shipped
        self._claiming = Lock()
        """Definitions are prepared in threads, and two may want the same name."""

    def default(self, obj: JsonObject) -> None:
        default_crd(obj)

    def type_errors(self, obj: JsonObject) -> list[Cause]:
        return [] if self._is_shipped(obj) else super().type_errors(obj)

    def unknown_fields(self, obj: JsonObject) -> list[str]:
        return [] if self._is_shipped(obj) else super().unknown_fields(obj)

    def prune(self, obj: JsonObject, *, is_applied: bool = False) -> list[str]:
        return [] if self._is_shipped(obj) else super().prune(obj)

    def check(self, obj: JsonObject) -> list[Cause]:
        shipped = self._shipped(str(obj["metadata"].get("name")))
        if shipped is not None and obj.get("spec") == _defaulted_spec(shipped):
            return []
        return validate_crd(obj, shipped)

    def _is_shipped(self, obj: JsonObject) -> bool:
        """Whether this is a definition that comes with the program; tests validate all of those. A first start installs
        them, and a comparison takes a hundredth of the time.
        """
        metadata = obj.get("metadata")
        if not isinstance(metadata, dict) or not _WRITTEN.issuperset(obj):
            return False
        shipped = self._shipped(str(metadata.get("name")))
        if shipped is None or obj.get("spec") != shipped["spec"]:
            return False
        sent = {name: value for name, value in metadata.items() if name != "managedFields"}
        return bool(sent == shipped["metadata"])

    def warnings(self, obj: JsonObject, old: JsonObject | None) -> list[str]:
        if old is not None and obj.get("spec") == old.get("spec"):
            return []
        known = set(_formats_of(old)) if old is not None else set()
        return [f"unrecognized format {quoted(name)}" for name in _formats_of(obj) if name not in known]

    def check_update(self, new: JsonObject, old: JsonObject) -> list[Cause]:
        return validate_crd_update(new, old)

    def prepare(self, obj: JsonObject, old: JsonObject | None, now: str, *, writer: int = 0) -> None:
        spec = obj.get("spec")
        if not isinstance(spec, dict) or not isinstance(spec.get("names"), dict):
            return
        if old is None:
            finalizers = obj["metadata"].setdefault("finalizers", [])
            if CLEANUP_FINALIZER not in finalizers:
                finalizers.append(CLEANUP_FINALIZER)
        status = dict(obj.get("status") or {})
        stored = (old or {}).get("status") or {}
        name = obj["metadata"].get("name", "")
        decision = self._claim(name, spec, stored.get("acceptedNames") or {}, writer)
        status["acceptedNames"] = decision.names
        decided = _name_conditions(decision, stored)
        status["conditions"] = _merge_conditions(status.get("conditions") or (), decided, now)
        status["storedVersions"] = _stored_versions(status.get("storedVersions") or (), spec.get("versions"))
        obj["status"] = status

    def prepare_deletion(self, obj: JsonObject, now: str) -> None:
        status = obj.setdefault("status", {})
        terminating = {
            "type": "Terminating",
            "status": "True",
            "reason": "InstanceDeletionPending",
            "message": "CustomResource deletion is pending",
        }
        status["conditions"] = _merge_conditions(status.get("conditions") or (), (terminating,), now)

    def release(self, writer: int) -> None:
        with self._claiming:
            self._registry.claiming.pop(writer, None)

    def _claim(self, name: str, spec: JsonObject, former: JsonObject, writer: int) -> Decision:
        """Accept the names that nobody else has, and keep others from claiming them until the write has ended."""
        group = spec.get("group", "")
        with self._claiming:
            claims = [*dict(self._registry.claims).items(), *self._registry.claiming.values()]
            others = [each.names for own, each in claims if own != name and each.group == group]
            fixed = [each for each in self._registry.all() if not each.custom or each.compute is not None]
            others += [_names_of(each) for each in fixed if each.group == group]
            decision = accept_names(spec["names"], former, others)
            self._registry.claiming[writer] = (name, Claim(group, decision.names))
        return decision


def _formats_of(definition: JsonObject) -> list[str]:
    versions = structs(struct(definition, "spec"), "versions")
    schemas = (struct(each, "schema", "openAPIV3Schema") for each in versions)
    return list(islice((name for schema in schemas for name in unrecognized_formats(schema)), _MOST_WARNINGS))


def _names_of(kind: Kind) -> JsonObject:
    return {
        "plural": kind.plural,
        "singular": kind.singular,
        "shortNames": list(kind.short_names),
        "kind": kind.kind,
        "listKind": kind.list_kind,
    }


def _name_conditions(decision: Decision, stored: JsonObject) -> tuple[JsonObject, ...]:
    """A definition that is established stays so, with the names that it has, whatever names it wants later."""
    if not decision.reason:
        return (
            {"type": "NamesAccepted", "status": "True", "reason": "NoConflicts", "message": "no conflicts found"},
            {
                "type": "Established",
                "status": "True",
                "reason": "InitialNamesAccepted",
                "message": "the initial names have been accepted",
            },
        )
    pending = {
        "type": "Established",
        "status": "False",
        "reason": "NotAccepted",
        "message": "not all names are accepted",
    }
    return (
        {"type": "NamesAccepted", "status": "False", "reason": decision.reason, "message": decision.message},
        establishment(stored) or pending,
    )


def _merge_conditions(current: object, new: tuple[JsonObject, ...], now: str) -> list[JsonObject]:
    """Conditions by type, and those without one; the transition time moves with the status."""
    found = [each for each in current if isinstance(each, dict)]  # type: ignore[attr-defined]
    merged = {each.get("type") or index: each for index, each in enumerate(found)}
    for each in new:
        former = merged.get(each["type"])
        is_same = former is not None and former.get("status") == each["status"]
        changed_at = former["lastTransitionTime"] if former and is_same and "lastTransitionTime" in former else now
        merged[each["type"]] = {"lastTransitionTime": changed_at, **each}
    return list(merged.values())


def _stored_versions(stored: object, versions: object) -> list[str]:
    names = [each for each in stored if isinstance(each, str)]  # type: ignore[attr-defined]
    for version in versions if isinstance(versions, list) else ():
        if isinstance(version, dict) and version.get("storage") is True and version.get("name") not in names:
            names.append(version.get("name", ""))
    return names


def builtin_behaviours(registry: Registry, shipped: Shipped = lambda _: None) -> Callable[[str, str, str], Behaviour]:
    """The behaviour of each built-in kind, for `builtin_kinds`."""

    def behaviour_of(group: str, version: str, kind: str) -> Behaviour:
        if kind == "CustomResourceDefinition":
            return DefinitionBehaviour(registry, shipped)
        return BuiltinBehaviour(group, version, kind)

    return behaviour_of
