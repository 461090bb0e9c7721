"""Sends one conversation to a server and makes two servers' answers comparable."""

from __future__ import annotations

import http.client
import re
import ssl
import struct
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import msgspec

from homeostat.objects import yaml
from homeostat.objects.wire import encode, protobuf
from homeostat.objects.wire.leaves import members
from tests.differential.step import Step

_VOLATILE = frozenset(
    {
        "uid",
        "resourceVersion",
        "creationTimestamp",
        "time",
        "deletionTimestamp",
        "lastTransitionTime",
        "lastUpdateTime",
        "lastPhaseTransitionTime",
    }
)
_AGE = re.compile(r"\d+s|\d+m\d*s?")
_MOMENT = re.compile(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_ALLOCATED = re.compile(r"10\.0\.0\.(1[7-9]|[2-9]\d|\d{3})")
"""Of the part of the range from which a server takes addresses by itself."""
_FIRST_ALLOCATED_PORT = 30086
_GENERATED = re.compile(r"\b(g|kube-api-access)-[a-z0-9]{5}\b")


class Answer(NamedTuple):
    status: int
    body: Any
    warnings: tuple[str, ...]
    raw: bytes
    type: str


class Conversation:
    def __init__(self, url: str, token: str) -> None:
        parts = urlsplit(url)
        context = ssl._create_unverified_context()
        self._connection = http.client.HTTPSConnection(parts.hostname or "", parts.port, context=context, timeout=30)
        self._token = token

    def revision(self, collection: str) -> str:
        """The newest revision that a list of the collection shows."""
        self._connection.request("GET", f"{collection}?limit=1", headers=self._headers())
        return str(msgspec.json.decode(self._connection.getresponse().read())["metadata"]["resourceVersion"])

    def events(self, collection: str, since: str, deletions: int) -> list[Any]:
        """The events of a watch from a revision on, until so many objects were deleted."""
        host, port = self._connection.host, self._connection.port
        stream = http.client.HTTPSConnection(host, port, context=ssl._create_unverified_context(), timeout=10)
        try:
            query = f"watch=true&resourceVersion={since}&timeoutSeconds=20"
            stream.request("GET", f"{collection}{'&' if '?' in collection else '?'}{query}", headers=self._headers())
            response = stream.getresponse()
            found: list[Any] = []
            while sum(each["type"] == "DELETED" for each in found) < deletions:
                found.append(comparable(msgspec.json.decode(response.readline())))
            return found
        finally:
            stream.close()

    def frames(self, path: str, accept: str, count: int) -> tuple[str, list[tuple[str, Any]]]:
        """The Content-Type of a watch in protobuf, and its first events."""
        host, port = self._connection.host, self._connection.port
        stream = http.client.HTTPSConnection(host, port, context=ssl._create_unverified_context(), timeout=10)
        try:
            stream.request("GET", path, headers={**self._headers(), "Accept": accept})
            response = stream.getresponse()
            found = []
            for _ in range(count):
                (size,) = struct.unpack(">I", response.read(4))
                found.append(_event_in(response.read(size)))
            return response.headers["Content-Type"], found
        finally:
            stream.close()

    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._token}", "User-Agent": "differ/1", "Accept": "application/json"}

    def close(self) -> None:
        self._connection.close()

    def uids(self, collection: str) -> dict[str, str]:
        """The names of the objects, by uid."""
        self._connection.request("GET", collection, headers=self._headers())
        items = msgspec.json.decode(self._connection.getresponse().read())["items"]
        return {each["metadata"]["uid"]: each["metadata"]["name"] for each in items}

    def flow(self, step: Step) -> tuple[str, str]:
        """The uids of the FlowSchema and the priority level that decided on the step."""
        headers, _ = self._ask(step)
        return headers["X-Kubernetes-PF-FlowSchema-UID"], headers["X-Kubernetes-PF-PriorityLevel-UID"]

    def say(self, step: Step) -> Answer:
        headers, (status, raw) = self._ask(step)
        warnings = tuple(headers.get_all("Warning") or ())
        media = headers.get("Content-Type", "")
        return Answer(status, comparable(_decoded(raw, media)), warnings, raw, media)

    def _ask(self, step: Step) -> tuple[http.client.HTTPMessage, tuple[int, bytes]]:
        headers = http.client.HTTPMessage()  # which may have a name twice
        for name, value in {**self._headers(), "Accept": step.accept or "application/json"}.items():
            headers[name] = value
        if step.user:
            headers["Impersonate-User"] = step.user
        for group in step.groups:
            headers["Impersonate-Group"] = group
        body = step.body if isinstance(step.body, bytes) else None
        if body is None and step.body is not None:
            body = msgspec.json.encode(step.body)
        if body is not None:
            headers["Content-Type"] = step.type or "application/json"
        self._connection.request(step.method, step.path, body, headers)  # type: ignore[arg-type]
        response = self._connection.getresponse()
        return response.headers, (response.status, response.read())


def _decoded(raw: bytes, media: str) -> Any:
    if raw.startswith(protobuf.MAGIC):
        return protobuf.decode(raw)
    if media.startswith("application/yaml"):
        (document,) = yaml.load_all(raw)
        return document
    try:
        return msgspec.json.decode(raw)
    except msgspec.DecodeError:
        return raw.decode(errors="replace")


def _event_in(message: bytes) -> tuple[str, Any]:
    event = members(message, 0, len(message))
    document = members(event[2], 0, len(event[2]))[1]
    assert encode.encode(protobuf.decode(document)) == document
    return event[1].decode(), comparable(protobuf.decode(document))


def comparable(value: Any) -> Any:
    """The value without what no two servers have in common: identities, revisions, times."""
    match value:
        case {"disruptedPods": dict() as evicted} if all(isinstance(each, str) for each in evicted.values()):
            return comparable({**value, "disruptedPods": sorted(evicted)})
        case {"nodePort": int() as port} if port >= _FIRST_ALLOCATED_PORT:
            return comparable({**value, "nodePort": "allocated"})
        case {"healthCheckNodePort": int() as port} if port >= _FIRST_ALLOCATED_PORT:
            return comparable({**value, "healthCheckNodePort": "allocated"})
        case {"cells": list() as cells}:
            # The column `Created At` of two objects that were created one after the other.
            shown = ["a moment" if isinstance(each, str) and _MOMENT.fullmatch(each) else each for each in cells]
            return {**comparable({k: v for k, v in value.items() if k != "cells"}), "cells": comparable(shown)}
        case dict():
            return {name: comparable(member) for name, member in value.items() if name not in _VOLATILE}
        case list():
            return [comparable(item) for item in value]
        case str() if _AGE.fullmatch(value):
            return "an age"
        case str() if _ALLOCATED.fullmatch(value):
            return "an allocated address"
        case str():
            return _GENERATED.sub(r"\1-xxxxx", value)
    return value


def differences(ours: Any, theirs: Any, path: str = "") -> list[str]:
    if isinstance(ours, dict) and isinstance(theirs, dict):
        found = []
        for name in sorted({*ours, *theirs}):
            if name not in ours:
                found.append(f"{path}.{name}: missing, expected {_short(theirs[name])}")
            elif name not in theirs:
                found.append(f"{path}.{name}: unexpected {_short(ours[name])}")
            else:
                found += differences(ours[name], theirs[name], f"{path}.{name}")
        return found
    if isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        return [
            each
            for at, pair in enumerate(zip(ours, theirs, strict=True))
            for each in differences(*pair, f"{path}[{at}]")
        ]
    return [] if ours == theirs else [f"{path}: {_short(ours)}, expected {_short(theirs)}"]


def _short(value: Any) -> str:
    return msgspec.json.encode(value).decode()[:300]
