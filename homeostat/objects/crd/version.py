"""The parts of a CustomResourceDefinition that each version has for itself: subresources, columns, selectable fields.

Each check takes the path to report, because Kubernetes names a part that is the same in all versions once, without
the version: `spec.additionalPrinterColumns[0].type` and not `spec.versions[0]...`.
"""

from __future__ import annotations

from homeostat.objects.crd.field_path import FieldPathError, resolve
from homeostat.objects.errors import Cause, duplicate, invalid, required, too_many
from homeostat.objects.json import Json, JsonObject
from homeostat.objects.schema.schema import Schema

COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
COLUMN_FORMATS = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
MAX_COLUMNS = 256
_MOST_SELECTABLE = 8


def check_subresources(subresources: JsonObject, path: str) -> list[Cause]:
    scale = subresources.get("scale")
    if scale is None:
        return []
    causes = []
    for name, root in (("specReplicasPath", ".spec."), ("statusReplicasPath", ".status.")):
        where, given = f"{path}.scale.{name}", scale.get(name)
        if not given:
            causes.append(required(where))
        else:
            message = f"should be a json path under {root[:-1]}"
            causes += _simple(given, where) or ([] if given.startswith(root) else [invalid(where, given, message)])
    selector, where = scale.get("labelSelectorPath"), f"{path}.scale.labelSelectorPath"
    if selector:
        causes += _simple(selector, where)
        if not causes and not selector.startswith((".spec.", ".status.")):
            causes.append(invalid(where, selector, "should be a json path under either .spec or .status"))
    return causes


def check_columns(columns: list[JsonObject], path: str) -> list[Cause]:
    if len(columns) > MAX_COLUMNS:
        return [too_many(path, len(columns), MAX_COLUMNS)]
    return [cause for at, column in enumerate(columns) for cause in _check_column(column, f"{path}[{at}]")]


def _check_column(column: JsonObject, path: str) -> list[Cause]:
    causes = []
    if not column.get("name"):
        causes.append(required(f"{path}.name"))
    kind, message = column.get("type"), f"must be one of {','.join(COLUMN_TYPES)}"
    if not kind:
        causes.append(required(f"{path}.type", message))
    elif kind not in COLUMN_TYPES:
        causes.append(invalid(f"{path}.type", kind, message))
    if column.get("format") and column["format"] not in COLUMN_FORMATS:
        causes.append(invalid(f"{path}.format", column["format"], f"must be one of {','.join(COLUMN_FORMATS)}"))
    given, where = column.get("jsonPath"), f"{path}.JSONPath"
    if not given:
        return [*causes, required(where)]
    # A path that cannot be read leaves its column out of tables, as on a cluster.
    return causes + _simple(given, where)


def _simple(given: str, path: str) -> list[Cause]:
    return [] if given.startswith(".") else [invalid(path, given, "must be a simple json path starting with .")]


def check_selectable(fields: list[JsonObject], schema: Schema, path: str) -> list[Cause]:
    causes: list[Cause] = []
    known: set[str] = set()
    for at, each in enumerate(fields):
        where, given = f"{path}[{at}].jsonPath", each.get("jsonPath")
        if not given:
            causes.append(required(where))
            continue
        try:
            written, found = resolve(given, schema, brackets=False)
        except FieldPathError as error:
            causes.append(invalid(where, given, f"is an invalid path: {error}"))
            continue
        causes += _check_selected(given, written, found, where)
        if written in known:
            causes.append(duplicate(where, given))
        known.add(written)
    if len(known) > _MOST_SELECTABLE:
        causes.append(too_many(path, len(known), _MOST_SELECTABLE))
    return causes


def _check_selected(given: str, written: str, found: Schema, path: str) -> list[Cause]:
    causes = []
    if written.partition(".")[0] == "metadata":
        causes.append(invalid(path, given, "must not point to fields in metadata"))
    if found.type not in ("string", "boolean", "integer"):
        message = (
            "must point to a field of type string, boolean or integer. "
            "Enum string fields and strings with formats are allowed."
        )
        causes.append(invalid(path, given, message))
    return causes


def check_deprecation(version: JsonObject, path: str) -> list[Cause]:
    warning: Json = version.get("deprecationWarning")
    if warning is None:
        return []
    where = f"{path}.deprecationWarning"
    if not version.get("deprecated"):
        return [invalid(where, warning, "can only be set for deprecated versions")]
    causes = []
    if len(warning.encode(errors="replace")) > 256:
        causes.append(invalid(where, warning, "must be <= 256 characters long"))
    if not warning:
        causes.append(invalid(where, warning, "must not be an empty string"))
    for at, char in enumerate(warning):
        if not char.isprintable():
            message = f"must only contain printable UTF-8 characters; non-printable character found at index {at}"
            return [*causes, invalid(where, warning, message)]
    return causes
