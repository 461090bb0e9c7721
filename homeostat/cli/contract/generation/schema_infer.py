"""The built-in plugin schema-infer: a JSON Schema from a sample of configuration values.

    homeostat contract generate schema-infer billing --option file=settings.yaml

It is built in and not a program of its own, so that it is there wherever the command is. A program
`pacto-plugin-schema-infer` on PATH is used instead.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from datetime import date, datetime, time
from pathlib import Path
from typing import Any, Final

import msgspec

from homeostat.cli.contract.session.result import ContractFailure
from homeostat.external.files import read_limited
from homeostat.objects.errors import BadRequestError
from homeostat.objects.json import Json, decode
from homeostat.operators.contracts.engine.document.reader import YamlError, read_value
from homeostat.operators.contracts.engine.plugin import PluginAnswer, PluginFile
from homeostat.operators.contracts.engine.schema.infer import infer_schema

NAME: Final = "schema-infer"
_FILE: Final = "schema.json"
_LARGEST: Final = 10 << 20


def generate(options: Mapping[str, str], bundle_dir: str) -> PluginAnswer:
    unknown = sorted(set(options) - {"file"})
    if "file" not in options or unknown:
        raise ContractFailure(f"{NAME} takes one option, --option file=SAMPLE, a JSON, YAML or TOML file")
    path = options["file"]
    sample = _parse(path, _read(path, bundle_dir))
    if not isinstance(sample, dict):
        raise ContractFailure(f'"{path}" does not hold a map of keys and values')
    schema = msgspec.json.format(msgspec.json.encode(infer_schema(sample)), indent=2).decode()
    return PluginAnswer((PluginFile(_FILE, f"{schema}\n"),), f"inferred from {path}: {len(sample)} keys")


def _read(path: str, bundle_dir: str) -> bytes:
    """A relative path is one of the working directory, else one of the bundle."""
    inside = os.path.join(bundle_dir, path)
    found = path if os.path.exists(path) or not os.path.exists(inside) else inside
    try:
        return read_limited(Path(found), _LARGEST)
    except OSError as error:
        raise ContractFailure(f'cannot read "{path}": {error.strerror}') from error


def _parse(path: str, data: bytes) -> Json:
    try:
        match Path(path).suffix.lower():
            case ".json":
                return decode(data)
            case ".toml":
                return _plain(tomllib.loads(data.decode()))
        return read_value(data)
    except (BadRequestError, YamlError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ContractFailure(f'cannot parse "{path}": {error}') from error


def _plain(value: Any) -> Json:
    """TOML has dates, which JSON writes as text."""
    match value:
        case dict():
            return {key: _plain(each) for key, each in value.items()}
        case list():
            return [_plain(each) for each in value]
        case datetime() | date() | time():
            return value.isoformat()
    return value
