"""ObjectMeta: the types of its fields, checked quickly. Pure."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from homeostat.objects.errors import BadRequestError
from homeostat.objects.json import JsonObject

LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
"""The annotation in which kubectl's client-side apply keeps the whole manifest."""


class OwnerReference(msgspec.Struct, rename="camel", gc=False):
    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class ManagedFieldsEntry(msgspec.Struct, rename="camel", gc=False):
    manager: str = ""
    operation: str = ""
    api_version: str = ""
    time: str | None = None
    fields_type: str = ""
    fields_v1: dict[str, Any] | None = msgspec.field(name="fieldsV1", default=None)
    subresource: str = ""


class ObjectMeta(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Every field that metadata may have, with its type. Used for validation only: objects stay JSON."""

    name: str | None = None
    generate_name: str | None = None
    namespace: str | None = None
    uid: str | None = None
    resource_version: str | None = None
    generation: int | None = None
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    deletion_grace_period_seconds: int | None = None
    labels: dict[str, str | None] | None = None
    annotations: dict[str, str | None] | None = None
    finalizers: list[str] | None = None
    owner_references: list[OwnerReference] | None = None
    managed_fields: list[ManagedFieldsEntry] | None = None
    self_link: str | None = None


_FIELDS = frozenset(ObjectMeta.__struct_encode_fields__)


def clean_metadata(obj: JsonObject) -> list[str]:
    """Make `obj["metadata"]` a dict of known, typed, non-null fields; return the paths of unknown ones removed.

    `BadRequestError` where a field has the wrong type.
    """
    metadata = obj.get("metadata")
    if metadata is None:
        obj["metadata"] = {}
        return []
    if not isinstance(metadata, dict):
        raise BadRequestError("metadata must be an object")
    unknown: list[str] = []
    try:
        msgspec.convert(metadata, ObjectMeta)
    except msgspec.ValidationError as error:
        unknown = [name for name in metadata if name not in _FIELDS]
        for name in unknown:
            del metadata[name]
        if not unknown:
            raise BadRequestError(f"metadata has a field of the wrong type: {_text_of(error)}") from error
        clean_metadata(obj)
    if not all(metadata.values()):
        # Empty means absent, but an empty managedFields asks the server to clear them.
        obj["metadata"] = {
            name: value for name, value in metadata.items() if value or (name == "managedFields" and value is not None)
        }
    for name in ("labels", "annotations"):
        values = obj["metadata"].get(name)
        if values and None in values.values():
            obj["metadata"][name] = {key: value or "" for key, value in values.items()}
    return [f"metadata.{name}" for name in unknown]


def _text_of(error: msgspec.ValidationError) -> str:
    return str(error).replace("$", "metadata")
