"""Metadata of a collection, inferred from an OpenAPI document. Pure.

Only what differs from the engine's and the document's own defaults is part of the result, so it is short.
"""

from __future__ import annotations

from typing import Final

from homeostat.objects.json import JsonObject
from homeostat.operators.sync.engine.errors import NotFoundError
from homeostat.operators.sync.engine.openapi.document import OpenApi, PathItem
from homeostat.operators.sync.engine.paths.logical import segments
from homeostat.operators.sync.engine.paths.selector import Selector
from homeostat.operators.sync.engine.paths.variables import singular
from homeostat.operators.sync.engine.payload.format import by_media

_ALIASES: Final = ("clientId", "alias", "name", "id", "key", "uuid", "uid")


def infer(document: OpenApi, selector: Selector) -> JsonObject:
    """The document for this address: empty for a single resource."""
    item = document.item(selector.text)
    if item is None:
        raise NotFoundError(f"the OpenAPI document has no path that matches {selector.text}")
    child = document.child(item)
    if child is None or not (selector.is_collection or document.is_collection(selector.text)):
        return {}
    return {"resource": _resource(document, item, child)}


def _resource(document: OpenApi, item: PathItem, child: PathItem) -> JsonObject:
    known = _properties(document, item, child)
    collection = segments(item.template)[-1] if segments(item.template) else ""
    alias = _alias(child.variable, known, collection)
    is_variable = alias == child.variable
    has_id = "id" in known or not known
    takes_id = has_id and (not is_variable or alias.lower().endswith("id")) and (known or is_variable)
    found: JsonObject = {"id": f"{{{{/{'id' if takes_id else alias}}}}}", "alias": f"{{{{/{alias}}}}}"}
    if (form := _format(document, item, child)) != "json":
        found["format"] = form
    if collection == "clients" or "secret" in collection.lower() or "credential" in collection.lower():
        found["secretAttributes"] = ["/secret"]
    return found


def _alias(variable: str, known: set[str], collection: str) -> str:
    if variable and (not known or variable in known):
        return variable
    return next((each for each in _ALIASES if each in known), singular(collection) or "id")


def _properties(document: OpenApi, item: PathItem, child: PathItem) -> set[str]:
    """Of what a read of one object answers, and of the items of a list."""
    found = set[str]()
    for schema in document.responses(child, "get").values():
        found |= set(document.properties(schema))
    for schema in document.responses(item, "get").values():
        inner = document.resolve(schema.get("items"))
        found |= set(document.properties(inner))
    return found


def _format(document: OpenApi, item: PathItem, child: PathItem) -> str:
    """The one format of all bodies, or `any`."""
    medias = set[str]()
    for each, method in ((item, "post"), (child, "put"), (child, "patch")):
        medias |= document.request_bodies(each, method).keys()
    types = {form.type if (form := by_media(media)) else "octet-stream" for media in medias}
    if not types:
        return "json"
    return types.pop() if len(types) == 1 else "any"
