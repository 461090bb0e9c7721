"""Compares OpenAPI documents: paths, methods, parameters, request bodies and responses. Pure.

References are compared as text, and parameters of path items are not compared. Status codes are strings, also if they
are written as numbers. An unreadable file has no differences, because validation reports it.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import UNSET

from homeostat.objects.errors import BadRequestError
from homeostat.objects.json import Json, JsonObject, decode, encode
from homeostat.operators.contracts.engine.diff.change import Change, make_change
from homeostat.operators.contracts.engine.diff.json_diff import is_same
from homeostat.operators.contracts.engine.document.reader import YamlError, read_value
from homeostat.operators.contracts.engine.files import Files

METHODS = ("delete", "get", "head", "options", "patch", "post", "put", "trace")


def diff_openapi_files(old: tuple[Files, str], new: tuple[Files, str]) -> list[Change]:
    before, after = read_paths(*old), read_paths(*new)
    return [] if before is None or after is None else list(_diff_paths(before, after))


def read_paths(files: Files, name: str) -> JsonObject | None:
    """Return path items by path; None if the document cannot be read."""
    value = read_specification(files, name)
    if not isinstance(value, dict):
        return None
    paths = value.get("paths") or {}
    if not isinstance(paths, dict) or not all(isinstance(each, dict | None) for each in paths.values()):
        return None
    return {path: item or {} for path, item in paths.items()}


def read_specification(files: Files, name: str) -> Json:
    """Read an interface file from YAML or JSON; None if it is missing or unreadable."""
    data = files.get(name)
    if data is None:
        return None
    try:
        return decode(data) if data.lstrip()[:1] == b"{" else read_value(data)
    except BadRequestError:
        return _read_yaml(data)
    except YamlError:
        return None


def _read_yaml(data: bytes) -> Json:
    try:
        return read_value(data)
    except YamlError:
        return None


def _diff_paths(old: JsonObject, new: JsonObject) -> Iterator[Change]:
    for path in sorted(old.keys() | new.keys()):
        place = f"openapi.paths[{path}]"
        if path not in new:
            yield make_change(place, "removed", path, rule="openapi.paths", subject=f"API path {path}")
        elif path not in old:
            yield make_change(place, "added", new=path, rule="openapi.paths", subject=f"API path {path}")
        else:
            yield from _diff_methods(path, old[path], new[path])


def _diff_methods(path: str, old: JsonObject, new: JsonObject) -> Iterator[Change]:
    for method in METHODS:
        name = f"{method.upper()} {path}"
        place = f"openapi.paths[{path}].methods[{method.upper()}]"
        if method in old and method not in new:
            yield make_change(place, "removed", name, rule="openapi.methods", subject=f"{name} method")
        elif method in new and method not in old:
            yield make_change(place, "added", new=name, rule="openapi.methods", subject=f"{name} method")
        elif method in old:
            yield from _diff_operation(place, name, _map(old[method]), _map(new[method]))


def _diff_operation(place: str, name: str, old: JsonObject, new: JsonObject) -> Iterator[Change]:
    for key, (before, after) in _pairs(_parameters(old), _parameters(new)):
        parameter = _map(before) or _map(after)
        shown = f"{name} {_text(parameter.get('in'))} param '{_text(parameter.get('name'))}'"
        yield from _diff_part(f"{place}.parameters[{key}]", "openapi.parameters", (shown, shown), before, after)
    before, after = old.get("requestBody", UNSET), new.get("requestBody", UNSET)
    labels = (f"{name} request body", name)
    yield from _diff_part(f"{place}.request-body", "openapi.request-body", labels, before, after)
    for code, (before, after) in _pairs(_map(old.get("responses")), _map(new.get("responses"))):
        labels = (f"{name} response {code}", f"{name} {code}")
        yield from _diff_part(f"{place}.responses[{code}]", "openapi.responses", labels, before, after)


def _diff_part(place: str, rule: str, labels: tuple[str, str], old: Json, new: Json) -> Iterator[Change]:
    """Compare one part; `labels` are the subject of the change and the value shown for an added or removed part."""
    subject, shown = labels
    if old is UNSET and new is UNSET:
        return
    if new is UNSET:
        yield make_change(place, "removed", shown, rule=rule, subject=subject)
    elif old is UNSET:
        yield make_change(place, "added", new=shown, rule=rule, subject=subject)
    elif not is_same(old, new):
        before, after = summarize(old, new)
        yield make_change(place, "modified", before, after, rule=rule, subject=subject)


def _pairs(old: JsonObject, new: JsonObject) -> Iterator[tuple[str, tuple[Json, Json]]]:
    for key in sorted(old.keys() | new.keys()):
        yield key, (old.get(key, UNSET), new.get(key, UNSET))


def _parameters(operation: JsonObject) -> JsonObject:
    listed = operation.get("parameters")
    parameters = [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
    keyed = {f"{_text(each.get('name'))}:{_text(each.get('in'))}": each for each in parameters}
    return {key: each for key, each in keyed.items() if key != ":"}


def summarize(old: Json, new: Json) -> tuple[str, str]:
    """Return the differing keys and values of both sides, with dotted keys."""
    before, after = dict(_flat(old, "")), dict(_flat(new, ""))
    keys = sorted(key for key in before.keys() | after.keys() if before.get(key) != after.get(key))
    return (
        ", ".join(f"{key}={before[key]}" for key in keys if key in before),
        ", ".join(f"{key}={after[key]}" for key in keys if key in after),
    )


def _flat(value: Json, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from _flat(item, f"{path}.{key}" if path else key)
    else:
        yield path, value if isinstance(value, str) else encode(value).decode()


def _map(value: Json) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""
