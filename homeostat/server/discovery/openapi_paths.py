"""The `paths` of an OpenAPI document: the operations of each kind with their parameters.

kubectl reads them before it sends anything: a PATCH must carry the kind and list `fieldValidation` and `dryRun` in
place (it does not follow references to parameters), and strategic merge must be offered for built-in kinds only.
"""

from __future__ import annotations

from collections.abc import Iterable

from homeostat.objects.json import JsonObject
from homeostat.server.discovery.groups import Subresource, subresources
from homeostat.server.discovery.openapi_schemas import (
    DELETE_OPTIONS,
    GVK,
    PATCH,
    RESOURCE_LIST,
    STATUS,
    reference,
    schema_name,
)
from homeostat.server.kinds.registry import Kind

_TEXTS = {
    "allowWatchBookmarks": "Whether the watch may send events that only carry a resourceVersion.",
    "continue": "The token of the page before, for the next page.",
    "dryRun": "All: check and admit the request, and store nothing.",
    "fieldManager": "Who makes the change, in managedFields.",
    "fieldSelector": "Fields by which to restrict the list of returned objects.",
    "fieldValidation": "What unknown and repeated fields do: Ignore, Warn or Strict.",
    "force": "Take over fields that others manage. For apply patches only.",
    "gracePeriodSeconds": "How long the object may take to end.",
    "labelSelector": "Labels by which to restrict the list of returned objects.",
    "limit": "The most objects on a page.",
    "orphanDependents": "Use propagationPolicy instead.",
    "pretty": "Whether the answer is indented.",
    "propagationPolicy": "What becomes of dependents: Orphan, Background or Foreground.",
    "resourceVersion": "The version to read at, or to watch from.",
    "resourceVersionMatch": "How resourceVersion is meant: Exact or NotOlderThan.",
    "sendInitialEvents": "Whether a watch begins with events for what exists.",
    "timeoutSeconds": "How long the request may take, however active it is.",
    "watch": "Watch for changes to the described resources instead of listing them.",
}
"""Some begin or end with words of Kubernetes' own documents, by which scripts and tests recognize them."""


def _query(type_: str, *names: str) -> list[JsonObject]:
    schema = {"type": type_, "uniqueItems": True}
    return [{"name": name, "in": "query", "description": _TEXTS[name], "schema": schema} for name in names]


def _in_path(name: str) -> JsonObject:
    return {"name": name, "in": "path", "required": True, "schema": {"type": "string", "uniqueItems": True}}


_NAMESPACE, _NAME = _in_path("namespace"), _in_path("name")
_PRETTY = _query("string", "pretty")
_WRITE = _query("string", "dryRun", "fieldManager", "fieldValidation")
_PATCH = [*_WRITE, *_query("boolean", "force")]
_SELECT = [
    *_query("string", "continue", "fieldSelector", "labelSelector"),
    *_query("integer", "limit"),
    *_query("string", "resourceVersion", "resourceVersionMatch"),
    *_query("boolean", "sendInitialEvents"),
    *_query("integer", "timeoutSeconds"),
]
_LIST = [*_SELECT, *_query("boolean", "allowWatchBookmarks", "watch")]
_DELETE = [
    *_query("string", "dryRun"),
    *_query("integer", "gracePeriodSeconds"),
    *_query("boolean", "orphanDependents"),
    *_query("string", "propagationPolicy"),
]
_DELETE_ALL = [*_DELETE, *_SELECT]
_PATCH_TYPES = ("application/apply-patch+yaml", "application/json-patch+json", "application/merge-patch+json")
_STRATEGIC = "application/strategic-merge-patch+json"
_OBJECT_TYPES = ("application/json", "application/yaml")
_WATCH_TYPES = (*_OBJECT_TYPES, "application/json;stream=watch")


def paths_of(group: str, version: str, kinds: Iterable[Kind]) -> JsonObject:
    root = f"/apis/{group}/{version}" if group else f"/api/{version}"
    tag = f"{group.removesuffix('.k8s.io').replace('.', '_') or 'core'}_{version}"
    listed = {"200": _answer("OK", RESOURCE_LIST)}
    described: JsonObject = {"tags": [tag], "operationId": f"get_{tag}_resources", "responses": listed}
    paths: JsonObject = {f"{root}/": {"get": described}}
    for kind in kinds:
        paths |= _KindPaths(kind, root, tag).paths()
    return {path: paths[path] for path in sorted(paths)}


def _content(types: Iterable[str], schema: str) -> JsonObject:
    return {each: {"schema": reference(schema)} for each in types}


def _answer(description: str, schema: str, types: Iterable[str] = _OBJECT_TYPES) -> JsonObject:
    return {"description": description, "content": _content(types, schema)}


class _KindPaths:
    def __init__(self, kind: Kind, root: str, tag: str) -> None:
        self.kind, self.tag = kind, tag
        self.schema = schema_name(kind.group, kind.version, kind.kind)
        self.list_schema = schema_name(kind.group, kind.version, kind.list_kind or f"{kind.kind}List")
        scope = "namespaces/{namespace}/" if kind.namespaced else ""
        self.everywhere = f"{root}/{kind.plural}"
        self.collection = f"{root}/{scope}{kind.plural}"
        self.parameters = [_NAMESPACE, *_PRETTY] if kind.namespaced else _PRETTY

    def paths(self) -> JsonObject:
        kind, verbs = self.kind, self.kind.verbs
        collection: JsonObject = {}
        if "list" in verbs:
            collection["get"] = self._list("list")
        if "create" in verbs:
            collection["post"] = self._write("create", self.schema, "post", self._gvk(kind))
        if "deletecollection" in verbs:
            collection["delete"] = self._delete("deletecollection", _DELETE_ALL)
        found = {self.collection: {**collection, "parameters": self.parameters}}
        if kind.namespaced and "list" in verbs:
            found[self.everywhere] = {"get": self._list("listEverywhere"), "parameters": _PRETTY}
        item = self._item("", self.schema, verbs, self._gvk(kind))
        if "delete" in verbs:
            item["delete"] = self._delete("delete", _DELETE)
        if item:
            found[f"{self.collection}/{{name}}"] = {**item, "parameters": [_NAME, *self.parameters]}
        for each in subresources(kind):
            methods = self._item(
                each.name, schema_name(each.group, each.version, each.kind), each.verbs, self._gvk(each)
            )
            found[f"{self.collection}/{{name}}/{each.name}"] = {**methods, "parameters": [_NAME, *self.parameters]}
        return found

    def _item(self, suffix: str, schema: str, verbs: Iterable[str], gvk: JsonObject) -> JsonObject:
        methods: JsonObject = {}
        if "get" in verbs:
            methods["get"] = self._operation(f"read{suffix}", "get", gvk, {"200": _answer("OK", schema)})
        if "update" in verbs:
            methods["put"] = self._write(f"replace{suffix}", schema, "put", gvk)
        if suffix and "create" in verbs:
            methods["post"] = self._write(f"create{suffix}", schema, "post", gvk)
        if "patch" in verbs:
            methods["patch"] = self._patch(f"patch{suffix}", schema, gvk)
        return methods

    def _operation(self, name: str, action: str, gvk: JsonObject, responses: JsonObject) -> JsonObject:
        return {
            "tags": [self.tag],
            "operationId": f"{name}_{self.tag}_{self.kind.plural}",
            "responses": responses,
            "x-kubernetes-action": action,
            GVK: gvk,
        }

    def _list(self, name: str) -> JsonObject:
        answers = {"200": _answer("OK", self.list_schema, _WATCH_TYPES)}
        return {**self._operation(name, "list", self._gvk(self.kind), answers), "parameters": _LIST}

    def _write(self, name: str, schema: str, action: str, gvk: JsonObject) -> JsonObject:
        answers = {"200": _answer("OK", schema), "201": _answer("Created", schema)}
        body = {"required": True, "content": _content(_OBJECT_TYPES, schema)}
        return {**self._operation(name, action, gvk, answers), "parameters": _WRITE, "requestBody": body}

    def _patch(self, name: str, schema: str, gvk: JsonObject) -> JsonObject:
        answers = {"200": _answer("OK", schema), "201": _answer("Created", schema)}
        types = _PATCH_TYPES if self.kind.custom else (*_PATCH_TYPES, _STRATEGIC)
        body = {"required": True, "content": _content(types, PATCH)}
        return {**self._operation(name, "patch", gvk, answers), "parameters": _PATCH, "requestBody": body}

    def _delete(self, name: str, parameters: list[JsonObject]) -> JsonObject:
        answers = {"200": _answer("OK", STATUS), "202": _answer("Accepted", STATUS)}
        body = {"content": _content(_OBJECT_TYPES, DELETE_OPTIONS)}
        operation = self._operation(name, name, self._gvk(self.kind), answers)
        return {**operation, "parameters": parameters, "requestBody": body}

    @staticmethod
    def _gvk(each: Kind | Subresource) -> JsonObject:
        return {"group": each.group, "version": each.version, "kind": each.kind}
