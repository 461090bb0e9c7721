"""The earlier templates of a workload, and the patch that returns to one, as `kubectl rollout undo` makes it."""

from __future__ import annotations

from typing import Final, NamedTuple

from homeostat.client.base import JSON_PATCH, Client
from homeostat.edge.turn import Turn
from homeostat.objects.json import Json, JsonObject
from homeostat.objects.kind import DAEMON_SET, DEPLOYMENT, STATEFUL_SET, Kind
from homeostat.web.dashboard.html.command import shell
from homeostat.web.dashboard.objects.family.search import selector_of

MOST_READ: Final = 2000
"""ReplicaSets or ControllerRevisions with the labels of the workload; others of the same labels are among them."""
MOST_SHOWN: Final = 100
_AT_ONCE: Final = 100
_SETS: Final = Kind("apps", "v1", "replicasets", "ReplicaSet", is_namespaced=True)
_CONTROLLER_REVISIONS: Final = Kind("apps", "v1", "controllerrevisions", "ControllerRevision", is_namespaced=True)
_ROLLABLE: Final = {(each.group, each.plural) for each in (DEPLOYMENT, STATEFUL_SET, DAEMON_SET)}
_STRATEGIC_PATCH: Final = "application/strategic-merge-patch+json"
NUMBER: Final = "deployment.kubernetes.io/revision"
_CAUSE: Final = "kubernetes.io/change-cause"
_HASH: Final = "pod-template-hash"
_OF_THE_DEPLOYMENT: Final = frozenset(
    {
        "kubectl.kubernetes.io/last-applied-configuration",
        NUMBER,
        "deployment.kubernetes.io/revision-history",
        "deployment.kubernetes.io/desired-replicas",
        "deployment.kubernetes.io/max-replicas",
        "deprecated.deployment.rollback.to",
    }
)
"""Annotations that a rollback leaves as they are; the others return with the template."""


class Revision(NamedTuple):
    number: int
    uid: str
    created: str
    cause: str
    template: JsonObject
    annotations: JsonObject
    data: JsonObject
    """The patch of a ControllerRevision; empty for a ReplicaSet."""

    @property
    def images(self) -> list[str]:
        containers = _map(self.template.get("spec")).get("containers")
        return [str(_map(each).get("image", "")) for each in (containers if isinstance(containers, list) else ())]

    @property
    def returned(self) -> JsonObject:
        """The annotations that return with the template of a Deployment."""
        if self.data:
            return {}
        return {name: each for name, each in self.annotations.items() if name not in _OF_THE_DEPLOYMENT}

    def is_current(self, obj: JsonObject) -> bool:
        return _comparable(self.template) == _comparable(obj["spec"].get("template") or {})

    def patch(self, obj: JsonObject) -> tuple[Json, str]:
        """What changes the workload back, and its content type. `ConflictError` if the object is no longer as it is
        here.
        """
        seen = {name: obj["metadata"][name] for name in ("uid", "resourceVersion")}
        if self.data:
            return {**self.data, "metadata": seen}, _STRATEGIC_PATCH
        own = obj["metadata"].get("annotations") or {}
        kept = {name: each for name, each in own.items() if name in _OF_THE_DEPLOYMENT}
        # Not by "test", which a server answers with 422 if it fails.
        same = [{"op": "replace", "path": f"/metadata/{name}", "value": each} for name, each in seen.items()]
        return [
            *same,
            {"op": "replace", "path": "/spec/template", "value": self.template},
            {"op": "add", "path": "/metadata/annotations", "value": {**kept, **self.returned}},
        ], JSON_PATCH


class History(NamedTuple):
    """The revisions, the newest first; `is_whole` is false if the server has more than were read."""

    revisions: list[Revision]
    is_whole: bool = True


def is_rollable(kind: Kind) -> bool:
    return (kind.group, kind.plural) in _ROLLABLE


def undo_command(kind: Kind, namespace: str, name: str, number: int = 0) -> str:
    """To the revision before the current one without a number."""
    to = [f"--to-revision={number}"] if number else []
    return shell("kubectl", "rollout", "undo", f"{kind.kind.lower()}/{name}", "-n", namespace, *to)


async def history_of(client: Client, kind: Kind, obj: JsonObject) -> History:
    """`ForbiddenError` for who may not list ReplicaSets or ControllerRevisions."""
    metadata, turn = obj["metadata"], Turn()
    listed = _SETS if kind.plural == DEPLOYMENT.plural else _CONTROLLER_REVISIONS
    found: list[Revision] = []
    is_whole, token = True, ""
    for _ in range(MOST_READ // _AT_ONCE):
        query = {"labelSelector": selector_of(obj), "limit": _AT_ONCE, "continue": token}
        page = await client.request("GET", listed.path(metadata["namespace"]), query)
        owned = [each for each in page.get("items") or () if _is_owned(each, metadata["uid"])]
        found += [_of_set(each) if listed is _SETS else _of_data(each) for each in owned]
        found.sort(key=lambda each: each.number, reverse=True)
        is_whole = is_whole and len(found) <= MOST_SHOWN
        del found[MOST_SHOWN:]
        token = page["metadata"].get("continue") or ""
        if not token:
            break
        await turn.pause()
    return History(found, is_whole=is_whole and not token)


def _is_owned(obj: JsonObject, uid: str) -> bool:
    owners = obj["metadata"].get("ownerReferences") or ()
    return any(each.get("uid") == uid and each.get("controller") for each in owners)


def _of_set(obj: JsonObject) -> Revision:
    annotations, template = obj["metadata"].get("annotations") or {}, dict(obj["spec"].get("template") or {})
    own = template.get("metadata") or {}
    labels = {name: each for name, each in (own.get("labels") or {}).items() if name != _HASH}
    template["metadata"] = {**own, "labels": labels}
    return _revision(obj, annotations.get(NUMBER), template, {})


def _of_data(obj: JsonObject) -> Revision:
    data = _map(obj.get("data"))
    template = dict(_map(_map(data.get("spec")).get("template")))
    template.pop("$patch", None)
    return _revision(obj, obj.get("revision"), template, data)


def _revision(obj: JsonObject, number: Json, template: JsonObject, data: JsonObject) -> Revision:
    metadata, annotations = obj["metadata"], obj["metadata"].get("annotations") or {}
    given, cause = str(number or ""), str(annotations.get(_CAUSE, ""))
    counted = int(given) if given.isdecimal() and len(given) < 19 else 0
    return Revision(
        counted, metadata["uid"], metadata.get("creationTimestamp") or "", cause, template, annotations, data
    )


def _map(value: Json) -> JsonObject:
    """The data of a ControllerRevision may be anything."""
    return value if isinstance(value, dict) else {}


def _comparable(template: JsonObject) -> JsonObject:
    """A server in Go writes a template without a time as one with the time null."""
    metadata = {name: each for name, each in _map(template.get("metadata")).items() if each}
    return {**template, "metadata": metadata}
