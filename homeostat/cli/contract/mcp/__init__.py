"""`homeostat contract mcp`: contracts, or the API of one service, as tools of language models."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from homeostat.cli.contract.session.session import run
from homeostat.cli.contract.session.settings import Settings, current_settings

if TYPE_CHECKING:
    from homeostat.web.mcp.server import McpServer

_PORT = 8585


@click.command(short_help="Serve contracts to language models.")
@click.argument("ref", metavar="[BUNDLE]", default="")
@click.option(
    "-t",
    "--transport",
    type=click.Choice(["stdio", "http"]),
    default="stdio",
    show_default=True,
    help="Standard input and output, or HTTP on this machine.",
)
@click.option("--port", type=click.IntRange(0, 65535), default=_PORT, show_default=True, help="Of http.")
@click.option(
    "--base-url", default="", metavar="URL", help="Where the service of BUNDLE is.  [default: its document's]"
)
@click.option(
    "--auth",
    "auths",
    multiple=True,
    metavar="NAME=VALUE",
    help="Credential for a security scheme of the document, or a header; VALUE may be @FILE. May be repeated.",
)
@click.option("--allow-writes", is_flag=True, help="Offer tools that change something.")
def command(ref: str, transport: str, port: int, base_url: str, auths: tuple[str, ...], allow_writes: bool) -> None:
    """Serve tools over the Model Context Protocol.

    Without BUNDLE, the tools work with contracts: create, edit, check, explain, and more. Local contracts are those in
    the working directory and below it. Tools that write files are offered over stdio, and over http with
    --allow-writes.

    With BUNDLE, each operation of its OpenAPI documents is a tool that calls the running service, and pacto_skill
    describes them all. Operations that may change something need --allow-writes. The service is at --base-url, or at
    the server that the document names, which then has to be on the public network.

    \b
    Examples:
      homeostat contract mcp
      homeostat contract mcp -t http --port 8585
      homeostat contract mcp oci://registry.example.org/contracts/billing --base-url http://localhost:8080
      homeostat contract mcp billing --base-url http://localhost:8080 --auth bearer=@token --allow-writes
    """
    if not ref and (base_url or auths):
        raise click.UsageError("--base-url and --auth are for the service of a BUNDLE; name one")
    run(_serve(current_settings(), ref, transport, port, base_url, auths, allow_writes))


async def _serve(
    settings: Settings,
    ref: str,
    transport: str,
    port: int,
    base_url: str,
    auths: tuple[str, ...],
    allow_writes: bool,
) -> None:
    from homeostat.cli.contract.mcp.contracts import contract_tools
    from homeostat.cli.contract.mcp.service import Service
    from homeostat.web.mcp.server import McpServer

    if not ref:
        tools = contract_tools(settings, os.getcwd(), can_write=allow_writes or transport == "stdio")
        about = (
            "Create, edit, check and explain service contracts (pacto.yaml). Begin with pacto_schema or pacto_check."
        )
        await _run(McpServer(tools, instructions=about), transport, port)
        return
    async with await Service.load(settings, ref, base_url=base_url, auths=auths) as service:
        tools = service.tools(can_write=allow_writes)
        about = f"Call the service {service.name}. Begin with pacto_skill, which describes all tools."
        await _run(McpServer(tools, instructions=about), transport, port)


async def _run(server: McpServer, transport: str, port: int) -> None:
    if transport == "stdio":
        from homeostat.cli.contract.mcp.stdio import serve_stdio

        await serve_stdio(server)
        return
    from homeostat.cli.contract.session.serving import serve_until_stopped
    from homeostat.web.mcp.endpoint import LIMITS, PATH, McpEndpoint

    await serve_until_stopped(McpEndpoint(server), port, title="Serving tools", path=PATH, limits=LIMITS)
