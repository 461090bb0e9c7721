"""Reads the objects of manifest files and sorts them into an order in which they can be created.

CustomResourceDefinitions and namespaces come first, because others need them; otherwise the order of the files stays.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from homeostat.cli.completion.words import complete_files
from homeostat.cli.console.failure import Failure, UsageFailure
from homeostat.objects import yaml
from homeostat.objects.errors import ApiError
from homeostat.objects.json import Json, JsonObject

F = TypeVar("F", bound=Callable[..., Any])
_SUFFIXES = (".yaml", ".yml", ".json")
_ENDINGS = ", ".join(_SUFFIXES)
_LIMIT_BYTES = 64 << 20
_EXAMPLES = {"kind": "kind: ConfigMap", "apiVersion": "apiVersion: v1"}
_FIRST = {"CustomResourceDefinition": 0, "Namespace": 1}


def files_option(*, is_required: bool) -> Callable[[F], F]:
    return click.option(
        "-f",
        "--filename",
        "files",
        multiple=True,
        required=is_required,
        metavar="FILE|-|DIR",
        shell_complete=complete_files,
        help="File or directory with YAML or JSON, - for standard input; may be given several times.",
    )


def read_manifests(files: Sequence[str], *, adopt: Callable[[Json], Json] | None = None) -> list[JsonObject]:
    """All objects of the files, in order. A directory stands for its YAML and JSON files, not for its subdirectories.

    `adopt` converts documents of another form into objects, and returns all others unchanged.
    """
    found = [obj for path in files for source in _sources(path) for obj in _objects(source, adopt)]
    if not found:
        hint = f"; of a directory only {_ENDINGS} files right in it are read" if any(map(os.path.isdir, files)) else ""
        raise Failure(f"there are no objects in {', '.join(map(_label, files))}{hint}")
    return sorted(found, key=lambda obj: _FIRST.get(obj["kind"], 2))


def _sources(path: str) -> Sequence[str]:
    if path == "-" or not Path(path).is_dir():
        return [path]
    return sorted(str(each) for each in Path(path).iterdir() if each.suffix in _SUFFIXES and each.is_file())


def _objects(source: str, adopt: Callable[[Json], Json] | None) -> Iterator[JsonObject]:
    label = _label(source)
    try:
        data = sys.stdin.buffer.read() if source == "-" else Path(source).read_bytes()
        for number, value in enumerate(yaml.load_all(data, limit=_LIMIT_BYTES), start=1):
            yield from _unpacked(adopt(value) if adopt is not None else value, label, f"document {number}")
    except OSError as error:
        raise UsageFailure(f"cannot read {label}: {error.strerror}") from error
    except ApiError as error:
        raise Failure(f"{label}: {error.message}") from error


def _label(source: str) -> str:
    return "standard input" if source == "-" else source


def _unpacked(value: Json, label: str, place: str) -> Iterable[JsonObject]:
    """The object, or those of a `List`."""
    if not isinstance(value, dict):
        raise Failure(f"{label}: expected an object, got {value!r:.40}")
    kind, api_version = (_text_of(value, field, f"{label}: {place}") for field in ("kind", "apiVersion"))
    if kind == "List" and api_version == "v1":
        items = value.get("items")
        for number, item in enumerate(items if isinstance(items, list) else (), start=1):
            yield from _unpacked(item, label, f"item {number} of {place}")
        return
    metadata = value.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str) or not metadata["name"]:
        raise Failure(f"{label}: a {kind} has no metadata.name; set metadata.name")
    if not isinstance(metadata.get("namespace", ""), str):
        raise Failure(f'{label}: the namespace of {kind} "{metadata["name"]}" is not a string')
    yield value


def _text_of(value: JsonObject, field: str, where: str) -> str:
    found = value.get(field)
    if found is None or found == "":
        raise Failure(f"{where} has no {field}; set it, as in {_EXAMPLES[field]}")
    if not isinstance(found, str):
        raise Failure(f"{where}: {field} is {found!r:.40}; expected a string, as in {_EXAMPLES[field]}")
    return found
