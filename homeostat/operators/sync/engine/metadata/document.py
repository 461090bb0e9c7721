"""A metadata document as it is written: read strictly, kept as JSON, written in the order of its fields. Pure.

An unknown key, a wrong type, a malformed template or fields that exclude each other are `ValidationError`. An
explicit empty list or map is kept: it clears what outer layers say.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from homeostat.objects.json import Json, JsonObject
from homeostat.operators.sync.engine.errors import ValidationError
from homeostat.operators.sync.engine.metadata.step import parse_step
from homeostat.operators.sync.engine.payload import pointer
from homeostat.operators.sync.engine.payload.format import TYPES, by_type
from homeostat.operators.sync.engine.payload.value import text_of
from homeostat.operators.sync.engine.templates.expression import parse
from homeostat.operators.sync.engine.templates.identity import parse_identity

OPERATIONS: Final = ("get", "create", "update", "delete", "list", "compare")
_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_STRUCTURED_ONLY: Final = (
    "id",
    "alias",
    "requiredAttributes",
    "secretAttributes",
    "externalizedAttributes",
    "defaults",
)
Reader = Callable[[Json, str], Json]


def read_document(value: Json, *, is_collection: bool) -> JsonObject:
    """The document in normal form; None reads as an empty one."""
    found = _fields(value if value is not None else {}, "metadata", _TOP)
    if "selector" in found and not is_collection:
        raise ValidationError("metadata.selector is allowed in documents of collections only")
    _check_resource(found)
    return found


def _fields(value: Json, where: str, readers: Mapping[str, Reader]) -> JsonObject:
    if not isinstance(value, dict):
        raise ValidationError(f"{where} is not an object")
    for key in value:
        if key not in readers:
            raise ValidationError(f'{where} has an unknown key "{key}"; expected {", ".join(readers)}')
    return {key: read(value[key], f"{where}.{key}") for key, read in readers.items() if value.get(key) is not None}


def _object(readers: Mapping[str, Reader]) -> Reader:
    return lambda value, where: _fields(value, where, readers)


def _text(value: Json, where: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValidationError(f"{where} is not a string")
    return value


def _bool(value: Json, where: str) -> bool:
    if not isinstance(value, bool):
        raise ValidationError(f"{where} is not true or false")
    return value


def _one_of(*words: str) -> Reader:
    def read(value: Json, where: str) -> str:
        if value not in words:
            raise ValidationError(f"{where} is {value!r}; expected one of {', '.join(words)}")
        return str(value)

    return read


def _list(item: Reader) -> Reader:
    def read(value: Json, where: str) -> list[Json]:
        if not isinstance(value, list):
            raise ValidationError(f"{where} is not a list")
        return [item(each, f"{where}[{place}]") for place, each in enumerate(value)]

    return read


def _pointer(value: Json, where: str) -> str:
    text = _text(value, where)
    pointer.parse(text)
    return text


def _identity(value: Json, where: str) -> str:
    parse_identity(_text(value, where))
    return str(value)


def _template(value: Json, where: str) -> str:
    parse(_text(value, where))
    return str(value)


def _templates(value: Json, where: str) -> dict[str, str]:
    """A map of texts, or a list of maps."""
    if isinstance(value, list) and all(isinstance(each, dict) for each in value):
        value = {key: item for each in value for key, item in each.items()}
    if not isinstance(value, dict):
        raise ValidationError(f"{where} is not a map of strings")
    found = dict[str, str]()
    for key, item in value.items():
        text = text_of(item)
        if text is None:
            raise ValidationError(f"{where}.{key} is not a string")
        parse(text)
        found[key] = text
    return found


def _method(value: Json, where: str) -> str:
    text = _template(value, where)
    if "{{" not in text and text.upper() not in _METHODS:
        raise ValidationError(f"{where} is {text!r}; expected one of {', '.join(sorted(_METHODS))}")
    return text


def _step(value: Json, where: str) -> Json:
    try:
        parse_step(value)
    except ValidationError as error:
        raise ValidationError(f"{where}: {error}") from error
    return value


def _any(value: Json, _: str) -> Json:
    return value


def _format(value: Json, where: str) -> str:
    text = _text(value, where)
    if text != "any":
        by_type(text)
    return text


def _schema_ref(value: Json, where: str) -> str:
    text = _text(value, where)
    if text != "openapi:request-body" and not text.startswith("openapi:#/"):
        raise ValidationError(f"{where} is {text!r}; expected openapi:request-body or openapi:#/pointer")
    return text


def _defaults_value(value: Json, where: str) -> Json:
    if not isinstance(value, dict) and included(value) is None:
        raise ValidationError(f"{where} is neither an object nor {{{{include FILE}}}}")
    return value


def _profiles(value: Json, where: str) -> Json:
    if not isinstance(value, dict):
        raise ValidationError(f"{where} is not an object of profiles")
    return {name: _defaults_value(each, f"{where}.{name}") for name, each in value.items()}


def included(value: Json) -> str | None:
    """The file that `{{include FILE}}` names; None for anything else."""
    if not isinstance(value, str) or not value.startswith("{{include ") or not value.endswith("}}"):
        return None
    name = value[len("{{include ") : -2].strip()
    return name if name and "/" not in name and "\\" not in name and not name.startswith(".") else None


def _count(value: Json, where: str) -> int:
    if type(value) is not int or not 0 < value <= 100_000:
        raise ValidationError(f"{where} is {value!r}; expected a number from 1 to 100000")
    return value


def _seconds(value: Json, where: str) -> int:
    if type(value) is not int or not 0 < value <= 3600:
        raise ValidationError(f"{where} is {value!r}; expected seconds from 1 to 3600")
    return value


_EXTERNALIZED: Final[dict[str, Reader]] = {
    "path": _pointer,
    "file": _text,
    "template": _text,
    "mode": _one_of("text"),
    "saveBehavior": _text,
    "renderBehavior": _text,
    "enabled": _bool,
}
_VALIDATE: Final[dict[str, Reader]] = {
    "requiredAttributes": _list(_pointer),
    "assertions": _list(_object({"message": _text, "jq": _text})),
    "schemaRef": _schema_ref,
}
_OPERATION: Final[dict[str, Reader]] = {
    "method": _method,
    "path": _template,
    "query": _templates,
    "headers": _templates,
    "body": _any,
    "transforms": _list(_step),
    "validate": _object(_VALIDATE),
    "pagination": _object(
        {
            "mode": _one_of("page", "offset", "cursor"),
            "parameter": _text,
            "sizeParameter": _text,
            "size": _count,
            "cursor": _pointer,
        }
    ),
}
_RESOURCE: Final[dict[str, Reader]] = {
    "id": _identity,
    "alias": _identity,
    "requiredAttributes": _list(_pointer),
    "remoteCollectionPath": _template,
    "format": _format,
    "defaults": _object(
        {
            "mode": _one_of("inherit", "ignore", "replace"),
            "useProfiles": _list(_text),
            "value": _defaults_value,
            "profiles": _profiles,
        }
    ),
    "secret": _bool,
    "secretAttributes": _list(_pointer),
    "externalizedAttributes": _list(_object(_EXTERNALIZED)),
    "protected": _bool,
    "changedBy": _pointer,
    "capturedAttributes": _list(_pointer),
    "ready": _object({"jq": _text, "timeoutSeconds": _seconds}),
}
_TOP: Final[dict[str, Reader]] = {
    "selector": _object({"descendants": _bool}),
    "resource": _object(_RESOURCE),
    "operations": _object(
        {"defaults": _object({"transforms": _list(_step)}), **{each: _object(_OPERATION) for each in OPERATIONS}}
    ),
}


def _check_resource(document: JsonObject) -> None:
    resource = document.get("resource", {})
    if resource.get("secret") and resource.get("secretAttributes"):
        raise ValidationError("resource.secret and resource.secretAttributes exclude each other")
    form = resource.get("format", "any")
    if form in TYPES and not by_type(form).is_structured:
        for key in _STRUCTURED_ONLY:
            if resource.get(key):
                raise ValidationError(f"resource.{key} needs a structured format; resource.format is {form}")
        for name, operation in document.get("operations", {}).items():
            if operation.get("transforms") or operation.get("validate"):
                raise ValidationError(f"operations.{name} transforms or validates, but resource.format is {form}")
    for key in ("path", "file"):
        given = [each.get(key) for each in resource.get("externalizedAttributes", ())]
        if None in given or len(set(given)) != len(given):
            raise ValidationError(f"resource.externalizedAttributes needs a distinct {key} in each entry")
    for each in resource.get("externalizedAttributes", ()):
        name = each["file"]
        if "/" in name or "\\" in name or name.startswith((".", "resource.", "defaults", "metadata.")):
            raise ValidationError(f'externalizedAttributes: "{name}" is not the name of a file beside the payload')
