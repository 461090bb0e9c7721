"""Reads manifests for evaluation: Pods, and the Pods that workloads would create from their templates. Pure.

Other kinds are skipped. An invalid manifest is a `Problem` with the file and the path; reading continues after it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, TypeVar

import msgspec

from homeostat.objects.json import Json, JsonObject
from homeostat.objects.report.report import Problem
from homeostat.objects.views.pod import Pod
from homeostat.objects.views.workload import DisruptionBudget, Workload, WorkloadSpec, given_labels, pod_of
from homeostat.objects.yaml.document import Document

Namespaced = TypeVar("Namespaced", Pod, Workload, DisruptionBudget)

_GROUPS: Final = {
    "Pod": "",
    "Deployment": "apps",
    "StatefulSet": "apps",
    "DaemonSet": "apps",
    "ReplicaSet": "apps",
    "ReplicationController": "",
    "Job": "batch",
    "CronJob": "batch",
    "PodDisruptionBudget": "policy",
}
JOBS: Final = frozenset({"Job", "CronJob"})
_MOST_NESTED: Final = 8


class _JobTemplate(msgspec.Struct, frozen=True):
    spec: WorkloadSpec | None = None


class _CronJobSpec(msgspec.Struct, frozen=True, rename="camel"):
    job_template: _JobTemplate | None = None


class _CronJob(msgspec.Struct, frozen=True):
    """The template of a CronJob is nested deeper than that of other workloads."""

    spec: _CronJobSpec | None = None


class Subject(msgspec.Struct, frozen=True):
    """A Pod to evaluate. `body` is the Pod as JSON, for CEL rules; without rules it may be None."""

    document: Document
    kind: str
    pod: Pod
    body: JsonObject | None
    workload: Workload | None = None

    @property
    def namespace(self) -> str:
        return self.pod.metadata.namespace


class Budget(msgspec.Struct, frozen=True):
    document: Document
    budget: DisruptionBudget


Read = Subject | Budget | Problem


def read_manifests(documents: Iterable[Document]) -> Iterator[Read]:
    for document in documents:
        yield from _read(document, document.value, "", 0)


def _read(document: Document, value: Json, path: str, depth: int) -> Iterator[Read]:
    if not isinstance(value, dict):
        yield Problem(document.source, document.line, f"{path or 'document'}: expected an object")
        return
    kind = value.get("kind")
    if isinstance(kind, str) and kind.endswith("List") and isinstance(value.get("items"), list):
        if depth >= _MOST_NESTED:
            yield Problem(document.source, document.line, f"{path}: lists are nested too deeply")
            return
        for at, item in enumerate(value["items"]):
            yield from _read(document, item, f"{path}items[{at}].", depth + 1)
    elif isinstance(kind, str) and _is_known(kind, value.get("apiVersion")):
        yield _one(document, kind, value, path)


def _is_known(kind: str, api_version: Json) -> bool:
    group = _GROUPS.get(kind)
    return group is not None and isinstance(api_version, str) and api_version.rpartition("/")[0] == group


def _one(document: Document, kind: str, value: JsonObject, path: str) -> Read:
    try:
        match kind:
            case "PodDisruptionBudget":
                return Budget(document, _with_namespace(msgspec.convert(value, DisruptionBudget)))
            case "Pod":
                pod = _with_namespace(msgspec.convert(value, Pod))
                return Subject(document, kind, pod, value)
            case "CronJob":
                msgspec.convert(value, _CronJob)
                return _template(document, kind, {**value, "spec": _job_spec(value)})
            case _:
                return _template(document, kind, value)
    except msgspec.ValidationError as error:
        return Problem(document.source, document.line, f"{path}{kind} {_name(value)}: {error}")


def _job_spec(cron_job: JsonObject) -> Json:
    template = (cron_job.get("spec") or {}).get("jobTemplate") or {}
    return template.get("spec")


def _template(document: Document, kind: str, value: JsonObject) -> Subject:
    workload = _with_namespace(msgspec.convert(value, Workload))
    pod = pod_of(workload)
    template = (value.get("spec") or {}).get("template") or {}
    metadata = {**(template.get("metadata") or {}), "name": pod.name, "namespace": pod.metadata.namespace}
    if given := given_labels(kind, pod.name):
        metadata["labels"] = {**(metadata.get("labels") or {}), **given}
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template.get("spec") or {}}
    return Subject(document, kind, pod, body, workload)


def _with_namespace(obj: Namespaced) -> Namespaced:
    """With the namespace `default`, as `kubectl apply` does, if it has none."""
    if obj.metadata.namespace:
        return obj
    return msgspec.structs.replace(obj, metadata=msgspec.structs.replace(obj.metadata, namespace="default"))


def _name(value: JsonObject) -> str:
    metadata = value.get("metadata")
    return f'"{metadata.get("name")}"' if isinstance(metadata, dict) else "without metadata"
