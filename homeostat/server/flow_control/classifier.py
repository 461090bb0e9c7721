"""Classifies requests: the FlowSchema with the lowest precedence that matches decides on the priority level.

It follows the stored FlowSchemas and PriorityLevelConfigurations. They are evaluated at the first request after a
change; a classification is then kept by what it depends on. A FlowSchema whose level does not exist counts as absent. A
mandatory object that is missing counts as present, and a mandatory FlowSchema always has the rules that it must have.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from homeostat.objects.flow_control import CATCH_ALL, EXEMPT, GROUP, MANDATORY, default_objects
from homeostat.objects.json import JsonObject, decode_stored
from homeostat.server.access.attributes import Attributes
from homeostat.server.access.user import MASTERS, User
from homeostat.server.flow_control.level import FlowKey, Level, LevelSpec, level_spec_of
from homeostat.server.flow_control.schema import Schema, schema_of
from homeostat.server.flow_control.seats import Seats
from homeostat.server.request.paths import ObjectPath
from homeostat.store.base import Record, Scope, Store
from homeostat.store.follow import follow

_SCHEMAS, _LEVELS = f"flowschemas.{GROUP}", f"prioritylevelconfigurations.{GROUP}"
_MOST_KEPT: Final = 10_000
_LARGEST_KEPT: Final = 4_000
"""Bytes of what a classification depends on, about: the names of the caller and of its groups, and what it asks for."""
_OVERHEAD_BYTES: Final = 60
"""Of one name."""


class Flow(msgspec.Struct, frozen=True, gc=False):
    """Of calls that wait for one another, in order."""

    lines: bytes
    """The header lines of the response that name the objects."""
    level: Level | None
    """None: exempt."""
    key: FlowKey


class _Configured(msgspec.Struct, frozen=True):
    uid: str
    spec: LevelSpec


class Classifier:
    def __init__(self, seats: Seats | None = None) -> None:
        self.seats = seats or Seats()
        self._schemas: dict[str, Schema] = {}
        self._levels: dict[str, _Configured] = {}
        self._ordered: list[Schema] = []
        self._catch_all: Schema
        self._of_masters: Flow | None = None
        """Of every call of theirs; None until the next evaluation."""
        self._flows: dict[tuple[object, ...], Flow] = {}
        self._is_stale = True

    async def follow(self, store: Store) -> None:
        def put(record: Record) -> None:
            self.put(decode_stored(record.value))

        def drop(record: Record) -> None:
            self.remove(record.key.resource, record.key.name)

        for resource in (_LEVELS, _SCHEMAS):
            await follow(store, Scope(resource), put=put, drop=drop)

    def put(self, obj: JsonObject) -> None:
        """Add or replace a FlowSchema or a PriorityLevelConfiguration."""
        metadata = obj["metadata"]
        if obj["kind"] == "FlowSchema":
            self._schemas[metadata["name"]] = schema_of(obj)
        else:
            self._levels[metadata["name"]] = _Configured(metadata.get("uid", ""), level_spec_of(obj))
        self._forget()

    def remove(self, resource: str, name: str) -> None:
        (self._schemas if resource == _SCHEMAS else self._levels).pop(name, None)
        self._forget()

    def _forget(self) -> None:
        self._is_stale = True
        self._of_masters = None
        self._flows.clear()

    def classify(self, user: User, verb: str, path: ObjectPath) -> Flow:
        """The flow of a call about objects."""
        if self._of_masters is not None and MASTERS in user.groups:
            return self._of_masters
        group, resource, namespace, subresource = path.group, path.plural, path.namespace, path.subresource
        if not namespace and resource == "namespaces" and not group:
            namespace = path.name
        key = (user.name, user.groups, verb, group, resource, subresource, namespace)
        flow = self._flows.get(key)
        if flow is None:
            flow = self._decide(
                Attributes(user, verb, group=group, resource=resource, subresource=subresource, namespace=namespace)
            )
            self._keep(key, flow, user, (group, resource, subresource, namespace))
        return flow

    def classify_page(self, user: User, verb: str, path: str) -> Flow:
        """The flow of a request for something else."""
        if self._of_masters is not None and MASTERS in user.groups:
            return self._of_masters
        key = (user.name, user.groups, verb, path)
        flow = self._flows.get(key)
        if flow is None:
            flow = self._decide(Attributes(user, verb, path=path))
            self._keep(key, flow, user, (path,))
        return flow

    def _keep(self, key: tuple[object, ...], flow: Flow, user: User, asked: Iterable[str]) -> None:
        names = (user.name, *user.groups, *asked)
        if sum(map(len, names)) + len(names) * _OVERHEAD_BYTES > _LARGEST_KEPT:
            return
        if len(self._flows) >= _MOST_KEPT:
            self._flows.clear()
        self._flows[key] = flow

    def _decide(self, asked: Attributes) -> Flow:
        if self._is_stale:
            self._evaluate()
        found = next((each for each in self._ordered if each.matches(asked)), self._catch_all)
        return self._flow(found, found.distinguish(asked))

    def _flow(self, schema: Schema, distinguisher: str) -> Flow:
        uid = self._levels[schema.level].uid if schema.level in self._levels else ""
        level = self.seats.levels[schema.level]
        lines = f"X-Kubernetes-Pf-Flowschema-Uid: {schema.uid}\r\nX-Kubernetes-Pf-Prioritylevel-Uid: {uid}\r\n"
        return Flow(lines.encode("latin-1"), None if level.spec.is_exempt else level, (schema.name, distinguisher))

    def _evaluate(self) -> None:
        levels, schemas = self._with_mandatory()
        self.seats.divide(levels)
        known = [each for each in schemas if each.level in levels]
        known.sort(key=lambda each: (each.precedence, each.name))
        self._ordered = known
        self._catch_all = next(each for each in known if each.name == CATCH_ALL)
        self._is_stale = False
        if known[0].name == EXEMPT:
            # Nothing may come before it, and its rules cannot be changed.
            self._of_masters = self._flow(known[0], "")

    def _with_mandatory(self) -> tuple[dict[str, LevelSpec], list[Schema]]:
        levels = {name: each.spec for name, each in self._levels.items()}
        schemas = dict(self._schemas)
        for obj in default_objects():
            name = obj["metadata"]["name"]
            if name not in MANDATORY:
                continue
            if obj["kind"] == "FlowSchema":
                # Earlier versions let users change it, and without the catch-all no request could be classified.
                uid = schemas[name].uid if name in schemas else ""
                schemas[name] = msgspec.structs.replace(schema_of(obj), uid=uid)
            else:
                levels.setdefault(name, level_spec_of(obj))
        return levels, list(schemas.values())
