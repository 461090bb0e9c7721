"""An object that admission has changed, checked and completed like one that a client sent."""

from __future__ import annotations

from homeostat.objects.errors import BadRequestError
from homeostat.objects.meta import clean_metadata
from homeostat.objects.schema.whole_number import make_whole
from homeostat.server.kinds.registry import Kind

OTHER_KINDS = frozenset({"binding", "eviction", "token"})
"""Subresources that are written with an object of another kind, which the verb reads afterwards."""


def conform(obj: object, kind: Kind, subresource: str) -> None:
    """Check and complete an object that was changed; `BadRequestError` if it cannot be of its kind."""
    if not isinstance(obj, dict):
        raise BadRequestError("the result of the patch is not an object")
    if subresource == "scale":
        spec = obj.get("spec")
        replicas = spec.get("replicas", 0) if isinstance(spec, dict) else None
        if type(replicas) is not int or replicas < 0:
            raise BadRequestError("spec.replicas of a Scale must be a number that is not negative")
        return
    if subresource in OTHER_KINDS:
        if not isinstance(obj.get("metadata"), dict):
            raise BadRequestError("metadata must be an object")
        return
    if (obj.get("apiVersion"), obj.get("kind")) != (kind.api_version, kind.kind):
        raise BadRequestError("the patch changes apiVersion or kind")
    if isinstance(obj.get("metadata"), dict):
        obj["metadata"] = dict(obj["metadata"])
    clean_metadata(obj)
    if kind.custom:
        make_whole(obj)
    errors = kind.behaviour.type_errors(obj)
    if errors:
        raise BadRequestError(f"{errors[0].field}: {errors[0].message}")
    kind.behaviour.prune(obj)
    kind.behaviour.default(obj)
