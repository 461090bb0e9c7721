"""What the load is made of: a custom kind with a schema, columns and a status, and objects of 1.36 kB."""

from __future__ import annotations

from typing import Any

import msgspec

from benchmarks.target import JSON, Target

GROUP, PLURAL, NAMESPACE = "bench.example.com", "widgets", "bench"
NAMESPACES = "/api/v1/namespaces"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
COLLECTION = f"/apis/{GROUP}/v1/namespaces/{NAMESPACE}/{PLURAL}"
DEFINITION_NAME = f"{PLURAL}.{GROUP}"
MERGE = "application/merge-patch+json"
APPLY = "application/apply-patch+yaml"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"

_COLORS = ("red", "green", "blue")
_FILLER = "x" * 512
_TEXT, _WHOLE = {"type": "string"}, {"type": "integer"}


def _record(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def _many(item: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": item}


_SPEC = {
    **_record(
        size={"type": "integer", "minimum": 0},
        color={"type": "string", "enum": list(_COLORS), "default": "red"},
        payload={"type": "string", "maxLength": 1 << 20},
        benchSeq=_TEXT,
        parts=_many(_record(name=_TEXT, count=_WHOLE)),
    ),
    "required": ["size"],
}
_STATUS = _record(
    phase=_TEXT, observedGeneration=_WHOLE, conditions=_many(_record(type=_TEXT, status=_TEXT, reason=_TEXT))
)
_VERSION = {
    "name": "v1",
    "served": True,
    "storage": True,
    "subresources": {"status": {}},
    "additionalPrinterColumns": [
        {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
        {"name": "Phase", "type": "string", "jsonPath": ".status.phase"},
    ],
    "schema": {"openAPIV3Schema": _record(spec=_SPEC, status=_STATUS)},
}
DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": DEFINITION_NAME},
    "spec": {
        "group": GROUP,
        "scope": "Namespaced",
        "names": {"plural": PLURAL, "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
        "versions": [_VERSION],
    },
}


def widget(index: int) -> dict[str, Any]:
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "Widget",
        "metadata": {
            "name": name(index),
            "namespace": NAMESPACE,
            "labels": {"app": "bench", "shard": str(index % 10)},
            "annotations": {"bench.example.com/note": "created by a benchmark"},
        },
        "spec": {
            "size": index,
            "color": _COLORS[index % 3],
            "payload": _FILLER,
            "parts": [{"name": f"part-{number}", "count": number} for number in range(4)],
        },
    }


def name(index: int) -> str:
    return f"w-{index:06d}"


def path(index: int, rest: str = "") -> str:
    return f"{COLLECTION}/{name(index)}{rest}"


class Requests:
    """The requests of each phase for one server, as bytes. `salt` makes writes of one round differ from another's."""

    def __init__(self, target: Target) -> None:
        self._target = target

    def _send(self, method: str, path: str, value: object = None, type: str = JSON) -> bytes:  # noqa: A002
        body = b"" if value is None else msgspec.json.encode(value)
        return self._target.request(method, path, body, type=type)

    def create(self, index: int) -> bytes:
        return self._send("POST", COLLECTION, widget(index))

    def get(self, index: int) -> bytes:
        return self._send("GET", path(index))

    def delete(self, index: int) -> bytes:
        return self._send("DELETE", path(index))

    def put(self, obj: dict[str, Any]) -> bytes:
        return self._send("PUT", f"{COLLECTION}/{obj['metadata']['name']}", obj)

    def put_status(self, obj: dict[str, Any], salt: int) -> bytes:
        condition = {"type": "Ready", "status": "True", "reason": f"Bench{salt}"}
        generation = obj["metadata"].get("generation", 1)
        status = {"phase": "Ready", "observedGeneration": generation, "conditions": [condition]}
        return self._send("PUT", f"{COLLECTION}/{obj['metadata']['name']}/status", {**obj, "status": status})

    def observe(self, index: int, generation: int) -> bytes:
        """A status write that is no stamp."""
        return self._send("PATCH", path(index, "/status"), {"status": {"observedGeneration": generation}}, MERGE)

    def merge_patch(self, index: int, salt: int) -> bytes:
        change = {"spec": {"size": index + salt}, "metadata": {"labels": {"patched": "yes"}}}
        return self._send("PATCH", path(index), change, MERGE)

    def no_op_patch(self, index: int) -> bytes:
        return self._send("PATCH", path(index), {"metadata": {"labels": {"app": "bench"}}}, MERGE)

    def mark(self, index: int, text: str) -> bytes:
        """A write that watchers recognise."""
        return self._send("PATCH", path(index), {"spec": {"benchSeq": text}}, MERGE)

    def apply(self, index: int, salt: int) -> bytes:
        wanted = {
            "apiVersion": f"{GROUP}/v1",
            "kind": "Widget",
            "metadata": {"name": name(index)},
            "spec": {"size": index + salt, "color": "blue"},
        }
        return self._send("PATCH", path(index, "?fieldManager=bench-apply&force=true"), wanted, APPLY)
