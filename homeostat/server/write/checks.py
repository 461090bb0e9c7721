"""What creations and changes check alike: the object is where the URL says, and one with errors is refused."""

from __future__ import annotations

from homeostat.objects.errors import BadRequestError, Cause, invalid_object
from homeostat.objects.json import JsonObject
from homeostat.server.request.call import Call


def place(call: Call, metadata: JsonObject) -> None:
    """Namespace and name of the object must be those of the URL."""
    place_in_namespace(call, metadata)
    name = call.path.name
    if name and metadata.setdefault("name", name) != name:
        raise BadRequestError(
            f"the name of the object ({metadata['name']}) does not match the name on the URL ({name})"
        )


def require_name(call: Call, metadata: JsonObject) -> None:
    """What is written over an object must name it."""
    if not metadata.get("name"):
        message = f"the name of the object ({call.name} based on URL) was undeterminable: name must be provided"
        raise BadRequestError(message)


def place_in_namespace(call: Call, metadata: JsonObject) -> None:
    if call.kind.namespaced:
        namespace = call.path.namespace
        if (metadata.get("namespace") or namespace) != namespace:
            raise BadRequestError(
                "the namespace of the provided object does not match the namespace sent on the request"
            )
        metadata["namespace"] = namespace
    else:
        metadata.pop("namespace", None)


def refuse_invalid(call: Call, obj: JsonObject, causes: list[Cause]) -> None:
    if causes:
        name = obj["metadata"].get("name") or obj["metadata"].get("generateName", "")
        raise invalid_object(call.kind.kind, call.kind.group, name, causes)
