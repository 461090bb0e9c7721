"""A verb on a kind as an HTTP request. Pure.

Requests for one object require its name, and its namespace if the kind is namespaced. Without them, a request would
address the whole collection, and a `DELETE` with a missing name must not delete all objects.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from homeostat.client.base import APPLY_PATCH, JSON_PATCH, MERGE_PATCH
from homeostat.objects.errors import BadRequestError
from homeostat.objects.json import Json, JsonObject
from homeostat.objects.kind import Kind

Query = dict[str, object]
Propagation = Literal["", "Background", "Foreground", "Orphan"]
Form = Literal["merge", "json", "apply"]
_FORMS = {"merge": MERGE_PATCH, "json": JSON_PATCH, "apply": APPLY_PATCH}


class Request(NamedTuple):
    method: str
    path: str
    query: Query
    body: Json = None
    content_type: str = ""


class Selection(NamedTuple):
    """Namespace and selectors of a list. An empty namespace means all namespaces."""

    namespace: str = ""
    labels: str = ""
    fields: str = ""

    def query(self) -> Query:
        return {"labelSelector": self.labels, "fieldSelector": self.fields}


class Writing(NamedTuple):
    """Options of a write. `validation` is Ignore, Warn or Strict."""

    manager: str = ""
    is_forced: bool = False
    is_dry_run: bool = False
    validation: str = ""

    def query(self) -> Query:
        return {
            "fieldManager": self.manager,
            "force": "true" if self.is_forced else "",
            "dryRun": "All" if self.is_dry_run else "",
            "fieldValidation": self.validation,
        }


EVERYTHING = Selection()
PLAIN = Writing()


class Requests:
    """The requests of one kind."""

    def __init__(self, kind: Kind) -> None:
        self._kind = kind

    def get(self, name: str, namespace: str = "", *, subresource: str = "") -> Request:
        return Request("GET", self._one(name, namespace, subresource), {})

    def list(
        self, selection: Selection = EVERYTHING, *, limit: int = 500, token: str = "", version: str = ""
    ) -> Request:
        """One page. The resource version is the minimum for the answer and is sent with the first page only."""
        query = {**selection.query(), "limit": limit, "continue": token, "resourceVersion": "" if token else version}
        return Request("GET", self._kind.path(selection.namespace), query)

    def watch(
        self, selection: Selection = EVERYTHING, *, version: str = "", has_initial: bool = False, timeout_s: int = 0
    ) -> Request:
        """A watch with bookmarks. `has_initial` requests the current state as initial ADDED events."""
        query: Query = {"allowWatchBookmarks": "true", "resourceVersion": version, **selection.query()}
        if has_initial:
            query |= {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
        if timeout_s:
            query["timeoutSeconds"] = timeout_s
        return Request("GET", self._kind.path(selection.namespace), query)

    def create(self, obj: JsonObject, namespace: str = "", *, writing: Writing = PLAIN) -> Request:
        self._check_namespace(namespace)
        full = {"apiVersion": self._kind.api_version, "kind": self._kind.kind, **obj}
        return Request("POST", self._kind.path(namespace), writing.query(), full, "application/json")

    def update(
        self, obj: JsonObject, name: str, namespace: str = "", *, subresource: str = "", writing: Writing = PLAIN
    ) -> Request:
        full = {"apiVersion": self._kind.api_version, "kind": self._kind.kind, **obj}
        return Request("PUT", self._one(name, namespace, subresource), writing.query(), full, "application/json")

    def patch(
        self,
        patch: Json,
        name: str,
        namespace: str = "",
        *,
        form: Form = "merge",
        subresource: str = "",
        writing: Writing = PLAIN,
    ) -> Request:
        if form == "apply":
            if not writing.manager:
                raise BadRequestError("apply requires a field manager; set writing.manager")
            # An apply may create the object, so it must contain the name.
            metadata = {"name": name, **(patch.get("metadata") or {})}
            patch = {"apiVersion": self._kind.api_version, "kind": self._kind.kind, **patch, "metadata": metadata}
        return Request("PATCH", self._one(name, namespace, subresource), writing.query(), patch, _FORMS[form])

    def delete(
        self,
        name: str,
        namespace: str = "",
        *,
        uid: str = "",
        version: str = "",
        propagation: Propagation = "",
        grace_s: int | None = None,
        is_dry_run: bool = False,
    ) -> Request:
        """`uid` and `version` are preconditions: `ConflictError` if the object has others."""
        options = _delete_options(propagation, grace_s, is_dry_run=is_dry_run)
        if conditions := {key: value for key, value in (("uid", uid), ("resourceVersion", version)) if value}:
            options["preconditions"] = conditions
        return Request("DELETE", self._one(name, namespace), {}, options, "application/json")

    def delete_all(self, selection: Selection, *, propagation: Propagation = "") -> Request:
        """All objects of the selection; a namespaced kind requires a namespace."""
        self._check_namespace(selection.namespace)
        options = _delete_options(propagation, None, is_dry_run=False)
        path = self._kind.path(selection.namespace)
        return Request("DELETE", path, selection.query(), options, "application/json")

    def _one(self, name: str, namespace: str, subresource: str = "") -> str:
        if not name:
            raise BadRequestError(f"the name of the {self._kind.title} is missing")
        self._check_namespace(namespace)
        return self._kind.path(namespace, name, subresource)

    def _check_namespace(self, namespace: str) -> None:
        if self._kind.is_namespaced and not namespace:
            raise BadRequestError(f"the namespace of the {self._kind.title} is missing")


def _delete_options(propagation: Propagation, grace_s: int | None, *, is_dry_run: bool) -> JsonObject:
    options: JsonObject = {"kind": "DeleteOptions", "apiVersion": "v1"}
    if propagation:
        options["propagationPolicy"] = propagation
    if grace_s is not None:
        options["gracePeriodSeconds"] = grace_s
    if is_dry_run:
        options["dryRun"] = ["All"]
    return options
