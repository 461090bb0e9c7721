"""What a request asks for, as the attributes that authorization and the audit log decide on."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from homeostat.edge.request import Request
from homeostat.objects.errors import BadRequestError
from homeostat.objects.selectors import FieldTerm, parse_fields
from homeostat.server.access.attributes import Attributes
from homeostat.server.access.user import User
from homeostat.server.kinds.registry import Kind
from homeostat.server.request.options import NO_OPTIONS, Options, parse_options
from homeostat.server.request.paths import ObjectPath, parse_path

WITHOUT_OBJECT: Final = {"GET": "list", "POST": "create", "DELETE": "deletecollection"}
WITH_OBJECT: Final = {"GET": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
"""The verbs of methods, on a collection and on an object."""
NODE_FIELD: Final = "spec.nodeName"
_ON_COLLECTIONS = frozenset({"list", "watch"})


def verb_of(request: Request, path: ObjectPath) -> str:
    """Empty for a method that no verb has."""
    verbs = WITH_OBJECT if path.name else WITHOUT_OBJECT
    verb = verbs.get(request.method if request.method != "HEAD" else "GET", "")
    if path.is_watch:
        return "watch" if verb in {"list", "get"} else ""
    if verb in {"list", "get"} and "watch" in request.query and parse_options(request.query, verb).watch:
        return "watch"
    return verb


def options_of(request: Request, path: ObjectPath, verb: str) -> Options:
    if not request.query and not path.is_watch:
        return NO_OPTIONS
    options = parse_options(request.query, verb)
    return msgspec.structs.replace(options, watch=True) if path.is_watch else options


def selected(query: str, field: str) -> str:
    """The first value that a field selector requires of a field: a role may be limited to a name."""
    if "fieldSelector" not in query:
        return ""
    return next(iter(required_values(parse_fields(parse_options(query, "list").field_selector), field)), "")


def selected_nodes(query: str) -> tuple[str, ...]:
    """The Nodes that a field selector requires: kubelets are limited to their own."""
    return required_values(parse_fields(parse_options(query, "list").field_selector), NODE_FIELD)


def required_values(terms: Iterable[FieldTerm], field: str) -> tuple[str, ...]:
    return tuple(term.value for term in terms if term.field == field and term.equal)


def attributes_of(user: User, verb: str, kind: Kind, path: ObjectPath) -> Attributes:
    # A Namespace counts as an object in itself, so that a Role in it may allow it; a list of Namespaces does not.
    is_namespace = kind.plural == "namespaces" and not kind.group and verb not in _ON_COLLECTIONS
    return Attributes(
        user=user,
        verb=verb,
        group=kind.group,
        version=kind.version,
        resource=kind.plural,
        subresource=path.subresource,
        namespace=path.name if is_namespace else path.namespace,
        name=path.name,
    )


def requested(request: Request, user: User, verb: str) -> Attributes:
    """The attributes of any request, also of one that was refused before it was understood."""
    try:
        path = parse_path(request.path)
    except BadRequestError:
        path = None
    if path is None:
        return Attributes(user=user, verb=verb or request.method.lower(), path=request.path)
    verbs = WITH_OBJECT if path.name else WITHOUT_OBJECT
    return Attributes(
        user=user,
        verb=verb or verbs.get(request.method, request.method.lower()),
        group=path.group,
        version=path.version,
        resource=path.plural,
        subresource=path.subresource,
        namespace=path.namespace or (path.name if path.plural == "namespaces" and not path.group else ""),
        name=path.name,
    )
