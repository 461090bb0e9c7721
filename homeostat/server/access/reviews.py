"""Reviews of users, tokens and permissions. The response is the object with its `status`; nothing is stored.

`Reviews.answer` supports six kinds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec

from homeostat.objects.access.rule import FULL_AUTHORITY, rule_object
from homeostat.objects.errors import BadRequestError, Cause, invalid, invalid_object
from homeostat.objects.json import JsonObject, type_name, without_nulls
from homeostat.objects.selectors import FieldTerm
from homeostat.server.access.attributes import Attributes
from homeostat.server.access.authz import Authorizer
from homeostat.server.access.nodes.identity import node_of
from homeostat.server.access.rbac.authorizer import join_problems
from homeostat.server.access.selectors import Selector, check_fields, check_labels, fields_of, label_problem
from homeostat.server.access.tokens.service_account import Accepted, InvalidTokenError
from homeostat.server.access.user import User, user_info
from homeostat.server.request.requested import NODE_FIELD, required_values
from homeostat.server.request.spec import read_spec

_GROUP = "authorization.k8s.io"
_WITHOUT_SPEC, _UNSAID = frozenset({"SelfSubjectReview"}), frozenset({"SelfSubjectRulesReview"})
"""Reviews that have no spec, and those whose answer does not repeat it."""
_NODE_RULES = "node authorizer does not support user rule resolution"


class TokenReviewer(Protocol):
    def review(self, token: str, audiences: Sequence[str] = ()) -> Accepted:
        """The user of a bearer token, and which of the audiences it is for; `InvalidTokenError`."""


class _ResourceAttributes(msgspec.Struct, frozen=True, rename="camel"):
    namespace: str = ""
    verb: str = ""
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    name: str = ""
    field_selector: Selector | None = None
    label_selector: Selector | None = None


class _NonResourceAttributes(msgspec.Struct, frozen=True):
    path: str = ""
    verb: str = ""


class _AccessSpec(msgspec.Struct, frozen=True, rename="camel"):
    resource_attributes: _ResourceAttributes | None = None
    non_resource_attributes: _NonResourceAttributes | None = None
    user: str = ""
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: dict[str, tuple[str, ...]] = {}


class _RulesSpec(msgspec.Struct, frozen=True):
    namespace: str = ""


class _TokenSpec(msgspec.Struct, frozen=True):
    token: str = ""
    audiences: tuple[str, ...] = ()


class Reviews:
    def __init__(self, authorizer: Authorizer, tokens: TokenReviewer) -> None:
        self._authorizer = authorizer
        self._tokens = tokens
        self._answers: dict[str, Callable[[JsonObject, User, str], JsonObject]] = {
            "SelfSubjectAccessReview": self._self_access,
            "SubjectAccessReview": self._access,
            "LocalSubjectAccessReview": self._local_access,
            "SelfSubjectRulesReview": self._rules,
            "SelfSubjectReview": self._self,
            "TokenReview": self._token,
        }

    def answer(self, kind: str, obj: JsonObject, *, user: User, namespace: str = "") -> JsonObject:
        """The review with its status; `KeyError` for a kind that is not a review."""
        metadata = obj.get("metadata") or {}
        if not isinstance(metadata, dict):
            raise BadRequestError(f"{kind}: metadata: expected an object, got {type_name(metadata)}")
        status = self._answers[kind](obj, user, namespace)
        if namespace:
            metadata = {**metadata, "namespace": namespace}
        answered = {**obj, "metadata": metadata, "status": status}
        if kind in _WITHOUT_SPEC:
            return answered
        return {**answered, "spec": {} if kind in _UNSAID else without_nulls(obj.get("spec") or {})}

    def _self_access(self, obj: JsonObject, user: User, _: str) -> JsonObject:
        spec = read_spec(obj, _AccessSpec)
        _refuse("SelfSubjectAccessReview", [*_asked_causes(spec), *_selector_causes(spec), *_metadata_causes(obj)])
        return self._decided(spec, user)

    def _access(self, obj: JsonObject, _user: User, _: str) -> JsonObject:
        spec = read_spec(obj, _AccessSpec)
        _refuse("SubjectAccessReview", [*_spec_causes(spec), *_metadata_causes(obj)])
        return self._decided(spec, _subject(spec))

    def _local_access(self, obj: JsonObject, _user: User, namespace: str) -> JsonObject:
        spec = read_spec(obj, _AccessSpec)
        own = (obj.get("metadata") or {}).get("namespace") or namespace
        causes = [*_spec_causes(spec), *_metadata_causes(obj, but="namespace")]
        if spec.resource_attributes is not None and spec.resource_attributes.namespace != own:
            asked = spec.resource_attributes.namespace
            causes.append(invalid("spec.resourceAttributes.namespace", asked, "must match metadata.namespace"))
        if spec.non_resource_attributes is not None:
            asked_url = spec.non_resource_attributes
            causes.append(invalid("spec.nonResourceAttributes", asked_url, "disallowed on this kind of request"))
        _refuse("LocalSubjectAccessReview", causes)
        if own != namespace:
            raise BadRequestError(f"spec.resourceAttributes.namespace must match namespace: {namespace}")
        return self._decided(spec, _subject(spec))

    def _decided(self, spec: _AccessSpec, user: User) -> JsonObject:
        asked = spec.resource_attributes or _ResourceAttributes()
        fields = fields_of(asked.field_selector)
        is_allowed, reason = self._authorizer.authorize(_attributes(spec, user, fields.terms))
        status: JsonObject = {"allowed": is_allowed, "reason": reason} if reason else {"allowed": is_allowed}
        problems = [each for each in (fields.problem, label_problem(asked.label_selector)) if each]
        return {**status, "evaluationError": "; ".join(problems)} if problems else status

    def _rules(self, obj: JsonObject, user: User, _: str) -> JsonObject:
        namespace = read_spec(obj, _RulesSpec).namespace
        if not namespace:
            raise BadRequestError("no namespace on request")
        grants, problems = self._authorizer.rbac.grants(user, namespace)
        own = FULL_AUTHORITY if user.is_master else ()
        rules = dict.fromkeys([*own, *(grant.rule for grant in grants)])
        status: JsonObject = {
            "resourceRules": [rule_object(msgspec.structs.replace(rule, urls=())) for rule in rules if rule.resources],
            "nonResourceRules": [
                rule_object(msgspec.structs.replace(rule, groups=(), resources=(), names=()))
                for rule in rules
                if rule.urls
            ],
            "incomplete": False,
        }
        if node_of(user) is not None:
            status["incomplete"], problems = True, [_NODE_RULES, *problems]
        if problems:
            status["evaluationError"] = join_problems(problems)
        return status

    def _self(self, _obj: JsonObject, user: User, _: str) -> JsonObject:
        return {"userInfo": user_info(user)}

    def _token(self, obj: JsonObject, _user: User, _: str) -> JsonObject:
        spec = read_spec(obj, _TokenSpec)
        if not spec.token:
            raise BadRequestError("token is required for TokenReview in authentication")
        try:
            accepted = self._tokens.review(spec.token, spec.audiences)
        except InvalidTokenError as error:
            return {"user": {}, "error": str(error)}
        return {"authenticated": True, "user": user_info(accepted.user), "audiences": list(accepted.audiences)}


def _attributes(spec: _AccessSpec, user: User, terms: Sequence[FieldTerm]) -> Attributes:
    asked = spec.resource_attributes
    if asked is not None:
        return Attributes(
            user,
            asked.verb,
            group=asked.group,
            version=asked.version,
            resource=asked.resource,
            subresource=asked.subresource,
            namespace=asked.namespace,
            name=asked.name,
            selected_nodes=required_values(terms, NODE_FIELD),
        )
    url = spec.non_resource_attributes or _NonResourceAttributes()
    # An empty path is still a path, which no rule allows.
    return Attributes(user, url.verb, path=url.path or " ")


def _subject(spec: _AccessSpec) -> User:
    return User(spec.user, uid=spec.uid, groups=spec.groups, extra=spec.extra)


def _asked_causes(spec: _AccessSpec) -> list[Cause]:
    url = spec.non_resource_attributes
    if spec.resource_attributes is not None and url is not None:
        message = "cannot be specified in combination with resourceAttributes"
        return [invalid("spec.nonResourceAttributes", url, message)]
    if spec.resource_attributes is None and url is None:
        message = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        return [invalid("spec.resourceAttributes", None, message)]
    return []


def _spec_causes(spec: _AccessSpec) -> list[Cause]:
    return [*_asked_causes(spec), *_subject_causes(spec), *_selector_causes(spec)]


def _selector_causes(spec: _AccessSpec) -> list[Cause]:
    asked = spec.resource_attributes or _ResourceAttributes()
    path = "spec.resourceAttributes"
    return [
        *check_fields(asked.field_selector, f"{path}.fieldSelector"),
        *check_labels(asked.label_selector, f"{path}.labelSelector"),
    ]


def _subject_causes(spec: _AccessSpec) -> list[Cause]:
    if spec.user or spec.groups:
        return []
    return [invalid("spec.user", spec.user, "at least one of user or group must be specified")]


def _metadata_causes(obj: JsonObject, *, but: str = "") -> list[Cause]:
    metadata = obj.get("metadata") or {}
    if not any(value for key, value in metadata.items() if key not in {"managedFields", but}):
        return []
    return [invalid("metadata", metadata, "must be empty except for namespace" if but else "must be empty")]


def _refuse(kind: str, causes: Sequence[Cause]) -> None:
    if causes:
        raise invalid_object(kind, _GROUP, "", causes)
