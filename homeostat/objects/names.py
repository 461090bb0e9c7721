"""Validation of names and of `metadata`, on creation and on every later write.

Ordinary metadata is accepted in a few microseconds; anything else gets Kubernetes' causes. Members of the wrong type
are skipped here: the schema has rejected them already.
"""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import ip_address
from typing import NamedTuple

from homeostat.objects.errors import (
    MOST_CAUSES,
    Cause,
    are_enough,
    forbidden,
    invalid,
    quoted,
    required,
    too_long,
    too_many,
)
from homeostat.objects.identifiers import (
    Messages,
    dns1035_label,
    dns1123_label,
    dns1123_subdomain,
    is_label,
    is_label_1035,
    is_label_value,
    is_qualified_name,
    is_subdomain,
    label_value,
    length,
    path_segment,
    qualified_name,
)
from homeostat.objects.json import Json, JsonObject

ANNOTATIONS_LIMIT_BYTES = 256 * 1024
MAX_OWNERS = 256
"""The most owner references: garbage collection looks up each owner."""
IMMUTABLE = "field is immutable"

_MEMBERS = ("labels", "annotations", "ownerReferences", "finalizers")
_FIXED = ("name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds")
_ORPHAN, _FOREGROUND = "orphan", "foregroundDeletion"


class NameRule(NamedTuple):
    """How the objects of a kind may be named. `is_ordinary` accepts most valid names quickly."""

    is_ordinary: Callable[[str], object]
    explain: Callable[[str], Messages]
    limit: int

    def messages(self, name: str) -> Messages:
        if len(name) <= self.limit and self.is_ordinary(name):
            return []
        return self.explain(name)

    def prefix_messages(self, prefix: str) -> Messages:
        """For generateName, whose trailing dash is not the last character of the name."""
        if self is PATH_SEGMENT:
            return [each for each in path_segment(prefix) if each.startswith("may not contain")]
        return self.messages(f"{prefix[:-1]}a" if prefix.endswith("-") else prefix)


def _cron_job_name(value: str) -> Messages:
    messages = dns1123_subdomain(value)
    # The controller appends eleven characters to name a Job.
    return messages + length(value, 52)


def _csi_driver_name(value: str) -> Messages:
    return dns1123_subdomain(value) + length(value, 63)


def _ip_address_name(value: str) -> Messages:
    try:
        printed = str(ip_address(value))
    except ValueError:
        return ["must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"]
    return [] if printed == value else [f'must be in canonical form ("{printed}")']


SUBDOMAIN = NameRule(is_subdomain, dns1123_subdomain, 253)
LABEL = NameRule(is_label, dns1123_label, 63)
LABEL_1035 = NameRule(is_label_1035, dns1035_label, 63)
PATH_SEGMENT = NameRule(is_subdomain, path_segment, 253)

_RBAC = "rbac.authorization.k8s.io"
_RULES = {
    ("", "Namespace"): LABEL,
    ("", "Service"): LABEL_1035,
    ("", "Event"): PATH_SEGMENT,
    ("apps", "StatefulSet"): LABEL,
    ("batch", "CronJob"): NameRule(is_subdomain, _cron_job_name, 52),
    ("storage.k8s.io", "CSIDriver"): NameRule(is_subdomain, _csi_driver_name, 63),
    ("networking.k8s.io", "IPAddress"): NameRule(is_subdomain, _ip_address_name, 0),
    ("apiregistration.k8s.io", "APIService"): PATH_SEGMENT,
    ("certificates.k8s.io", "CertificateSigningRequest"): PATH_SEGMENT,
    ("policy", "PodDisruptionBudget"): PATH_SEGMENT,
    (_RBAC, "Role"): PATH_SEGMENT,
    (_RBAC, "RoleBinding"): PATH_SEGMENT,
    (_RBAC, "ClusterRole"): PATH_SEGMENT,
    (_RBAC, "ClusterRoleBinding"): PATH_SEGMENT,
}


def name_rule(group: str, kind: str) -> NameRule:
    """Custom kinds and most built-in ones are DNS subdomains."""
    return _RULES.get((group, kind), SUBDOMAIN)


def check_metadata(meta: JsonObject, namespaced: bool, rule: NameRule) -> list[Cause]:
    """The causes against creating an object with this metadata; its name has been generated already."""
    causes = _check_name(meta, rule)
    namespace = meta.get("namespace")
    if namespaced:
        if not namespace:
            causes.append(required("metadata.namespace"))
        elif isinstance(namespace, str):
            causes += [invalid("metadata.namespace", namespace, each) for each in LABEL.messages(namespace)]
    elif namespace:
        causes.append(forbidden("metadata.namespace", "not allowed on this type"))
    return causes + _check_members(meta)


def check_metadata_update(new: JsonObject, old: JsonObject) -> list[Cause]:
    """The causes against replacing `old` by `new`; fields that `new` leaves out count as unchanged."""
    causes = []
    if old.get("deletionTimestamp"):
        causes += _check_no_new_finalizers(new.get("finalizers"), old.get("finalizers"))
    for name in _FIXED:
        if new.get(name) != old.get(name) and (value := new.get(name)) is not None and value != "":
            causes.append(invalid(f"metadata.{name}", value, IMMUTABLE))
    generation, before = new.get("generation"), old.get("generation")
    if isinstance(generation, int) and isinstance(before, int) and generation and generation < before:
        causes.append(invalid("metadata.generation", generation, "must not be decremented"))
    # Unchanged fields were validated when they were first written.
    changed = {name: new[name] for name in _MEMBERS if name in new and new[name] != old.get(name)}
    return causes + _check_members(changed) if changed else causes


def _check_name(meta: JsonObject, rule: NameRule) -> list[Cause]:
    name, prefix = meta.get("name"), meta.get("generateName")
    causes = []
    if prefix and isinstance(prefix, str):
        causes += [invalid("metadata.generateName", prefix, each) for each in rule.prefix_messages(prefix)]
    if not name:
        causes.append(required("metadata.name", "name or generateName is required"))
    elif isinstance(name, str):
        causes += [invalid("metadata.name", name, each) for each in rule.messages(name)]
    return causes


def _check_members(meta: JsonObject) -> list[Cause]:
    causes: list[Cause] = []
    if labels := meta.get("labels"):
        causes += check_labels(labels, "metadata.labels")
    if annotations := meta.get("annotations"):
        causes += check_annotations(annotations, "metadata.annotations")
    if owners := meta.get("ownerReferences"):
        causes += _check_owners(owners)
    if finalizers := meta.get("finalizers"):
        causes += _check_finalizers(finalizers)
    return causes


def check_labels(labels: Json, path: str) -> list[Cause]:
    causes: list[Cause] = []
    if not isinstance(labels, dict):
        return causes
    for key, value in labels.items():
        if not is_qualified_name(key):
            causes += [invalid(path, key, each) for each in qualified_name(key)]
        if isinstance(value, str) and not is_label_value(value):
            causes += [invalid(path, value, each) for each in label_value(value)]
        if are_enough(causes):
            break
    return causes


def check_annotations(annotations: Json, path: str) -> list[Cause]:
    causes: list[Cause] = []
    if not isinstance(annotations, dict):
        return causes
    size = 0
    for key, value in annotations.items():
        if not is_qualified_name(key):
            causes += [invalid(path, key, each) for each in qualified_name(key.lower())]
            if are_enough(causes):
                return causes
        if isinstance(value, str):
            size += len(key) + len(value)
    # A character is at most four bytes, so only large annotations are counted exactly.
    if size * 4 > ANNOTATIONS_LIMIT_BYTES and _byte_size(annotations) > ANNOTATIONS_LIMIT_BYTES:
        causes.append(too_long(path, ANNOTATIONS_LIMIT_BYTES))
    return causes


def _byte_size(annotations: JsonObject) -> int:
    return sum(len(each.encode()) for pair in annotations.items() for each in pair if isinstance(each, str))


def _check_owners(owners: Json) -> list[Cause]:
    path = "metadata.ownerReferences"
    causes: list[Cause] = []
    controllers: list[str] = []
    if isinstance(owners, list) and len(owners) > MAX_OWNERS:
        return [too_many(path, len(owners), MAX_OWNERS)]
    for owner in owners if isinstance(owners, list) else ():
        if not isinstance(owner, dict):
            continue
        if not (owner.get("apiVersion") and owner.get("kind") and owner.get("name") and owner.get("uid")):
            causes += _check_owner_members(owner, path)
            if are_enough(causes):
                return causes
        if owner.get("kind") == "Event" and owner.get("apiVersion") == "v1":
            causes.append(invalid(path, owner, "/v1, Kind=Event is disallowed from being an owner"))
        if owner.get("controller") is True:
            controllers.append(f"{owner.get('kind')}/{owner.get('name')}")
    for extra in controllers[1 : MOST_CAUSES + 1]:
        message = 'Only one reference can have Controller set to true. Found "true" in references for'
        causes.append(invalid(path, owners, f"{message} {controllers[0]} and {extra}"))
    return causes


def _check_owner_members(owner: JsonObject, path: str) -> list[Cause]:
    return [
        invalid(
            f"{path}.{member}",
            owner.get(member) or "",
            "version must not be empty" if member == "apiVersion" else "must not be empty",
        )
        for member in ("apiVersion", "kind", "name", "uid")
        if not owner.get(member)
    ]


def _check_finalizers(finalizers: Json) -> list[Cause]:
    path = "metadata.finalizers"
    if not isinstance(finalizers, list):
        return []
    causes: list[Cause] = []
    for each in finalizers:
        if isinstance(each, str) and not is_qualified_name(each):
            causes += [invalid(path, each, message) for message in qualified_name(each)]
            if are_enough(causes):
                return causes
    if _ORPHAN in finalizers and _FOREGROUND in finalizers:
        causes.append(invalid(path, finalizers, f"finalizer {_ORPHAN} and {_FOREGROUND} cannot be both set"))
    return causes


def _check_no_new_finalizers(new: Json, old: Json) -> list[Cause]:
    known = {each for each in old if isinstance(each, str)} if isinstance(old, list) else set()
    added = [each for each in new if isinstance(each, str) and each not in known] if isinstance(new, list) else []
    if not added:
        return []
    listed = ", ".join(quoted(each) for each in added)
    message = "no new finalizers can be added if the object is being deleted, found new finalizers"
    return [forbidden("metadata.finalizers", f"{message} []string{{{listed}}}")]
