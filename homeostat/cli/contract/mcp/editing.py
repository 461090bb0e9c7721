"""Tools that write contracts: a new one, and changes of one. Without permission to write they return the text only."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from homeostat.cli.contract.init import is_service_name
from homeostat.cli.contract.session.files import write_files
from homeostat.cli.contract.session.result import ContractFailure
from homeostat.objects import yaml
from homeostat.objects.json import Json, JsonObject, without_nulls
from homeostat.operators.contracts.engine.document.overrides import merge
from homeostat.operators.contracts.engine.document.parse import ParseError, read_contract
from homeostat.operators.contracts.engine.files import CONTRACT_FILE, Files
from homeostat.operators.contracts.engine.finding import Findings
from homeostat.operators.contracts.engine.scaffold import new_bundle
from homeostat.operators.contracts.engine.validate import validate_files
from homeostat.operators.contracts.sources.directory import Directory
from homeostat.operators.contracts.sources.errors import SourceError
from homeostat.web.mcp.tool import Tool, ToolError

LONGEST_PATH: Final = 4096
"""Characters. To resolve a path takes the square of its steps: of a million of them, minutes."""
_LONGEST_NAME: Final = 253
_FIELDS: Final = {
    "type": "object",
    "description": "Fields of pacto.yaml to set. Maps are merged, lists are replaced, null removes a field.",
}


class Editor:
    """`inside` returns the path of a directory that may be used, or raises `ToolError`."""

    def __init__(self, inside: Callable[[str], Path], *, can_write: bool) -> None:
        self._inside, self._can_write = inside, can_write

    def create_tool(self, name: str = "pacto_create") -> Tool:
        properties: JsonObject = {
            "name": {
                "type": "string",
                "maxLength": _LONGEST_NAME,
                "description": "Name of the service: lower case letters, digits and dashes.",
            },
            "fields": _FIELDS,
        }
        if self._can_write:
            properties["directory"] = {
                "type": "string",
                "maxLength": LONGEST_PATH,
                "description": "Write the bundle to this new directory.",
            }
        return Tool(
            name=name,
            title="Create a contract",
            description="Create a contract for a service, with example files, and validate it. Returns all files.",
            input_schema=_schema(properties, "name"),
            is_reading=not self._can_write,
            call=self._create,
        )

    def edit_tool(self) -> Tool:
        properties: JsonObject = {
            "ref": {"type": "string", "maxLength": LONGEST_PATH, "description": "Directory of the contract."},
            "fields": _FIELDS,
        }
        if self._can_write:
            properties["write"] = {
                "type": "boolean",
                "description": "Write pacto.yaml; refused if the result is invalid. Comments are lost.",
            }
        return Tool(
            name="pacto_edit",
            title="Edit a contract",
            description="Set fields of a contract and validate the result. Returns the new text.",
            input_schema=_schema(properties, "ref", "fields"),
            is_reading=not self._can_write,
            call=self._edit,
        )

    async def _create(self, arguments: JsonObject) -> Json:
        # Large fields take half a second to validate; others are answered meanwhile.
        return await asyncio.to_thread(self._created, arguments)

    async def _edit(self, arguments: JsonObject) -> Json:
        return await asyncio.to_thread(self._edited, arguments)

    def _created(self, arguments: JsonObject) -> Json:
        name = str(arguments["name"])
        if not is_service_name(name):
            raise ToolError(f'"{name}" is not a name of a service; use lower case letters, digits and dashes')
        files = new_bundle(name)
        if arguments.get("fields"):
            files[CONTRACT_FILE] = _changed(files[CONTRACT_FILE], arguments["fields"])
        found = finding_fields(validate_files(files).findings)
        directory = arguments.get("directory")
        if directory:
            target = self._inside(str(directory))
            if target.exists():
                raise ToolError(f'"{directory}" exists; choose another directory, or change it with pacto_edit')
            _write(target, files)
        texts = {path: data.decode() for path, data in files.items()}
        return {**found, "written": directory or None, "files": texts}

    def _edited(self, arguments: JsonObject) -> Json:
        ref = str(arguments["ref"])
        root = self._inside(ref)
        try:
            files: Files = Directory(root)
            before = files[CONTRACT_FILE]
        except SourceError as error:
            raise ToolError(str(error)) from error
        except KeyError as error:
            raise ToolError(f'"{ref}" has no {CONTRACT_FILE}') from error
        changed = _changed(before, arguments["fields"])
        found = finding_fields(validate_files({**files, CONTRACT_FILE: changed}).findings)
        is_written = bool(arguments.get("write"))
        if is_written and not found["valid"]:
            problems = "; ".join(f"{each['path']}: {each['message']}" for each in found["errors"][:5])
            raise ToolError(f"nothing was written, because the result is invalid: {problems}")
        if is_written:
            _write(root, {CONTRACT_FILE: changed})
        return {**found, "written": ref if is_written else None, "text": changed.decode()}


def _schema(properties: JsonObject, *required: str) -> JsonObject:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def _changed(data: bytes, fields: JsonObject) -> bytes:
    try:
        value = read_contract(data).as_written()
    except ParseError as error:
        raise ToolError(str(error)) from error
    return yaml.dump(without_nulls(merge(value, fields)))


def finding_fields(findings: Findings) -> JsonObject:
    return {
        "valid": findings.is_valid,
        "errors": [msgspec.to_builtins(each) for each in findings.errors],
        "warnings": [msgspec.to_builtins(each) for each in findings.warnings],
    }


def _write(directory: Path, files: Files) -> None:
    try:
        write_files(directory, files)
    except ContractFailure as error:
        raise ToolError(error.message) from error
    except OSError as error:
        raise ToolError(f"cannot write: {error.strerror or error}") from error
