"""Bundles of contracts, pushed to a real registry."""

from __future__ import annotations

from homeostat.external.oci.auth import ANONYMOUS, Keychain
from homeostat.external.oci.registry import Registry
from homeostat.external.rest.client import RestClient
from homeostat.operators.contracts.engine.bundle.bundle import Bundle
from homeostat.operators.contracts.engine.validate import load
from homeostat.operators.contracts.sources.push import push_bundle

CONTRACT = """
pactoVersion: "1.2"
service: {{name: {name}, version: {version}, owner: {{team: finance}}}}
interfaces: [{{name: web, type: http, port: {port}, contract: interfaces/openapi.yaml}}]
{more}
"""
OPENAPI = b"openapi: 3.0.0\npaths: {/pay: {post: {summary: Pay}}}\n"


def make_bundle(version: str, *, name: str = "ledger", port: int = 8080, more: str = "") -> Bundle:
    files = {
        "pacto.yaml": CONTRACT.format(name=name, version=version, port=port, more=more).encode(),
        "interfaces/openapi.yaml": OPENAPI,
        "docs/runbook.md": b"# Runbook\n",
    }
    return Bundle(load(files).contract, files)


async def push(
    host: str, version: str, *, name: str = "ledger", tag: str = "", keychain: Keychain = ANONYMOUS, port: int = 8080
) -> str:
    """The digest."""
    async with RestClient() as client:
        target = f"{host}/contracts/{name}:{tag or version}"
        return await push_bundle(
            Registry(client, keychain=keychain), target, make_bundle(version, name=name, port=port)
        )
