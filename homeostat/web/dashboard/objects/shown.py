"""An object as pages show it: without secrets, and without the fields that only the server reads. Pure.

The data of a Secret is never shown, nor any text under the name of a secret (`password`, `token`), nor credentials in
URLs. Each hidden value is replaced by a text that says so, which an edit recognises: a value that was not changed is
not sent (`edit.py`).
"""

from __future__ import annotations

import re
from typing import Final

from homeostat.objects import yaml
from homeostat.objects.json import Json, JsonObject
from homeostat.objects.kind import Kind
from homeostat.web.dashboard.html.redaction import DEEPEST, HIDDEN, TOO_DEEP, is_secret_name, without_credentials

LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_MARK: Final = "(hidden"
_is_reference = re.compile(
    r"(?:name|names|ref|key|keys|path|policy|type|namespace|selector|class|provider)$", re.IGNORECASE
).search


def shown_object(kind: Kind, obj: JsonObject) -> JsonObject:
    """Without managed fields and secrets, in the order in which manifests are written."""
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


def _hidden(value: Json, depth: int) -> Json:
    match value:
        case dict() | list() if depth >= DEEPEST and value:
            return TOO_DEEP
        case dict():
            return {name: _field(name, each, depth) for name, each in _entries(value)}
        case list():
            return [_hidden(each, depth + 1) for each in value]
        case str():
            return without_credentials(value)
    return value


def _entries(value: JsonObject) -> list[tuple[str, Json]]:
    """An environment variable is a name and a value beside it."""
    name = value.get("name")
    if isinstance(name, str) and isinstance(value.get("value"), str) and value["value"] and is_secret_name(name):
        return [(key, _marked(each) if key == "value" else each) for key, each in value.items()]
    return list(value.items())


def _field(name: str, value: Json, depth: int) -> Json:
    if is_secret_name(name) and not _is_reference(name):
        if isinstance(value, str) and value and not value.startswith(_MARK):
            return _marked(value)
        if isinstance(value, list) and value and all(isinstance(each, str) for each in value):
            return [_marked(each) for each in value]
    return _hidden(value, depth + 1)


def _marked(text: str) -> str:
    return f"{_MARK}, {len(text)} characters)"


def _secret_size(part: str, text: Json) -> str:
    if not isinstance(text, str):
        return HIDDEN
    size = len(text) * 3 // 4 - text[-2:].count("=") if part == "data" else len(text.encode(errors="replace"))
    return f"{_MARK}, {size} bytes)"


def _dict(value: Json) -> JsonObject:
    return value if isinstance(value, dict) else {}
