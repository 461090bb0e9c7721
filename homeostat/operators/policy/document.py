"""Policies in files: read with every error reported, exported without the fields that a server adds, and compared.
Pure: the caller reads and writes the files.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from copy import deepcopy
from datetime import datetime
from functools import lru_cache
from typing import Final

import msgspec

from homeostat.objects.crd.custom_kind import CustomKind
from homeostat.objects.json import Json, JsonObject
from homeostat.objects.meta import LAST_APPLIED
from homeostat.objects.schema.openapi import schema_of
from homeostat.objects.schema.prune import unknown_fields
from homeostat.objects.schema.validate import Validator
from homeostat.objects.time.timestamp import format_time
from homeostat.operators.policy.api import CLUSTER_DEVOPS_POLICY, DEVOPS_POLICY, GROUP
from homeostat.operators.policy.engine.evaluator import Evaluator, compile_policy
from homeostat.operators.policy.engine.invalid import Fault
from homeostat.operators.policy.spec import ClusterPolicySpec, PolicySpec

EXPORTED_AT: Final = f"{GROUP}/exported-at"
EXPORTED_FROM: Final = f"{GROUP}/exported-from"
_KEPT: Final = ("name", "namespace", "labels", "annotations")
_KINDS: Final = {each.kind.kind: each for each in (DEVOPS_POLICY, CLUSTER_DEVOPS_POLICY)}


class PolicyDocument(msgspec.Struct, frozen=True):
    """A valid policy, with its compiled form."""

    namespace: str
    name: str
    spec: PolicySpec
    evaluator: Evaluator

    @property
    def title(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class PolicyDocumentError(ValueError):
    """Lists all errors of a policy, each with its path."""


def is_policy(document: Json) -> bool:
    if not isinstance(document, dict):
        return False
    kind, api_version = document.get("kind"), document.get("apiVersion")
    return api_version == DEVOPS_POLICY.kind.api_version and isinstance(kind, str) and kind in _KINDS


def read_policy(document: JsonObject) -> PolicyDocument:
    """Validates the policy as a server does, except that an unknown field is an error."""
    kind = _KINDS[document["kind"]]
    if faults := list(_faults(document, kind)):
        raise PolicyDocumentError("; ".join(faults))
    shape = ClusterPolicySpec if kind is CLUSTER_DEVOPS_POLICY else PolicySpec
    metadata = document["metadata"]
    try:
        spec = msgspec.convert(document.get("spec") or {}, shape)
    except msgspec.ValidationError as error:
        raise PolicyDocumentError(f"spec: {error}") from error
    namespace = metadata.get("namespace") or "default" if kind.kind.is_namespaced else ""
    return policy_document(namespace, metadata["name"], spec)


def policy_document(namespace: str, name: str, spec: PolicySpec) -> PolicyDocument:
    evaluator = compile_policy(spec)
    if isinstance(evaluator, Fault):
        raise PolicyDocumentError(str(evaluator))
    return PolicyDocument(namespace, name, spec, evaluator)


def _faults(document: JsonObject, kind: CustomKind) -> Iterator[str]:
    metadata = document.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str) or not metadata["name"]:
        yield "metadata.name: required"
    elif not isinstance(metadata.get("namespace") or "", str):
        yield "metadata.namespace: must be a string"
    for cause in _validator(kind).check(document):
        yield f"{cause.field}: {cause.message}"
    for path in unknown_fields(document, _validator(kind).schema):
        yield f"{path}: unknown field"


@lru_cache(len(_KINDS))
def _validator(kind: CustomKind) -> Validator:
    return Validator(schema_of(kind.schema()))


def export_policies(policies: Iterable[JsonObject], *, context: str, now: datetime) -> list[JsonObject]:
    """Without status and the fields that a server adds, sorted by namespace and name, annotated with their origin."""
    found = [_exported(each, context, format_time(now)) for each in policies]
    return sorted(found, key=lambda each: (each["metadata"].get("namespace", ""), each["metadata"]["name"]))


def _exported(policy: JsonObject, context: str, moment: str) -> JsonObject:
    metadata = {name: value for name in _KEPT if (value := policy["metadata"].get(name))}
    annotations = {key: value for key, value in (metadata.get("annotations") or {}).items() if key != LAST_APPLIED}
    metadata["annotations"] = {**annotations, EXPORTED_AT: moment, EXPORTED_FROM: context}
    return {
        "apiVersion": DEVOPS_POLICY.kind.api_version,
        "kind": policy.get("kind", DEVOPS_POLICY.kind.kind),
        "metadata": metadata,
        "spec": deepcopy(policy.get("spec") or {}),
    }


def compare_policy(local: JsonObject, remote: JsonObject | None) -> list[str]:
    """`[=]`, `[+]` or `[~]` with lines for each path of the spec that differs, the value in the cluster first."""
    try:
        document = read_policy(local)
    except PolicyDocumentError as error:
        return [f"[!] {_title(local)}: {error}"]
    if remote is None:
        return [f"[+] {document.title}"]
    try:
        theirs = msgspec.to_builtins(msgspec.convert(remote.get("spec") or {}, type(document.spec)))
    except msgspec.ValidationError as error:
        return [f"[!] {document.title}: cannot read the object in the cluster: {error}"]
    lines = list(_differences("spec", theirs, msgspec.to_builtins(document.spec)))
    return [f"[~] {document.title}", *lines] if lines else [f"[=] {document.title}"]


def _title(document: JsonObject) -> str:
    metadata = document.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    return f"{metadata.get('namespace') or 'default'}/{metadata.get('name')}"


def _differences(path: str, old: Json, new: Json) -> Iterator[str]:
    if isinstance(old, dict) and isinstance(new, dict):
        for name in sorted({*old, *new}):
            yield from _differences(f"{path}.{name}", old.get(name), new.get(name))
        return
    if old == new:
        return
    if old is not None:
        yield f"  - {path}: {_json(old)}"
    if new is not None:
        yield f"  + {path}: {_json(new)}"


def _json(value: Json) -> str:
    return msgspec.json.encode(value).decode()
