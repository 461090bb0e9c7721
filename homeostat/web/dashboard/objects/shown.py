"""An object as pages show it: without secrets, and without the fields that only the server reads. Pure.

The data of a Secret is never shown, nor any value under the name of a secret (`password`, `token`, `apiKey`) or of a
field that the schema marks with `format: password`, nor credentials in URLs. References to Secrets are shown: they are
names. Each hidden value is replaced by a text that says so, which an edit recognises: a value that was not changed is
not sent (`edit.py`).
"""

from __future__ import annotations

import re
from typing import Final

from homeostat.objects import yaml
from homeostat.objects.json import Json, JsonObject
from homeostat.objects.kind import Kind
from homeostat.objects.meta import LAST_APPLIED
from homeostat.objects.schema.passwords import NO_PASSWORDS, PasswordFields, without_passwords
from homeostat.web.dashboard.html.redaction import DEEPEST, HIDDEN, TOO_DEEP, is_secret_name, without_credentials

_MARK: Final = "(hidden"
_SCHEMA: Final = "openAPIV3Schema"
"""Below it, a secret name is the name of a field that is described."""
_is_reference = re.compile(
    r"(?:name|names|ref|refs|path|policy|type|namespace|selector|class|provider|seconds|ttl|count)$", re.IGNORECASE
).search
_is_selected_key = re.compile(r"(?:secret|token|password)[-_]?keys?$", re.IGNORECASE).search
_is_selector = re.compile(r"(?:secret|token|password|credentials?|remote)[-_]?(?:name|ref)$", re.IGNORECASE).search
_SELECTOR: Final = frozenset(
    {"name", "namespace", "key", "optional", "secretName", "items", "defaultMode", "mode", "path", "audience"}
    | {"expirationSeconds", "apiVersion", "kind", "uid", "resourceVersion", "fieldPath"}
)
"""The fields of the references that Kubernetes has: to a Secret, to one of its keys, and the volumes of such."""
_NAMES: Final = frozenset({"name", "secretName", "path"})


def shown_object(kind: Kind, obj: JsonObject, passwords: PasswordFields = NO_PASSWORDS) -> JsonObject:
    """Without managed fields and secrets, in the order in which manifests are written. `passwords` are the fields that
    the schema of the kind marks.
    """
    obj = without_passwords(obj, passwords)
    metadata = {name: each for name, each in _dict(obj.get("metadata")).items() if name != "managedFields"}
    ordered = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata}
    ordered |= {name: each for name, each in obj.items() if name not in ordered and name != "status"}
    if "status" in obj:
        ordered["status"] = obj["status"]
    shown: JsonObject = _hidden(ordered, 0)
    annotations = shown["metadata"].get("annotations")
    if isinstance(annotations, dict) and LAST_APPLIED in annotations:
        # It repeats the object, secrets included.
        annotations[LAST_APPLIED] = _marked(annotations[LAST_APPLIED])
    if is_secret(kind):
        for part in ("data", "stringData"):
            if isinstance(obj.get(part), dict):
                shown[part] = {name: _secret_size(part, each) for name, each in obj[part].items()}
    return shown


def is_secret(kind: Kind) -> bool:
    return not kind.group and kind.kind == "Secret"


def as_yaml(obj: Json) -> str:
    return yaml.dump(obj).decode()


def has_hidden(value: Json) -> bool:
    """Whether one of the replacements is in the value, or in the name of a field."""
    match value:
        case dict():
            return any(map(has_hidden, value.values()))
        case list():
            return any(map(has_hidden, value))
        case str():
            return value.startswith(_MARK) or f"//{HIDDEN}@" in value or value == TOO_DEEP
    return False


def _hidden(value: Json, depth: int, *, is_schema: bool = False) -> Json:
    match value:
        case dict() | list() if depth >= DEEPEST and value:
            return TOO_DEEP
        case dict():
            secrets = set[str]() if is_schema else _secret_fields(value)
            return {
                name: _secret(each)
                if name in secrets
                else _hidden(each, depth + 1, is_schema=is_schema or name == _SCHEMA)
                for name, each in value.items()
            }
        case list():
            return [_hidden(each, depth + 1, is_schema=is_schema) for each in value]
        case str():
            return without_credentials(value)
    return value


def _secret_fields(value: JsonObject) -> set[str]:
    """The fields with secrets. An environment variable is a name and a value beside it."""
    found = {name for name, each in value.items() if _is_secret_field(name, value) and not _selects(each)}
    name = value.get("name")
    if isinstance(name, str) and "value" in value and is_secret_name(name):
        found.add("value")
    return found


def _is_secret_field(name: str, beside: JsonObject) -> bool:
    """`secretKey` is the name of a key if the name of the Secret is beside it."""
    if not is_secret_name(name) or _is_reference(name):
        return False
    return not (_is_selected_key(name) and any(_is_selector(each) for each in beside))


def _selects(value: Json) -> bool:
    """Whether the value refers to a Secret in Kubernetes' form, and so contains none."""
    match value:
        case dict():
            is_known = bool(value) and value.keys() <= _SELECTOR and not value.keys().isdisjoint(_NAMES)
            return is_known and all(not isinstance(each, dict | list) or _selects(each) for each in value.values())
        case list():
            return bool(value) and all(isinstance(each, dict) and _selects(each) for each in value)
    return False


def _secret(value: Json) -> Json:
    """That there is no value is no secret."""
    if value is None or isinstance(value, bool) or value in ("", [], {}):
        return value
    match value:
        case str():
            return _marked(value)
        case list() if all(isinstance(each, str) for each in value):
            return [_marked(each) for each in value]
    return HIDDEN


def _marked(text: str) -> str:
    return f"{_MARK}, {len(text)} characters)"


def _secret_size(part: str, text: Json) -> str:
    if not isinstance(text, str):
        return HIDDEN
    size = len(text) * 3 // 4 - text[-2:].count("=") if part == "data" else len(text.encode(errors="replace"))
    return f"{_MARK}, {size} bytes)"


def _dict(value: Json) -> JsonObject:
    return value if isinstance(value, dict) else {}
