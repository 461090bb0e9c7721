"""The parameter objects of admission policies: finds them for each write, and decides who may refer to them.

A policy can copy its parameters into other objects and messages. So a user who writes one must be allowed to read
them (`reading_causes`), as in Kubernetes.
"""

from __future__ import annotations

from dataclasses import dataclass

from homeostat.objects.errors import Cause, forbidden, quoted
from homeostat.objects.json import JsonObject, decode_stored
from homeostat.objects.selectors import LabelSelector, selector_of
from homeostat.server.access.attributes import Attributes
from homeostat.server.access.authz import Authorizer
from homeostat.server.admission.attempt import Attempt
from homeostat.server.kinds.builtins.members import struct, text
from homeostat.server.kinds.registry import Kind, Registry
from homeostat.server.request.call import Call
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


async def reading_causes(authorizer: Authorizer, call: Call, obj: JsonObject, old: JsonObject | None) -> list[Cause]:
    """Why the user may not write a policy or binding: its parameters are objects that the user may not read."""
    if call.user.is_master:
        return []
    match obj["kind"]:
        case "ValidatingAdmissionPolicy" | "MutatingAdmissionPolicy":
            param_kind = _param_kind(obj)
            if param_kind is None or (old is not None and _param_kind(old) == param_kind):
                return []
            return await _policy_causes(authorizer, call, param_kind)
        case "ValidatingAdmissionPolicyBinding" | "MutatingAdmissionPolicyBinding":
            # At each update, as in Kubernetes: the policy may have another paramKind now.
            ref = struct(obj, "spec").get("paramRef")
            return await _binding_causes(authorizer, call, obj, ref) if isinstance(ref, dict) else []
    return []


async def _policy_causes(authorizer: Authorizer, call: Call, param_kind: JsonObject) -> list[Cause]:
    asked = _attributes(call, "get", param_kind, namespace="*", name="*")
    if (await authorizer.authorize_soon(asked)).is_allowed:
        return []
    described = f"kind={text(param_kind, 'kind')}, apiVersion={text(param_kind, 'apiVersion')}"
    why = f'must have "get" permission on all objects of the referenced paramKind ({described})'
    return [forbidden("spec.paramKind", f"user {quoted(call.user.name)} {why}")]


async def _binding_causes(authorizer: Authorizer, call: Call, obj: JsonObject, ref: JsonObject) -> list[Cause]:
    """Without a namespace, the parameters are those of any namespace."""
    name = text(struct(obj, "spec"), "policyName")
    plural = "validatingadmissionpolicies" if obj["kind"].startswith("Validating") else "mutatingadmissionpolicies"
    record = call.store.get(Key(f"{plural}.{call.kind.group}", "", name))
    param_kind = None if record is None else _param_kind(decode_stored(record.value))
    verb = "get" if text(ref, "name") else "list"
    asked = _attributes(call, verb, param_kind or {}, namespace=text(ref, "namespace"), name=text(ref, "name"))
    if (await authorizer.authorize_soon(asked)).is_allowed:
        return []
    why = f"user {quoted(call.user.name)} does not have {quoted(verb)} permission"
    if record is None:
        unknown = f"unable to get policy {name} to determine minimum required permissions"
        return [forbidden("spec.paramRef", f"{unknown} and {why} for all groups, versions and resources")]
    return [forbidden("spec.paramRef", f"{why} on the object referenced by paramRef")]


def _param_kind(policy: JsonObject) -> JsonObject | None:
    found = struct(policy, "spec").get("paramKind")
    return found if isinstance(found, dict) else None


def _attributes(call: Call, verb: str, param_kind: JsonObject, *, namespace: str, name: str) -> Attributes:
    """What is not known has to be allowed for all: a kind that is created later may be meant."""
    group, resource = _resource(call.backend.registry, text(param_kind, "apiVersion"), text(param_kind, "kind"))
    return Attributes(call.user, verb, group=group, version="*", resource=resource, namespace=namespace, name=name)


def _resource(registry: Registry, api_version: str, kind: str) -> tuple[str, str]:
    if not api_version or api_version.count("/") > 1:
        return "*", "*"
    known = registry.by_kind(api_version, kind)
    return api_version.rpartition("/")[0], "*" if known is None else known.plural
