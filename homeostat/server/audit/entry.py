"""One request in the audit log: an `Event` of audit.k8s.io/v1, as one line of JSON.

The event loop only collects what it has at hand. `line` does the rest in the thread that writes the log.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

import msgspec

from homeostat.edge.items import Items, whole_of
from homeostat.objects import yaml
from homeostat.objects.errors import ApiError
from homeostat.objects.json import Json, JsonObject, decode, encode
from homeostat.objects.wire.protobuf import MAGIC
from homeostat.server.access.attributes import Attributes
from homeostat.server.access.user import User, user_info
from homeostat.server.audit.policy import Decision, Stage
from homeostat.server.request.negotiate import body_type

MAX_OBJECTS_BYTES = 100 * 1024
"""Larger objects are left out, as in Kubernetes."""
MAX_USER_AGENT = 1024
"""Anybody can send one of 64 KiB, and each request is a line here."""
_TRUNCATED = {"audit.k8s.io/truncated": "true"}


class _Name(msgspec.Struct, frozen=True):
    name: str = ""


class _Named(msgspec.Struct, frozen=True):
    metadata: _Name = _Name()


_named = msgspec.json.Decoder(_Named)


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    decision: Decision
    stage: Stage
    uri: str
    attributes: Attributes
    """Of the request, with the user that it acts as."""
    caller: User
    """The authenticated user; another one than that of the attributes if it impersonates that."""
    address: str
    user_agent: str
    code: int
    received: float
    finished: float
    content_type: str = ""
    request: bytes = b""
    response: bytes | Items = b""
    annotations: Mapping[str, str] = {}

    def line(self) -> bytes:
        event: JsonObject = {
            "kind": "Event",
            "apiVersion": "audit.k8s.io/v1",
            "level": self.decision.level,
            "auditID": self.id,
            "stage": self.stage,
            "requestURI": self.uri,
            "verb": self.attributes.verb,
            "user": user_info(self.caller),
        }
        if self.attributes.user is not self.caller:
            event["impersonatedUser"] = user_info(self.attributes.user)
        event |= {"sourceIPs": [self.address] if self.address else [], "userAgent": _shortened(self.user_agent)}
        if self.attributes.resource:
            event["objectRef"] = self._object_reference()
        event["responseStatus"] = self._status()
        objects, is_truncated = self._objects()
        event |= objects
        event["requestReceivedTimestamp"] = _micro_time(self.received)
        event["stageTimestamp"] = _micro_time(self.finished)
        if is_truncated or self.annotations:
            event["annotations"] = {**self.annotations, **(_TRUNCATED if is_truncated else {})}
        return encode(event) + b"\n"

    def _object_reference(self) -> JsonObject:
        wanted = self.attributes
        reference = {
            "resource": wanted.resource,
            "namespace": wanted.namespace,
            "name": wanted.name or self._created_name(),
            "apiGroup": wanted.group,
            "apiVersion": wanted.version,
            "subresource": wanted.subresource,
        }
        return {name: value for name, value in reference.items() if value}

    def _created_name(self) -> str:
        if self.attributes.verb != "create" or self.code != 201:
            return ""
        body = whole_of(self.response)
        try:
            if body.startswith(MAGIC):
                return msgspec.convert(_decoded(body), _Named).metadata.name
            return _named.decode(body).metadata.name
        except msgspec.MsgspecError:
            return ""

    def _status(self) -> JsonObject:
        status: JsonObject = {"metadata": {}, "code": self.code}
        if self.code >= 400 and self.response:
            answered = _decoded(whole_of(self.response))
            if isinstance(answered, dict) and answered.get("kind") == "Status":
                names = ("status", "reason") if self.decision.hides_messages else ("status", "reason", "message")
                status |= {name: answered[name] for name in names if name in answered}
        return status

    def _objects(self) -> tuple[JsonObject, bool]:
        """Request and response as far as the level includes them; whether they are too large."""
        objects: JsonObject = {}
        level = self.decision.level
        if level in {"Request", "RequestResponse"} and self.request:
            objects["requestObject"] = self.request
        if level == "RequestResponse" and self.response:
            objects["responseObject"] = whole_of(self.response)
        if sum(map(len, objects.values())) > MAX_OBJECTS_BYTES:
            return {}, True
        if "requestObject" in objects:
            objects["requestObject"] = _request_object(self.request, self.content_type)
        if "responseObject" in objects:
            objects["responseObject"] = _decoded(objects["responseObject"])
        if self.decision.omit_managed_fields:
            for each in objects.values():
                _drop_managed_fields(each)
        return {name: value for name, value in objects.items() if value is not None}, False


def _decoded(body: bytes) -> Json:
    try:
        if body.startswith(MAGIC):
            from homeostat.objects.wire import protobuf

            return protobuf.decode(body)
        return decode(body)
    except ApiError:
        return None


def _request_object(body: bytes, content_type: str) -> Json:
    """None for a body that cannot be read, which the request was refused for."""
    try:
        kind = "yaml" if "yaml" in content_type else "json" if "json" in content_type else body_type(content_type)
        if kind == "protobuf":
            from homeostat.objects.wire import protobuf

            return protobuf.decode(body)
        return yaml.load(body) if kind == "yaml" else decode(body)
    except (ApiError, msgspec.MsgspecError):
        return None


def _drop_managed_fields(value: Json) -> None:
    if not isinstance(value, dict):
        return
    for each in (value, *(value.get("items") or ())):
        if isinstance(each, dict) and isinstance(each.get("metadata"), dict):
            each["metadata"].pop("managedFields", None)


def _shortened(user_agent: str) -> str:
    return user_agent if len(user_agent) <= MAX_USER_AGENT else f"{user_agent[:MAX_USER_AGENT]}...TRUNCATED"


def _micro_time(epoch_s: float) -> str:
    return datetime.fromtimestamp(epoch_s, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
