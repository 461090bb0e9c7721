"""PodSecurity: refuses Pods that violate the Pod Security Standard of their namespace, and warns of templates that do.

A write in a namespace without such labels costs one look-up.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Final

from homeostat.edge.threads import in_thread
from homeostat.objects.errors import invalid_object
from homeostat.objects.json import JsonObject, decode_stored
from homeostat.server.admission.pod_security.standard import LEVELS, PREFIX, Policy, Standard, read_policy
from homeostat.server.kinds.builtins.members import struct, structs, text
from homeostat.server.request.call import Call
from homeostat.store.base import Record, Scope, Store
from homeostat.store.follow import follow

if TYPE_CHECKING:
    from homeostat.server.admission.pod_security.subject import Finding

NAMESPACES: Final = "namespaces"
_TEMPLATES: Final[dict[str, tuple[str, ...]]] = {
    "podtemplates": ("template",),
    "replicationcontrollers": ("spec", "template"),
    **{f"{each}.apps": ("spec", "template") for each in ("deployments", "replicasets", "statefulsets", "daemonsets")},
    "jobs.batch": ("spec", "template"),
    "cronjobs.batch": ("spec", "jobTemplate", "spec", "template"),
}
SECURED: Final = frozenset({"pods", *_TEMPLATES})
_OF_PODS: Final = frozenset({"", "ephemeralcontainers", "resize"})
MOST_CHECKED: Final = 3000
"""Existing Pods that are checked when a namespace gets a stricter standard."""
_WITHIN_S: Final = 1.0
_MARK: Final = PREFIX.encode()


class PodSecurity:
    def __init__(self) -> None:
        self.policies: dict[str, Policy] = {}
        """By namespace, of those that have any label of the standards."""

    async def follow(self, store: Store) -> None:
        await follow(store, Scope(NAMESPACES), put=self._put, drop=self._drop)

    def _put(self, record: Record) -> None:
        if _MARK in record.value:
            self.policies[record.key.name] = read_policy(_labels(decode_stored(record.value)))[0]
        else:
            self.policies.pop(record.key.name, None)

    def _drop(self, record: Record) -> None:
        self.policies.pop(record.key.name, None)

    def review(self, call: Call, obj: JsonObject, old: JsonObject | None) -> None:
        """403 for a Pod that violates the enforced standard; warnings for what the others say."""
        policy = self.policies[call.namespace]
        if call.kind.resource == "pods":
            if call.subresource in _OF_PODS and (old is None or _is_new_to_checks(obj, old)):
                _evaluate(call, policy, obj, is_enforced=True)
        elif not call.subresource:
            template = struct(obj, *_TEMPLATES[call.kind.resource])
            if template:
                _evaluate(call, policy, template, is_enforced=False)

    async def review_namespace(self, call: Call, obj: JsonObject, old: JsonObject | None) -> None:
        """422 for labels that are invalid and were not before; warnings for Pods that violate a stricter standard."""
        if call.subresource:
            return
        (policy, causes), (former, known) = read_policy(_labels(obj)), read_policy(_labels(old or {}))
        if causes and causes != known:
            raise invalid_object("Namespace", "", call.name or obj["metadata"]["name"], causes)
        if old is not None and _is_stricter(policy.enforce, former.enforce):
            name = obj["metadata"]["name"]
            records = call.store.select(Scope("pods", name))
            warn = partial(_warnings, records, name, policy.enforce)
            call.warnings.extend(await in_thread(warn, user=call.user.name))


def _labels(namespace: JsonObject) -> JsonObject:
    return struct(namespace, "metadata", "labels")


def _evaluate(call: Call, policy: Policy, pod: JsonObject, *, is_enforced: bool) -> None:
    # Imported with the first Pod that a standard is about, as all rules are.
    from homeostat.server.admission.pod_security.checks import find_violations
    from homeostat.server.admission.pod_security.subject import subject_of

    subject = subject_of(pod)
    found: dict[Standard, list[Finding]] = {}

    def violations(standard: Standard) -> str:
        if standard not in found:
            found[standard] = find_violations(subject, standard)
        return ", ".join(map(str, found[standard]))

    if is_enforced:
        call.annotate(f"{PREFIX}enforce-policy", str(policy.enforce))
        if said := violations(policy.enforce):
            raise call.forbidden(f'violates PodSecurity "{policy.enforce}": {said}', text(subject.metadata, "name"))
    if said := violations(policy.audit):
        call.annotate(f"{PREFIX}audit-violations", f'would violate PodSecurity "{policy.audit}": {said}')
    if said := violations(policy.warn):
        call.warnings.append(f'would violate PodSecurity "{policy.warn}": {said}')


def _is_new_to_checks(pod: JsonObject, old: JsonObject) -> bool:
    """Whether an update of a Pod brings a container or an image; nothing else that may change is checked."""
    spec, former = struct(pod, "spec"), struct(old, "spec")
    for kind in ("containers", "initContainers"):
        if [text(each, "image") for each in structs(spec, kind)] != [
            text(each, "image") for each in structs(former, kind)
        ]:
            return True
    known = {text(each, "name"): text(each, "image") for each in structs(former, "ephemeralContainers")}
    return any(known.get(text(each, "name")) != text(each, "image") for each in structs(spec, "ephemeralContainers"))


def _is_stricter(new: Standard, old: Standard) -> bool:
    if new == old or new.is_privileged:
        return False
    return new.minor != old.minor or LEVELS.index(new.level) > LEVELS.index(old.level)


def _warnings(records: Sequence[Record], namespace: str, standard: Standard) -> list[str]:
    """Of the Pods that exist, those that violate the standard, by what is wrong with them."""
    from homeostat.server.admission.pod_security.checks import find_violations
    from homeostat.server.admission.pod_security.subject import subject_of

    ends_at, checked = monotonic() + _WITHIN_S, 0
    pods = _one_of_each_controller([decode_stored(each.value) for each in records])
    by_fault: dict[str, list[str]] = {}
    for pod in pods[:MOST_CHECKED]:
        checked += 1
        if found := find_violations(subject_of(pod), standard):
            by_fault.setdefault(", ".join(each.reason for each in found), []).append(pod["metadata"]["name"])
        if monotonic() > ends_at:
            break
    warnings = []
    if checked < len(pods):
        warnings.append(
            f"new PodSecurity enforce level only checked against the first {checked} of {len(pods)} existing pods"
        )
    if by_fault:
        warnings.append(
            f'existing pods in namespace "{namespace}" violate the new PodSecurity enforce level "{standard}"'
        )
    return [*warnings, *sorted(f"{_some(names)}: {fault}" for fault, names in by_fault.items())]


def _one_of_each_controller(pods: Sequence[JsonObject]) -> list[JsonObject]:
    """One Pod of each controller first, since those of one are alike."""
    first, others, seen = list[JsonObject](), list[JsonObject](), set[str]()
    for pod in pods:
        owners = structs(struct(pod, "metadata"), "ownerReferences")
        uid = next((text(each, "uid") for each in owners if each.get("controller") is True), "")
        (others if uid in seen else first).append(pod)
        seen |= {uid} if uid else set()
    return first + others


def _some(names: Sequence[str]) -> str:
    if len(names) == 1:
        return names[0]
    more = len(names) - 1
    return f"{min(names)} (and {more} other {'pod' if more == 1 else 'pods'})"
