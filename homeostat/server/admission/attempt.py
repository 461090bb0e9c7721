"""One write as webhooks and policies see it: the `AdmissionRequest` of Kubernetes, built as far as it is needed.

The object has the version of the URL. A write of `scale` shows the Scale and not the scaled object. `object_as` and
`old_as` are the objects at another version of their kind, for which `convert` has to be awaited first; `with_object`
converts one back.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy

from homeostat.objects.errors import NotFoundError
from homeostat.objects.json import JsonObject, decode_stored
from homeostat.server.access.user import user_info
from homeostat.server.kinds.registry import Kind
from homeostat.server.request.body import parse_body
from homeostat.server.request.call import Call
from homeostat.server.verbs.scale import scale_of
from homeostat.server.view.answer import MOST_WARNINGS
from homeostat.server.view.encode import note_of
from homeostat.store.base import Key, Record

_OPTIONS = {"CREATE": "CreateOptions", "UPDATE": "UpdateOptions", "DELETE": "DeleteOptions"}
_WARNINGS_ROOM, _SHORT_WARNING = 4096, 256
"""In characters, as in Kubernetes."""
_OWN_KINDS: dict[str, JsonObject] = {
    "scale": {"group": "autoscaling", "version": "v1", "kind": "Scale"},
    "eviction": {"group": "policy", "version": "v1", "kind": "Eviction"},
    "binding": {"group": "", "version": "v1", "kind": "Binding"},
    "token": {"group": "authentication.k8s.io", "version": "v1", "kind": "TokenRequest"},
}
"""The kinds of the objects of some subresources."""


class Attempt:
    __slots__ = ("_request", "_views", "call", "is_namespace", "name", "namespace", "obj", "old", "operation")

    def __init__(self, call: Call, obj: JsonObject | None, old: JsonObject | None, operation: str) -> None:
        is_scale = call.subresource == "scale"
        self.call = call
        self.operation = operation
        self.obj = scale_of(call.kind, obj) if is_scale and obj is not None else obj
        self.old = scale_of(call.kind, old) if is_scale and old is not None else old
        self.name: str = call.path.name or (obj or old or {})["metadata"].get("name", "")
        self.is_namespace = call.kind.plural == "namespaces" and not call.kind.group
        self.namespace = self.name if self.is_namespace else call.path.namespace
        self._request: tuple[Kind, JsonObject] | None = None
        self._views: dict[tuple[int, str], tuple[JsonObject, JsonObject]] = {}
        """What a webhook has converted: the object and its view, by the object's id and the version."""

    @property
    def is_in_namespace(self) -> bool:
        return bool(self.namespace)

    @property
    def is_dry_run(self) -> bool:
        return self.call.options.dry_run

    def warn(self, text: str) -> None:
        """Add a warning for the client: each once, and no more than headers have room for."""
        warnings = self.call.warnings
        if len(warnings) > MOST_WARNINGS:
            return  # One more shows that there are more.
        room = _WARNINGS_ROOM - sum(map(len, warnings))
        if text in warnings or room <= 0:
            return
        warnings.append(text if len(text) <= room else text[:_SHORT_WARNING])

    def labels(self) -> list[Mapping[str, str]]:
        return [each["metadata"].get("labels") or {} for each in (self.obj, self.old) if each is not None]

    def namespace_labels(self) -> Mapping[str, str]:
        """The labels of the object's namespace; of a Namespace that is being written, its new labels."""
        if self.is_namespace and not self.call.subresource and self.obj is not None:
            return self.obj["metadata"].get("labels") or {}
        return note_of(self._namespace_record()).labels

    def namespace_object(self) -> JsonObject | None:
        """The object's namespace; None for cluster-scoped objects, which Namespaces are."""
        if self.is_namespace or not self.namespace:
            return None
        return decode_stored(self._namespace_record().value)

    def _namespace_record(self) -> Record:
        record = self.call.store.get(Key("namespaces", "", self.namespace))
        if record is None:
            raise NotFoundError(f'namespaces "{self.namespace}" not found', kind="namespaces", name=self.namespace)
        return record

    async def convert(self, kind: Kind) -> None:
        """Have a webhook convert the objects to the version of `kind`, if one has to."""
        own = self.call.kind
        if own.conversion is None or kind is own or self.call.subresource in _OWN_KINDS:
            return
        objects = [each for each in (self.obj, self.old) if each is not None]
        missing = [each for each in objects if (id(each), kind.api_version) not in self._views]
        views = await self.call.backend.conversions.objects(own, missing, kind.api_version)
        for obj, view in zip(missing, views, strict=True):
            self._views[id(obj), kind.api_version] = (obj, view)

    def object_as(self, kind: Kind) -> JsonObject | None:
        return self._converted(self.obj, self.call.kind, kind)

    def old_as(self, kind: Kind) -> JsonObject | None:
        return self._converted(self.old, self.call.kind, kind)

    async def with_object(self, obj: JsonObject, kind: Kind) -> Attempt:
        """The same attempt with another object, which has the version of `kind`."""
        changed = copy(self)
        own = self.call.kind
        if own.conversion is None or self.call.subresource in _OWN_KINDS:
            changed.obj = self._converted(obj, kind, own)
        else:
            (changed.obj,) = await self.call.backend.conversions.objects(own, [obj], own.api_version)
        return changed

    def _converted(self, obj: JsonObject | None, source: Kind, target: Kind) -> JsonObject | None:
        if obj is None or source is target or self.call.subresource in _OWN_KINDS:
            return obj
        if source.conversion is not None:
            return self._views[id(obj), target.api_version][1]
        stored = source.to_storage(obj) if source.to_storage is not None else obj
        seen = target.from_storage(stored) if target.from_storage is not None else stored
        return {**seen, "apiVersion": target.api_version, "kind": target.kind}

    def request(self, kind: Kind) -> JsonObject:
        """The request at the version of `kind`, without the objects and without a `uid`."""
        if self._request is None or self._request[0] is not kind:
            self._request = (kind, self._make_request(kind))
        return self._request[1]

    def _make_request(self, kind: Kind) -> JsonObject:
        asked, subresource = self.call.kind, self.call.subresource
        request: JsonObject = {"kind": self._kind_name(kind), "resource": _resource_name(kind)}
        if subresource:
            request["subResource"] = subresource
        request["requestKind"] = self._kind_name(asked)
        request["requestResource"] = _resource_name(asked)
        if subresource:
            request["requestSubResource"] = subresource
        asked_for = "" if self.call.is_of_collection else self.name
        for name, value in (("name", asked_for), ("namespace", self.namespace)):
            if value:
                request[name] = value
        request["operation"] = self.operation
        request["userInfo"] = user_info(self.call.user)
        request["dryRun"] = self.is_dry_run
        request["options"] = self._options()
        return request

    def _kind_name(self, kind: Kind) -> JsonObject:
        if self.call.subresource in _OWN_KINDS:
            return _OWN_KINDS[self.call.subresource]
        return {"group": kind.group, "version": kind.version, "kind": kind.kind}

    def _options(self) -> JsonObject:
        asked = self.call.options
        options: JsonObject = {"kind": _OPTIONS[self.operation], "apiVersion": "meta.k8s.io/v1"}
        if self.operation == "DELETE":
            sent = parse_body(self.call) if self.call.body else None
            options = {**sent, **options} if isinstance(sent, dict) else options
            for name, value in (
                ("gracePeriodSeconds", asked.grace_period_s),
                ("orphanDependents", asked.orphan_dependents),
                ("propagationPolicy", asked.propagation_policy or None),
            ):
                if value is not None:
                    options.setdefault(name, value)
        else:
            if asked.field_manager:
                options["fieldManager"] = asked.field_manager
            if asked.field_validation:
                options["fieldValidation"] = asked.field_validation
        if asked.dry_run:
            options["dryRun"] = ["All"]
        return options


def _resource_name(kind: Kind) -> JsonObject:
    return {"group": kind.group, "version": kind.version, "resource": kind.plural}
