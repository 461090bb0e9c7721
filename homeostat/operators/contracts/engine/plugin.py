"""The exchange with plugins: the request they read and the answer they write. Pure.

A plugin is a program that reads one JSON object and writes another: files to create below an output directory. Its
answer comes from outside, so paths that leave the directory are refused before anything is written.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from homeostat.objects.json import JsonObject
from homeostat.operators.contracts.engine.document.contract import Contract, Owner
from homeostat.operators.contracts.engine.files import is_path

PROTOCOL: Final = "1"
MAX_ANSWER_BYTES: Final = 64 * 1024 * 1024
TIMEOUT_S: Final = 60


class PluginError(ValueError):
    """The plugin's answer is invalid."""


class PluginFile(msgspec.Struct, frozen=True):
    path: str
    content: str = ""


class PluginAnswer(msgspec.Struct, frozen=True):
    files: tuple[PluginFile, ...] = ()
    message: str = ""


def contract_fields(contract: Contract) -> JsonObject:
    """Return the contract as JSON; `owner`, and `required` of a dependency, are always present."""
    fields: JsonObject = msgspec.to_builtins(contract)
    for dependency, declared in zip(fields.get("dependencies", ()), contract.dependencies, strict=True):
        dependency["required"] = declared.required
    service: JsonObject = {"name": contract.service.name, "version": contract.service.version}
    owner = contract.service.owner
    service["owner"] = msgspec.to_builtins(owner) if isinstance(owner, Owner) else {"team": owner} if owner else {}
    for name in ("image", "chart"):
        if name in fields["service"]:
            service[name] = fields["service"][name]
    return {"pactoVersion": contract.pacto_version, "service": service} | {
        key: value for key, value in fields.items() if key not in ("pactoVersion", "service")
    }


def plugin_request(contract: Contract, *, bundle_dir: str, output_dir: str, options: Mapping[str, str]) -> bytes:
    return msgspec.json.encode(
        {
            "protocolVersion": PROTOCOL,
            "contract": contract_fields(contract),
            "bundleDir": bundle_dir,
            "outputDir": output_dir,
            "options": dict(options),
        }
    )


def read_answer(data: bytes) -> PluginAnswer:
    """Read an answer; raises `PluginError` if it is invalid or has a path outside the output directory."""
    if len(data) > MAX_ANSWER_BYTES:
        raise PluginError(f"the plugin wrote {len(data)} bytes, more than {MAX_ANSWER_BYTES}")
    try:
        answer = msgspec.json.decode(data, type=PluginAnswer)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise PluginError(f"the plugin's output is not the expected JSON: {error}") from error
    for each in answer.files:
        if not is_path(each.path) or "\\" in each.path:
            raise PluginError(f'plugin file path "{each.path}" escapes output directory')
    return answer
