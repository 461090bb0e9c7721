"""Finds the parameter objects of admission policies, in the store's memory, for each write."""

from __future__ import annotations

from dataclasses import dataclass

from homeostat.objects.json import JsonObject
from homeostat.objects.selectors import LabelSelector, selector_of
from homeostat.server.admission.attempt import Attempt
from homeostat.server.kinds.registry import Kind
from homeostat.server.view.encode import note_of, object_of
from homeostat.store.base import Key, Record, Scope, Store

_MOST_DECODED = 1024


class ParamError(Exception):
    """The parameters of a binding do not exist."""


@dataclass(frozen=True, slots=True)
class ParamRef:
    """One object by `name`, or all that match `selector`. An empty `namespace` means that of the write."""

    name: str
    namespace: str
    selector: LabelSelector | None
    is_required: bool


def param_ref(value: JsonObject | None) -> ParamRef | None:
    if value is None:
        return None
    selector = value.get("selector")
    return ParamRef(
        name=value.get("name") or "",
        namespace=value.get("namespace") or "",
        selector=None if selector is None else selector_of(selector),
        is_required=value.get("parameterNotFoundAction") == "Deny",
    )


class Params:
    def __init__(self) -> None:
        self._decoded: dict[tuple[Key, str], tuple[Record, JsonObject]] = {}

    async def find(
        self, attempt: Attempt, param_kind: tuple[str, str] | None, ref: ParamRef | None
    ) -> list[JsonObject | None]:
        """The parameter objects to evaluate a policy with; [None] for a policy or binding without parameters."""
        if param_kind is None or ref is None:
            return [None]
        kind = attempt.call.backend.registry.by_kind(*param_kind)
        if kind is None or not kind.is_stored:
            raise ParamError(f"paramKind kind `{param_kind[0]}, Kind={param_kind[1]}` not known")
        found = _records(attempt.call.store, kind, ref, _namespace(attempt, kind, ref))
        if not found and ref.is_required:
            raise ParamError("no params found for policy binding with `Deny` parameterNotFoundAction")
        shown = found if kind.conversion is None else await attempt.call.backend.conversions.shown(kind, found)
        return [self._object(kind, record) for record in shown]

    def _object(self, kind: Kind, record: Record) -> JsonObject:
        """The decoded object, cached until it changes; expressions only read it."""
        place = (record.key, kind.api_version)
        cached = self._decoded.get(place)
        if cached is not None and cached[0] is record:
            return cached[1]
        if len(self._decoded) >= _MOST_DECODED:
            self._decoded.clear()
        obj = object_of(kind, record)
        self._decoded[place] = (record, obj)
        return obj


def _namespace(attempt: Attempt, kind: Kind, ref: ParamRef) -> str:
    if not kind.namespaced:
        if ref.namespace:
            raise ParamError("paramRef.namespace must not be provided for a cluster-scoped `paramKind`")
        return ""
    namespace = ref.namespace or attempt.namespace
    if not namespace:
        raise ParamError("cannot use namespaced paramRef in policy binding that matches cluster-scoped resources")
    return namespace


def _records(store: Store, kind: Kind, ref: ParamRef, namespace: str) -> list[Record]:
    if ref.name:
        if ref.selector is not None:
            raise ParamError("paramRef.name and paramRef.selector are mutually exclusive")
        record = store.get(Key(kind.resource, namespace, ref.name))
        return [] if record is None else [record]
    if ref.selector is None:
        raise ParamError("one of name or selector must be provided")
    matches = ref.selector.matches
    return [record for record in store.select(Scope(kind.resource, namespace)) if matches(note_of(record).labels)]
