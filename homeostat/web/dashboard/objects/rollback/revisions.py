"""The earlier templates of a workload, and the patch that returns to one, as `kubectl rollout undo` makes it."""

from __future__ import annotations

from itertools import accumulate
from typing import Final, NamedTuple

import msgspec

from homeostat.client.base import JSON_PATCH, Client
from homeostat.edge.turn import Turn
from homeostat.objects.json import Json, JsonObject, decode_stored
from homeostat.objects.kind import DAEMON_SET, DEPLOYMENT, REPLICA_SET, STATEFUL_SET, Kind
from homeostat.objects.views.rollout import HASH, NOT_COPIED, REVISION
from homeostat.web.dashboard.html.command import shell
from homeostat.web.dashboard.objects.family.search import selector_of
from homeostat.web.dashboard.objects.table import ListMetadata

MOST_READ: Final = 2000
"""ReplicaSets or ControllerRevisions with the labels of the workload; others of the same labels are among them."""
MOST_SHOWN: Final = 100
MOST_BYTES: Final = 8 << 20
"""Of the revisions that are shown."""
_AT_ONCE: Final = 100
_CONTROLLER_REVISIONS: Final = Kind("apps", "v1", "controllerrevisions", "ControllerRevision", is_namespaced=True)
_ROLLABLE: Final = {(each.group, each.plural) for each in (DEPLOYMENT, STATEFUL_SET, DAEMON_SET)}
_STRATEGIC_PATCH: Final = "application/strategic-merge-patch+json"
_CAUSE: Final = "kubernetes.io/change-cause"


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
        return {name: each for name, each in self.annotations.items() if name not in NOT_COPIED}

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
        kept = {name: each for name, each in own.items() if name in NOT_COPIED}
        # Not by "test", which a server answers with 422 if it fails.
        same = [{"op": "replace", "path": f"/metadata/{name}", "value": each} for name, each in seen.items()]
        return [
            *same,
            {"op": "replace", "path": "/spec/template", "value": self.template},
            {"op": "add", "path": "/metadata/annotations", "value": {**kept, **self.returned}},
        ], JSON_PATCH


class _Owner(msgspec.Struct, frozen=True):
    uid: str = ""
    controller: bool | None = None


class _Metadata(msgspec.Struct, frozen=True, rename={"owners": "ownerReferences"}):
    annotations: dict[str, str] | None = None
    owners: list[_Owner] | None = None


class _Head(msgspec.Struct, frozen=True):
    """As much of a ReplicaSet or a ControllerRevision as decides whether it is shown."""

    metadata: _Metadata = _Metadata()
    revision: int = 0

    def is_of(self, uid: str) -> bool:
        return any(each.uid == uid and each.controller for each in self.metadata.owners or ())


class _Page(msgspec.Struct, frozen=True):
    items: list[msgspec.Raw] | None = None
    metadata: ListMetadata = ListMetadata()


_read_head: Final = msgspec.json.Decoder(_Head).decode
_read_page: Final = msgspec.json.Decoder(_Page).decode


class History(NamedTuple):
    """The revisions, the newest first; `is_whole` is false if the server has more than are shown."""

    revisions: list[Revision]
    is_whole: bool = True


def is_rollable(kind: Kind) -> bool:
    return (kind.group, kind.plural) in _ROLLABLE


def undo_command(kind: Kind, namespace: str, name: str, number: int = 0) -> str:
    """To the revision before the current one without a number."""
    to = [f"--to-revision={number}"] if number else []
    return shell("kubectl", "rollout", "undo", f"{kind.kind.lower()}/{name}", "-n", namespace, *to)


async def history_of(client: Client, kind: Kind, obj: JsonObject) -> History:
    """`ForbiddenError` for who may not list ReplicaSets or ControllerRevisions. Only what is shown is decoded."""
    metadata, turn = obj["metadata"], Turn()
    is_set = kind.plural == DEPLOYMENT.plural
    path = (REPLICA_SET if is_set else _CONTROLLER_REVISIONS).path(metadata["namespace"])
    newest: list[tuple[int, bytes]] = []
    is_whole, token = True, ""
    for _ in range(MOST_READ // _AT_ONCE):
        query = {"labelSelector": selector_of(obj), "limit": _AT_ONCE, "continue": token}
        answer = await client.fetch("GET", path, query)
        await turn.pause()
        page = _read_page(answer)
        for each in page.items or ():
            head = _read_head(each)
            if head.is_of(metadata["uid"]):
                given = (head.metadata.annotations or {}).get(REVISION) if is_set else head.revision
                newest.append((_number(given), bytes(each)))
            await turn.pause()
        count = len(newest)
        newest = _newest_of(newest)
        is_whole, token = is_whole and len(newest) == count, page.metadata.token
        if not token:
            break
    found: list[Revision] = []
    for _, data in newest:
        found.append((_of_set if is_set else _of_data)(decode_stored(data)))
        await turn.pause()
    return History(found, is_whole=is_whole and not token)


def _newest_of(found: list[tuple[int, bytes]]) -> list[tuple[int, bytes]]:
    """Those that are shown, the newest first, and at least one."""
    found = sorted(found, key=lambda each: each[0], reverse=True)[:MOST_SHOWN]
    sizes = accumulate(len(data) for _, data in found)
    return [each for at, (each, size) in enumerate(zip(found, sizes, strict=True)) if not at or size <= MOST_BYTES]


def _of_set(obj: JsonObject) -> Revision:
    annotations, template = obj["metadata"].get("annotations") or {}, dict(obj["spec"].get("template") or {})
    own = template.get("metadata") or {}
    labels = {name: each for name, each in (own.get("labels") or {}).items() if name != HASH}
    template["metadata"] = {**own, "labels": labels}
    return _revision(obj, annotations.get(REVISION), template, {})


def _of_data(obj: JsonObject) -> Revision:
    data = _map(obj.get("data"))
    template = dict(_map(_map(data.get("spec")).get("template")))
    template.pop("$patch", None)
    return _revision(obj, obj.get("revision"), template, data)


def _revision(obj: JsonObject, given: Json, template: JsonObject, data: JsonObject) -> Revision:
    metadata, annotations = obj["metadata"], obj["metadata"].get("annotations") or {}
    number, cause = _number(given), str(annotations.get(_CAUSE, ""))
    return Revision(
        number, metadata["uid"], metadata.get("creationTimestamp") or "", cause, template, annotations, data
    )


def _number(given: Json) -> int:
    text = str(given or "")
    return int(text) if text.isdecimal() and len(text) < 19 else 0


def _map(value: Json) -> JsonObject:
    """The data of a ControllerRevision may be anything."""
    return value if isinstance(value, dict) else {}


def _comparable(template: JsonObject) -> JsonObject:
    """A server in Go writes a template without a time as one with the time null."""
    metadata = {name: each for name, each in _map(template.get("metadata")).items() if each}
    return {**template, "metadata": metadata}
