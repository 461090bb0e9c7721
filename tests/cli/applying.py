"""Objects applied to a server as `kubectl apply --server-side` does, with nothing misspelt."""

from __future__ import annotations

from homeostat.client.base import Client
from homeostat.client.discovery import fetch_kinds
from homeostat.objects.json import JsonObject


async def apply(client: Client, *documents: JsonObject) -> None:
    kinds = {(each.api_version, each.kind): each for each in await fetch_kinds(client)}
    for each in documents:
        kind, metadata = kinds[each["apiVersion"], each["kind"]], each["metadata"]
        path = kind.path(metadata.get("namespace", ""), metadata["name"])
        query = {"fieldManager": "test", "fieldValidation": "Strict", "force": "true"}
        await client.request("PATCH", path, query, body=each, content_type="application/apply-patch+yaml")
