"""The behaviour of built-in kinds, composed of their schema and the functions of `server/kinds/builtins/`."""

from __future__ import annotations

from functools import cached_property
from itertools import islice

from homeostat.objects.errors import MOST_CAUSES, Cause, invalid
from homeostat.objects.json import Json, JsonObject
from homeostat.objects.schema.prune import prune, unknown_fields
from homeostat.objects.schema.schema import Schema
from homeostat.objects.wire.builtin_schema import builtin_schema
from homeostat.objects.wire.typed import as_read, conform_types
from homeostat.server.kinds.builtins.checks import check, check_changed, check_update
from homeostat.server.kinds.builtins.checks.status import check_status
from homeostat.server.kinds.builtins.conditions import WRITTEN
from homeostat.server.kinds.builtins.defaults import apply_defaults, apply_initial, complete_update
from homeostat.server.kinds.builtins.mirror import check_mirror_update
from homeostat.server.kinds.builtins.profiles import check_app_armor_update
from homeostat.server.kinds.builtins.selectable import BOOLEANS, SELECTABLE
from homeostat.server.kinds.builtins.warnings import warnings_of

_STANDARD_FINALIZERS = frozenset({"kubernetes", "orphan", "foregroundDeletion"})


_SLOW = frozenset({("certificates.k8s.io", "CertificateSigningRequest")})
"""Kinds whose checks take long: the first one loads the X.509 part of the cryptography package."""


_RULES_ON_SPEC = frozenset(
    {
        ("", "Pod"),
        ("", "ReplicationController"),
        ("apps", "DaemonSet"),
        ("apps", "Deployment"),
        ("apps", "ReplicaSet"),
        ("apps", "StatefulSet"),
        ("batch", "CronJob"),
        ("batch", "Job"),
    }
)
"""Kinds whose rules are about their spec alone, so that a write of the status cannot break them."""


class BuiltinBehaviour:
    claims_names = False

    def __init__(self, group: str, version: str, kind: str) -> None:
        self._group, self._version, self._kind = group, version, kind
        self.is_slow = (group, kind) in _SLOW
        self.selectable_fields = frozenset(SELECTABLE.get((group, kind), ()))
        self._write_conditions = WRITTEN.get((group, kind))
        self._has_rules_on_spec = (group, kind) in _RULES_ON_SPEC

    @cached_property
    def schema(self) -> Schema:
        return builtin_schema(self._group, self._version, self._kind)

    def release(self, writer: int) -> None:
        pass

    def type_errors(self, obj: JsonObject) -> list[Cause]:
        return conform_types(obj, self.schema)

    def unknown_fields(self, obj: JsonObject) -> list[str]:
        return unknown_fields(obj, self.schema)

    def prune(self, obj: JsonObject, *, is_applied: bool = False) -> list[str]:
        return prune(obj, self.schema)

    def default(self, obj: JsonObject) -> None:
        apply_defaults(self._group, self._kind, obj)

    def prepare(self, obj: JsonObject, old: JsonObject | None, now: str, *, writer: int = 0) -> None:
        if old is None:
            apply_initial(self._group, self._kind, obj)
        else:
            complete_update(self._group, self._kind, obj, old)
        if self._write_conditions is not None:
            self._write_conditions(obj, old, now)

    def prepare_deletion(self, obj: JsonObject, now: str) -> None:
        if self._kind == "Namespace":
            obj["status"] = {**(obj.get("status") or {}), "phase": "Terminating"}

    def check(self, obj: JsonObject) -> list[Cause]:
        return check_finalizer_names(obj["metadata"]) + check(self._group, self._kind, obj)

    def check_update(self, new: JsonObject, old: JsonObject) -> list[Cause]:
        finalizers = check_finalizer_names(new["metadata"])
        if new.get("status") is not old.get("status"):
            finalizers += check_status(self._group, self._kind, new, old)
        if self._has_rules_on_spec and new.get("spec") is old.get("spec"):
            if self._kind == "Pod":
                return finalizers + check_mirror_update(new, old) + check_app_armor_update(new, old)
            return finalizers
        group, kind = self._group, self._kind
        refused = check_update(group, kind, new, old)
        if refused:
            refused = check_update(group, kind, new, as_read(old, self.schema))
        return refused or finalizers + check_changed(group, kind, new, old)

    def check_rules(self, new: JsonObject, old: JsonObject | None) -> list[Cause]:
        if old is not None or self._kind != "Pod":
            return []
        from homeostat.server.kinds.builtins.checks.pods.pod import check_new_pod

        return check_new_pod(new)

    def warnings(self, obj: JsonObject, old: JsonObject | None) -> list[str]:
        return warnings_of(self._group, self._kind, obj, old)

    def selectable(self, obj: JsonObject) -> dict[str, str]:
        found = {name: text_at(obj, name) for name in self.selectable_fields}
        for name in self.selectable_fields & BOOLEANS:
            found[name] = found[name] or "false"
        if self._kind == "Event" and not self._group:
            found["source"] = found["source"] or found["reportingComponent"]
        return found


def check_finalizer_names(metadata: JsonObject) -> list[Cause]:
    """Kubernetes' own finalizers have bare names; all others begin with a domain."""
    bare = (
        (index, name)
        for index, name in enumerate(metadata.get("finalizers") or ())
        if "/" not in name and name not in _STANDARD_FINALIZERS
    )
    message = "name is neither a standard finalizer name nor is it fully qualified"
    return [invalid(f"metadata.finalizers[{index}]", name, message) for index, name in islice(bare, MOST_CAUSES)]


def text_at(obj: Json, path: str) -> str:
    """A scalar by its dotted path, as field selectors compare it: text, empty where absent."""
    for name in path.split("."):
        obj = obj.get(name) if isinstance(obj, dict) else None
    if isinstance(obj, bool):
        return "true" if obj else "false"
    if isinstance(obj, dict):
        return str(obj.get("component", ""))
    return "" if obj is None else str(obj)
