"""The default FlowSchemas and PriorityLevelConfigurations, and the condition `Dangling` of all FlowSchemas.

As in Kubernetes, a default object that is missing is created again. The mandatory ones are restored after every change.
A suggested one is restored while its annotation `apf.kubernetes.io/autoupdate-spec` is true, and set to "false" it
keeps what users write. The shares and the lendable part of the level `exempt` are always for users to set.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from homeostat.client.base import Client
from homeostat.client.pages import Page, pages
from homeostat.objects.errors import AlreadyExistsError, ConflictError, NotFoundError
from homeostat.objects.flow_control import (
    AUTO_UPDATE,
    COLLECTIONS,
    CONSUMER,
    DANGLING,
    FLOW_SCHEMAS,
    GROUP,
    MANDATORY,
    PRIORITY_LEVELS,
    PRODUCER,
    dangling_condition,
    default_objects,
    level_of,
)
from homeostat.objects.json import JsonObject
from homeostat.objects.time.timestamp import format_time
from homeostat.operators.housekeeping.metadata.feed import Feed
from homeostat.operators.housekeeping.metadata.kinds import kind_key
from homeostat.operators.housekeeping.metadata.sweep import Sweep

_TRUE = frozenset({"1", "t", "T", "true", "TRUE", "True"})
_FALSE = frozenset({"0", "f", "F", "false", "FALSE", "False"})


class _Metadata(msgspec.Struct, frozen=True):
    name: str
    uid: str = ""
    annotations: dict[str, str] | None = None


class _Level(msgspec.Struct, frozen=True):
    name: str = ""


class _Spec(msgspec.Struct, frozen=True, rename="camel"):
    priority_level_configuration: _Level | None = None


class _Status(msgspec.Struct, frozen=True):
    conditions: list[dict[str, Any]] | None = None


class _Outline(msgspec.Struct, frozen=True):
    metadata: _Metadata
    spec: _Spec | None = None
    status: _Status | None = None


OUTLINES: Final = msgspec.json.Decoder(Page[_Outline])


class FlowControl:
    def __init__(self, client: Client, feed: Feed) -> None:
        self._client = client
        keys = (kind_key(f"{GROUP}/v1", kind) for kind in COLLECTIONS)
        self._sweep = Sweep(feed, *keys, work=self._ensure, name="flow control")

    async def run(self) -> None:
        await self._sweep.run()

    async def _ensure(self) -> None:
        for kind, collection in COLLECTIONS.items():
            wanted = {each["metadata"]["name"]: each for each in default_objects() if each["kind"] == kind}
            found = {each["metadata"]["name"]: each for each in await self._outlines(collection)}
            for name, default in wanted.items():
                if name not in found:
                    await self._create(collection, default)
                else:
                    await self._restore(f"{collection}/{name}", default)
            for name, obj in found.items():
                if name not in wanted and _says(obj) is True:
                    await self._delete(f"{collection}/{name}", obj)
        await self._set_conditions()

    async def _set_conditions(self) -> None:
        levels = {each["metadata"]["name"] for each in await self._outlines(PRIORITY_LEVELS)}
        for schema in await self._outlines(FLOW_SCHEMAS):
            if (condition := missing_condition(schema, levels)) is not None:
                await self._apply(schema["metadata"]["name"], condition)

    async def _outlines(self, collection: str) -> list[JsonObject]:
        """All objects without their rules, of which a FlowSchema may have megabytes."""
        found = (each async for page in pages(self._client, collection, OUTLINES) for each in page)
        return [msgspec.to_builtins(each) async for each in found]

    async def _restore(self, path: str, default: JsonObject) -> None:
        try:
            found = await self._client.get(path)
        except NotFoundError:
            return  # It was deleted meanwhile; the watch will say so.
        if (revised := restored(found, default)) is not None:
            await self._update(path, revised)

    async def _create(self, collection: str, obj: JsonObject) -> None:
        try:
            await self._client.request("POST", collection, {"fieldManager": PRODUCER}, body=obj)
        except AlreadyExistsError:
            return

    async def _update(self, path: str, obj: JsonObject) -> None:
        try:
            await self._client.request("PUT", path, {"fieldManager": PRODUCER}, body=obj)
        except (NotFoundError, ConflictError):
            return  # It was deleted or changed meanwhile; the watch will say so.

    async def _delete(self, path: str, obj: JsonObject) -> None:
        try:
            await self._client.delete(path, {"preconditions": {"uid": obj["metadata"]["uid"]}})
        except (NotFoundError, ConflictError):
            return

    async def _apply(self, name: str, condition: JsonObject) -> None:
        status = {"conditions": [{**condition, "lastTransitionTime": format_time(datetime.now(UTC))}]}
        obj = {"apiVersion": f"{GROUP}/v1", "kind": "FlowSchema", "metadata": {"name": name}, "status": status}
        try:
            await self._client.apply(f"{FLOW_SCHEMAS}/{name}/status", obj, manager=CONSUMER, force=True)
        except NotFoundError:
            return


def restored(found: JsonObject, default: JsonObject) -> JsonObject | None:
    """A default object as it should be; None if it is. Pure."""
    metadata = found["metadata"]
    if "deletionTimestamp" in metadata:
        return None
    said = _says(found)
    is_updated = metadata["name"] in MANDATORY or (metadata.get("generation") == 1 if said is None else said)
    spec = _with_allowed(default["spec"], found.get("spec") or {}) if is_updated else found.get("spec")
    if said is is_updated and spec == found.get("spec"):
        return None
    annotations = {**(metadata.get("annotations") or {}), AUTO_UPDATE: "true" if is_updated else "false"}
    return {**found, "metadata": {**metadata, "annotations": annotations}, "spec": spec}


def missing_condition(schema: JsonObject, levels: Collection[str]) -> JsonObject | None:
    """The condition that a FlowSchema should have, without its time; None if it has it. Pure."""
    level = level_of(schema)
    wanted = dangling_condition(level, is_found=level in levels)
    conditions = (schema.get("status") or {}).get("conditions") or ()
    found: JsonObject = next((each for each in conditions if each.get("type") == DANGLING), {})
    return None if wanted.items() <= found.items() else wanted


def _says(obj: JsonObject) -> bool | None:
    """What the annotation says; None if it says neither yes nor no."""
    value = (obj["metadata"].get("annotations") or {}).get(AUTO_UPDATE)
    return True if value in _TRUE else False if value in _FALSE else None


def _with_allowed(wanted: JsonObject, found: JsonObject) -> JsonObject:
    """What is wanted, with the values that users may change: those of the level `exempt`."""
    if "exempt" not in wanted:
        return wanted
    given = found.get("exempt") or {}
    return {**wanted, "exempt": {name: given.get(name, each) for name, each in wanted["exempt"].items()}}
