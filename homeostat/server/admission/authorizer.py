"""`authorizer` in expressions: whether the user of a request may do something else.

`authorizer.group('apps').resource('deployments').namespace('web').check('create').allowed()`. Each check costs 350,000
of the budget, as in Kubernetes, so that an expression makes a few and not thousands.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from homeostat.cel import EvaluationError, Opaque, OpaqueType, member
from homeostat.server.access.attributes import Attributes, Decision
from homeostat.server.access.user import User, service_account_groups, service_account_name
from homeostat.server.admission.attempt import Attempt

_CHECK_COST = 350_000 - 1
_PACKAGE = "kubernetes.authorization"
AUTHORIZER = OpaqueType(f"{_PACKAGE}.Authorizer")
RESOURCE_CHECK = OpaqueType(f"{_PACKAGE}.ResourceCheck")


@dataclass(frozen=True, slots=True)
class _Subject(Opaque):
    authorize: Callable[[Attributes], Decision]
    user: User
    cel_type_name = AUTHORIZER.name


@dataclass(frozen=True, slots=True)
class _GroupCheck(Opaque):
    subject: _Subject
    group: str
    cel_type_name = f"{_PACKAGE}.GroupCheck"


@dataclass(frozen=True, slots=True)
class _PathCheck(Opaque):
    subject: _Subject
    path: str
    cel_type_name = f"{_PACKAGE}.PathCheck"


@dataclass(frozen=True, slots=True)
class _ResourceCheck(Opaque):
    subject: _Subject
    group: str
    resource: str
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    cel_type_name = RESOURCE_CHECK.name


@dataclass(frozen=True, slots=True)
class _Decision(Opaque):
    decision: Decision
    cel_type_name = f"{_PACKAGE}.Decision"


def _service_account(subject: _Subject, namespace: str, name: str) -> _Subject:
    user = User(service_account_name(namespace, name), groups=service_account_groups(namespace))
    return _Subject(subject.authorize, user)


def _path(subject: _Subject, path: str) -> _PathCheck:
    if not path:
        raise EvaluationError("path must not be empty")
    return _PathCheck(subject, path)


def _check_path(check: _PathCheck, verb: str) -> _Decision:
    subject = check.subject
    return _Decision(subject.authorize(Attributes(subject.user, verb, path=check.path)))


def _check_resource(check: _ResourceCheck, verb: str) -> _Decision:
    subject = check.subject
    asked = Attributes(
        subject.user,
        verb,
        group=check.group,
        version="*",
        resource=check.resource,
        subresource=check.subresource,
        namespace=check.namespace,
        name=check.name,
    )
    return _Decision(subject.authorize(asked))


def _with(name: str) -> Any:
    return lambda check, value: replace(check, **{name: value})


def _cost(*_: Any) -> int:
    return _CHECK_COST


AUTHORIZATION = (
    member(f"{_PACKAGE}.Authorizer.path(string) -> {_PACKAGE}.PathCheck", _path),
    member(f"{_PACKAGE}.Authorizer.group(string) -> {_PACKAGE}.GroupCheck", _GroupCheck),
    member(f"{_PACKAGE}.Authorizer.serviceAccount(string, string) -> {_PACKAGE}.Authorizer", _service_account),
    member(
        f"{_PACKAGE}.GroupCheck.resource(string) -> {_PACKAGE}.ResourceCheck",
        lambda check, resource: _ResourceCheck(check.subject, check.group, resource),
    ),
    *(
        member(f"{_PACKAGE}.ResourceCheck.{each}(string) -> {_PACKAGE}.ResourceCheck", _with(each))
        for each in ("subresource", "namespace", "name")
    ),
    *(
        # Roles know no selectors: a check with one is decided as without it.
        member(f"{_PACKAGE}.ResourceCheck.{each}(string) -> {_PACKAGE}.ResourceCheck", lambda check, _: check)
        for each in ("fieldSelector", "labelSelector")
    ),
    member(f"{_PACKAGE}.PathCheck.check(string) -> {_PACKAGE}.Decision", _check_path, _cost),
    member(f"{_PACKAGE}.ResourceCheck.check(string) -> {_PACKAGE}.Decision", _check_resource, _cost),
    member(f"{_PACKAGE}.Decision.allowed() -> bool", lambda each: each.decision.is_allowed),
    member(f"{_PACKAGE}.Decision.reason() -> string", lambda each: each.decision.reason),
    member(f"{_PACKAGE}.Decision.errored() -> bool", lambda _: False),
    member(f"{_PACKAGE}.Decision.error() -> string", lambda _: ""),
)


def authorizer_of(attempt: Attempt) -> Opaque:
    return _Subject(attempt.call.backend.authorize, attempt.call.user)


def request_resource_of(attempt: Attempt) -> Opaque:
    """A check of the resource that the request is for."""
    call = attempt.call
    return _ResourceCheck(
        _Subject(call.backend.authorize, call.user),
        call.kind.group,
        call.kind.plural,
        call.subresource,
        attempt.namespace,
        attempt.name,
    )
