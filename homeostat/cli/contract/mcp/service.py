"""The API of a running service as tools: one an operation of its contract's OpenAPI documents, and `pacto_skill`."""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from homeostat.cli.contract.mcp.calling import Caller, call_schema
from homeostat.cli.contract.session.loaded import Loaded
from homeostat.cli.contract.session.result import ContractFailure
from homeostat.cli.contract.session.session import Session
from homeostat.cli.contract.session.settings import Settings
from homeostat.edge.proxies import read_proxies
from homeostat.external.addresses import UrlError, check_url
from homeostat.external.rest.client import RestClient
from homeostat.external.rest.settings import RestSettings
from homeostat.objects.json import Json, JsonObject
from homeostat.operators.contracts.engine.openapi.operation import Api, Operation, Scheme, read_api
from homeostat.operators.contracts.engine.views.doc import summary_sentence
from homeostat.web.mcp.tool import Tool

SKILL: Final = "pacto_skill"
_SKILLS: Final = "skills/"
_MOST_SKILL_BYTES: Final = 64 << 10
_LARGEST_CREDENTIAL: Final = 64 << 10


class Service:
    def __init__(
        self, loaded: Loaded, apis: Mapping[str, Api], callers: Mapping[str, Caller], client: RestClient
    ) -> None:
        self._loaded, self._apis, self._callers, self._client = loaded, apis, callers, client
        self.name = loaded.parsed.contract.service.name

    @classmethod
    async def load(cls, settings: Settings, ref: str, *, base_url: str, auths: Sequence[str]) -> Service:
        async with Session(settings) as session:
            loaded = await session.load(ref)
        apis = _apis(loaded)
        if not apis:
            raise ContractFailure("no http interface of the contract has an OpenAPI document with operations")
        # A URL that somebody else wrote into a document must not lead into this network.
        client = RestClient(RestSettings(allows_private=bool(base_url), proxies=read_proxies(os.environ)))
        credentials = dict(map(_credential, auths))
        callers = {
            name: Caller(client, _base_url(name, api, base_url), _headers(api.schemes, credentials))
            for name, api in apis.items()
        }
        return cls(loaded, apis, callers, client)

    async def __aenter__(self) -> Service:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.close()

    def tools(self, *, can_write: bool) -> list[Tool]:
        found: dict[str, Tool] = {}
        for name, api in self._apis.items():
            for each in api.operations:
                if each.is_reading or can_write:
                    tool = self._tool(name, each, taken=found)
                    found[tool.name] = tool
        return [self._skill(list(found.values()), can_write=can_write), *found.values()]

    def _tool(self, interface: str, operation: Operation, *, taken: Mapping[str, Tool]) -> Tool:
        caller = self._callers[interface]

        async def call(arguments: JsonObject) -> Json:
            return await caller.call(operation, arguments)

        name = operation.id if operation.id not in taken and operation.id != SKILL else f"{interface}_{operation.id}"
        text = operation.summary or operation.description or f"{operation.method} {operation.path}"
        return Tool(
            name="".join(each if each.isalnum() or each in "_.-" else "_" for each in name)[:128],
            title=operation.summary or operation.id,
            description=f"{text} ({operation.method} {operation.path})",
            input_schema=call_schema(operation),
            is_reading=operation.is_reading,
            reaches_out=True,
            call=call,
        )

    def _skill(self, tools: Sequence[Tool], *, can_write: bool) -> Tool:
        text = self._skill_text(tools, can_write=can_write)

        async def call(arguments: JsonObject) -> Any:  # noqa: ARG001
            return text

        return Tool(
            name=SKILL,
            title=f"How to use {self.name}",
            description=f"Describe the service {self.name}, its tools and how to use them.",
            input_schema={"type": "object", "additionalProperties": False},
            call=call,
        )

    def _skill_text(self, tools: Sequence[Tool], *, can_write: bool) -> str:
        service = self._loaded.parsed.contract.service
        lines = [
            f"# {service.name} {service.version}",
            "",
            f"{service.name} {summary_sentence(self._loaded.parsed.contract)}",
        ]
        for name, api in self._apis.items():
            lines += ["", f"## {api.title or name}", "", *([api.description, ""] if api.description else [])]
        lines += ["## Tools", "", *(f"- `{each.name}`: {each.description}" for each in tools)]
        if not can_write:
            lines += [
                "",
                "Operations that may change something are left out; --allow-writes offers them.",
            ]
        files = self._loaded.files
        for path in sorted(files):
            if path.startswith(_SKILLS) and path.endswith(".md"):
                lines += ["", files[path][:_MOST_SKILL_BYTES].decode(errors="replace").strip()]
        return "\n".join(lines) + "\n"


def _apis(loaded: Loaded) -> dict[str, Api]:
    found = {}
    for each in loaded.parsed.contract.interfaces:
        api = read_api(loaded.files, each.contract) if each.type == "http" and each.contract else None
        if api is not None and api.operations:
            found[each.name] = api
    return found


def _base_url(interface: str, api: Api, given: str) -> str:
    url = given or next((each for each in api.servers if each.startswith(("http://", "https://"))), "")
    if not url:
        raise ContractFailure(f'the document of the interface "{interface}" names no server; pass --base-url')
    try:
        check_url(url, allows_private=bool(given))
        parts = urlsplit(url)
        if parts.query or parts.fragment or parts.username or parts.password:
            raise UrlError("the URL must have no credentials, query and fragment; pass credentials with --auth")
    except UrlError as error:
        source = "--base-url" if given else f'the server of the interface "{interface}"'
        raise ContractFailure(f"{source}: {error}{'' if given else '; pass --base-url'}") from error
    return url.rstrip("/")


def _credential(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name or not value:
        raise ContractFailure("--auth takes NAME=VALUE or NAME=@FILE")
    if value.startswith("@"):
        with Path(value[1:]).open("rb") as file:
            value = file.read(_LARGEST_CREDENTIAL).decode(errors="replace").strip()
    return name, value


def _headers(schemes: Mapping[str, Scheme], credentials: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Headers and query parameters that identify the caller."""
    headers: dict[str, str] = {}
    query: dict[str, str] = {}
    for name, value in credentials.items():
        scheme = schemes.get(name)
        match scheme:
            case Scheme(type="http", scheme="basic"):
                headers["Authorization"] = f"Basic {base64.b64encode(value.encode()).decode()}"
            case Scheme(type="http" | "oauth2" | "openIdConnect"):
                headers["Authorization"] = f"Bearer {value}"
            case Scheme(type="apiKey", place="query"):
                query[scheme.name] = value
            case Scheme(type="apiKey", place="cookie"):
                headers["Cookie"] = f"{scheme.name}={value}"
            case Scheme(type="apiKey"):
                headers[scheme.name] = value
            case _:
                headers[name] = value
    return headers, query
