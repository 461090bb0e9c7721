"""Tools that read contracts: of directories below the working directory, and of registries."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, Final

import click
import msgspec

from homeostat.cli.contract.fleet.fleet import Fleet, read_directory
from homeostat.cli.contract.mcp.editing import LONGEST_PATH, Editor, finding_fields
from homeostat.cli.contract.session.loaded import Loaded
from homeostat.cli.contract.session.session import Session
from homeostat.cli.contract.session.settings import Settings
from homeostat.objects.json import Json, JsonObject
from homeostat.operators.contracts.engine.document.contract import V1_2, VERSIONS
from homeostat.operators.contracts.engine.document.parse import ParseError
from homeostat.operators.contracts.engine.fleet import dependency_target
from homeostat.operators.contracts.engine.lock.lock import LockError
from homeostat.operators.contracts.engine.plugin import contract_fields
from homeostat.operators.contracts.engine.reference import is_oci, location
from homeostat.operators.contracts.engine.schema.contract_schema import contract_schema
from homeostat.operators.contracts.engine.views.doc import endpoints, render_doc
from homeostat.operators.contracts.engine.views.explain import explain_fields, interface_fields
from homeostat.operators.contracts.sources.errors import SourceError
from homeostat.web.mcp.tool import Tool, ToolError

_MOST_SUGGESTED: Final = 500
_REF: Final = {
    "type": "string",
    "maxLength": LONGEST_PATH,
    "description": "Directory of a contract, or oci://HOST/REPOSITORY[:TAG][@DIGEST].",
}
_MANIFESTS: Final = {
    "type": "array",
    "items": {"type": "string", "maxLength": LONGEST_PATH},
    "maxItems": 100,
    "description": "Files or directories with Kubernetes manifests to check against the contract.",
}

Read = Callable[[Session, Loaded], Awaitable[Json]]


def contract_tools(settings: Settings, root: str, *, can_write: bool) -> list[Tool]:
    """`root` is the directory that holds all local contracts."""
    shelf = Shelf(settings, Path(root).resolve())
    editor = Editor(shelf.inside, can_write=can_write)
    return [
        editor.create_tool(),
        Editor(shelf.inside, can_write=False).create_tool("pacto_generate_contract"),
        editor.edit_tool(),
        shelf.tool("pacto_check", "Check a contract", _CHECK, _validate, manifests=_MANIFESTS),
        shelf.tool("pacto_validate", "Validate a contract", "Validate a contract with all its policies.", _validate),
        shelf.tool("pacto_inspect", "Read a contract", "Return all fields of a contract as JSON.", _inspect),
        shelf.tool("pacto_explain", "Explain a contract", "Summarize what a contract declares.", _explain),
        shelf.tool(
            "pacto_list_interfaces", "List interfaces", "List the interfaces of a contract and their operations.", _list
        ),
        shelf.tool(
            "pacto_resolve_dependencies",
            "Resolve dependencies",
            "Resolve the dependencies of a contract at every depth, with cycles and conflicts.",
            _resolve,
        ),
        shelf.tool(
            "pacto_suggest_dependencies",
            "Suggest dependencies",
            "List contracts of the working directory that a contract could depend on, as entries for `dependencies`.",
            shelf.suggest,
        ),
        shelf.tool("pacto_generate_docs", "Document a contract", "Render a contract as Markdown.", _document),
        _schema_tool(),
    ]


_CHECK: Final = (
    "Validate a contract; with manifests, also check the Service and the workload in them against it, as the operator "
    "checks what runs."
)


class Shelf:
    def __init__(self, settings: Settings, root: Path) -> None:
        self._settings, self._root = settings, root

    def tool(self, name: str, title: str, description: str, read: Read, **further: JsonObject) -> Tool:
        async def call(arguments: JsonObject) -> Json:
            if arguments.get("manifests"):
                return await self._checked(arguments)
            return await self._read(str(arguments["ref"]), read)

        schema: JsonObject = {
            "type": "object",
            "properties": {"ref": _REF, **further},
            "required": ["ref"],
            "additionalProperties": False,
        }
        return Tool(name=name, title=title, description=description, input_schema=schema, reaches_out=True, call=call)

    def inside(self, path: str) -> Path:
        """A path below the root; links that lead out of it are refused."""
        try:
            found = Path(os.path.realpath(self._root / location(path)))
        except ValueError as error:
            raise ToolError(f"{path!r} is not a path: {error}") from error
        if not found.is_relative_to(self._root):
            raise ToolError(f'"{path}" is outside of the working directory of this server')
        return found

    async def suggest(self, session: Session, loaded: Loaded) -> Json:
        try:
            fleet = await asyncio.to_thread(read_directory, str(self._root))
        except click.ClickException as error:
            raise ToolError(error.message) from error
        return {"dependencies": list(_suggestions(loaded, fleet, str(self._root)))}

    def _local(self, path: str) -> str:
        return os.path.relpath(self.inside(path), self._root)

    def _ref(self, ref: str) -> str:
        return ref if is_oci(ref) else self._local(ref)

    async def _read(self, ref: str, read: Read) -> Json:
        try:
            async with Session(self._settings) as session:
                return await read(session, await session.load(self._ref(ref)))
        except (SourceError, ParseError, LockError) as error:
            raise ToolError(str(error)) from error
        except OSError as error:
            raise ToolError(f"cannot read: {error.strerror or error}") from error

    async def _checked(self, arguments: JsonObject) -> Json:
        from homeostat.cli.contract.target.checking import Request, check

        files = tuple(map(self._local, arguments["manifests"]))
        try:
            checked = await check(self._settings, Request(ref=self._ref(str(arguments["ref"])), files=files))
        except click.ClickException as error:
            raise ToolError(error.message) from error
        return checked.fields(checked.report)


def _suggestions(loaded: Loaded, fleet: Fleet, root: str) -> Iterator[JsonObject]:
    """The services of the directory that the contract does not name yet, each once."""
    contract = loaded.parsed.contract
    known = {contract.service.name, *(dependency_target(each) for each in contract.dependencies)}
    for each in fleet.members[:_MOST_SUGGESTED]:
        name, version = each.contract.service.name, each.contract.service.version
        if name not in known:
            known.add(name)
            ref = os.path.relpath(each.place, loaded.root or root)
            yield {"name": name, "ref": ref, "required": False, "compatibility": f"^{version}"}


async def _validate(session: Session, loaded: Loaded) -> Json:
    findings = (await session.closure(loaded).validate(loaded.parsed, loaded.files)).findings
    return finding_fields(findings)


async def _inspect(session: Session, loaded: Loaded) -> Json:  # noqa: ARG001
    return contract_fields(loaded.parsed.contract)


async def _explain(session: Session, loaded: Loaded) -> Json:  # noqa: ARG001
    return explain_fields(loaded.parsed.contract, _today())


async def _list(session: Session, loaded: Loaded) -> Json:  # noqa: ARG001
    contract = loaded.parsed.contract
    found: list[JsonObject] = []
    for fields, interface in zip(interface_fields(contract), contract.interfaces, strict=True):
        operations = [msgspec.to_builtins(each) for each in endpoints(loaded.bundle, interface)]
        found.append({**fields, **({"operations": operations} if operations else {})})
    return {"interfaces": found}


async def _resolve(session: Session, loaded: Loaded) -> Json:
    graph, _ = await session.closure(loaded).graph(loaded.parsed.contract)
    return msgspec.to_builtins(graph)


async def _document(session: Session, loaded: Loaded) -> Json:
    graph, _ = await session.closure(loaded).graph(loaded.parsed.contract)
    return render_doc(loaded.bundle, graph, _today())


def _schema_tool() -> Tool:
    async def call(arguments: JsonObject) -> Any:
        return contract_schema(str(arguments.get("version", V1_2)))

    version = {"type": "string", "enum": list(VERSIONS), "description": f"Version of the format; {V1_2} by default."}
    return Tool(
        name="pacto_schema",
        title="Schema of contracts",
        description="Return the JSON Schema of pacto.yaml.",
        input_schema={"type": "object", "properties": {"version": version}, "additionalProperties": False},
        call=call,
    )


def _today() -> date:
    return datetime.now(UTC).date()
