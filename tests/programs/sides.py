"""Two planes with the same manifests: one with simulated controllers, one with the real ones, and what they differ in.

On both sides simulated Nodes run the Pods, so what differs is the work of the controllers and of the scheduler.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from homeostat.objects.json import JsonObject
from tests.programs.picture import differences, event_differences, events_of, picture_of
from tests.programs.running import wait_until
from tests.served import ServedPlane

MERGE = "application/merge-patch+json"
OUTCOME = "simulation.homeostat.dev/outcome"
COMPARED = (
    ("apps/v1", "Deployment"),
    ("apps/v1", "ReplicaSet"),
    ("apps/v1", "StatefulSet"),
    ("apps/v1", "DaemonSet"),
    ("apps/v1", "ControllerRevision"),
    ("batch/v1", "Job"),
    ("batch/v1", "CronJob"),
    ("v1", "Pod"),
    ("v1", "PersistentVolumeClaim"),
    ("discovery.k8s.io/v1", "EndpointSlice"),
    ("v1", "Endpoints"),
    ("policy/v1", "PodDisruptionBudget"),
    ("autoscaling/v2", "HorizontalPodAutoscaler"),
    ("v1", "Event"),
)


def path_of(version: str, kind: str, namespace: str) -> str:
    plural = kind.lower().removesuffix("s") + "s"
    return f"/{'apis' if '/' in version else 'api'}/{version}/namespaces/{namespace}/{plural}"


@dataclass(frozen=True, slots=True)
class Side:
    """A plane, and a namespace of it."""

    plane: ServedPlane
    namespace: str

    def create(self, version: str, kind: str, name: str, spec: JsonObject, **metadata: Any) -> None:
        body = {"apiVersion": version, "kind": kind, "metadata": {"name": name, **metadata}, "spec": spec}
        self.plane.ask("POST", path_of(version, kind, self.namespace), body)

    def change(self, version: str, kind: str, name: str, patch: JsonObject, *, part: str = "") -> None:
        path = f"{path_of(version, kind, self.namespace)}/{name}{part}"
        self.plane.ask("PATCH", path, patch, content_type=MERGE)

    def delete(self, version: str, kind: str, name: str, *, policy: str = "Background") -> None:
        path = f"{path_of(version, kind, self.namespace)}/{name}"
        self.plane.ask("DELETE", path, {"propagationPolicy": policy})

    def read(self, version: str, kind: str, name: str) -> JsonObject:
        found: JsonObject = self.plane.ask("GET", f"{path_of(version, kind, self.namespace)}/{name}")
        return found

    def read_all(self, version: str, kind: str) -> list[JsonObject]:
        items = self.plane.ask("GET", path_of(version, kind, self.namespace))["items"]
        return [{**each, "kind": kind} for each in items]

    def objects(self) -> list[JsonObject]:
        return [each for version, kind in COMPARED for each in self.read_all(version, kind)]

    def wait(self, version: str, kind: str, name: str, settled: Callable[[JsonObject], bool], what: str) -> None:
        path = f"{path_of(version, kind, self.namespace)}/{name}"

        def holds() -> bool:
            found = self.plane.ask("GET", path)
            status = found.get("status", {})
            return status.get("observedGeneration", 0) >= found["metadata"].get("generation", 0) and settled(found)

        wait_until(holds, f"{kind} {name} {what} in {self.namespace}")


def template(image: str, **spec: Any) -> JsonObject:
    container = {"name": "app", "image": image, "ports": [{"name": "web", "containerPort": 8080}]}
    return {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [container], **spec}}


def workload(image: str = "app:1", **spec: Any) -> JsonObject:
    return {"selector": {"matchLabels": {"app": "web"}}, "template": template(image), **spec}


def image(name: str) -> JsonObject:
    return {"spec": {"template": template(name)}}


def assert_same(sides: list[Side]) -> None:
    """Once both sides have settled, for what is left to write may come after what a test waits for."""
    seen: list[str] = []

    def are_same() -> bool:
        ours, theirs = (side.objects() for side in sides)
        seen[:] = differences(picture_of(ours), picture_of(theirs))
        seen.extend(event_differences(events_of(ours), events_of(theirs)))
        return not seen

    try:
        wait_until(are_same, "both sides are the same", within_s=5.0)
    except AssertionError:
        raise AssertionError("\n".join(seen)) from None


def is_rolled_out(count: int) -> Callable[[JsonObject], bool]:
    def holds(found: JsonObject) -> bool:
        status = found["status"]
        names = ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas")
        return all(status.get(name) == count for name in names)

    return holds
