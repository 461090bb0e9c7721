"""The values of a resource's spec that its type marks with `format: password`. Pure."""

from __future__ import annotations

from homeostat.objects.json import JsonObject
from homeostat.objects.schema.passwords import PasswordFields, marked_fields
from homeostat.operators.actions.types.spec_schema import spec_schema


def password_fields(schema: JsonObject) -> PasswordFields:
    """`schema` is that of a type. Parts that are not valid have no passwords."""
    return marked_fields(spec_schema(schema)[0])
