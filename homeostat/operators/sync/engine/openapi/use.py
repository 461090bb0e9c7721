"""What an OpenAPI document adds to a request: its method and its media types; and what it refuses. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from homeostat.objects.json import Json, JsonObject
from homeostat.operators.sync.engine.errors import ValidationError
from homeostat.operators.sync.engine.metadata.call import Call
from homeostat.operators.sync.engine.metadata.rules import Operation
from homeostat.operators.sync.engine.openapi.document import OpenApi
from homeostat.operators.sync.engine.openapi.schema import problems
from homeostat.operators.sync.engine.payload.format import Descriptor, by_media

_PREFERRED: Final = {"create": ("post", "put"), "update": ("put", "patch", "post")}


def completed(document: OpenApi | None, operation: Operation, call: Call) -> Call:
    """The call with the method that the path has; `ValidationError` if metadata asks for one that it lacks."""
    item = document.item(call.path) if document is not None else None
    if item is None or not item.methods:
        return call
    if operation.method:
        if call.method.lower() not in item.methods:
            raise ValidationError(
                f"{operation.name} uses {call.method} {call.path}, and the OpenAPI document has no such method there"
            )
        return call
    preferred = _PREFERRED.get(operation.name, (call.method.lower(),))
    method = next((each for each in preferred if each in item.methods), None)
    return replace(call, method=method.upper()) if method else call


def media_of_body(document: OpenApi | None, call: Call, wire: Descriptor) -> str:
    """The media type of a body of this format: its own, unless the path takes only others of the same type, such as
    `application/merge-patch+json` for JSON.
    """
    item = document.item(call.path) if document is not None else None
    taken = document.request_bodies(item, call.method) if document is not None and item is not None else {}
    if not taken or wire.media in taken:
        return wire.media
    return next((each for each in sorted(taken) if _type(each) == wire.type), wire.media)


def _type(media: str) -> str:
    found = by_media(media)
    return found.type if found is not None else ""


def check_body(document: OpenApi | None, reference: str, call: Call, body: Json) -> None:
    """`ValidationError` if the body does not match the schema that metadata refers to."""
    if document is None:
        raise ValidationError(f"{reference} needs an OpenAPI document, and the context has none")
    found = problems(document, _schema(document, reference, call), body)
    if found:
        raise ValidationError(f"the body does not match {reference}: {'; '.join(found)}")


def _schema(document: OpenApi, reference: str, call: Call) -> JsonObject:
    if reference != "openapi:request-body":
        return document.at(reference.removeprefix("openapi:#"))
    item = document.item(call.path)
    bodies = document.request_bodies(item, call.method) if item is not None else {}
    if not bodies:
        raise ValidationError(f"the OpenAPI document has no request body for {call.method} {call.path}")
    return bodies.get("application/json") or bodies[min(bodies)]
