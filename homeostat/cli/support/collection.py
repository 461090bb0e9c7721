"""Collects the contents of a support bundle: a file each, by name. What cannot be read is a line in the summary.

It contains names, counts, states and messages. It never contains specs, data of ConfigMaps or Secrets, annotations,
values of environment variables, keys or kubeconfigs.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Container, Iterator, Mapping
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

import msgspec

from homeostat.cli.doctor.examination import Subject, examine
from homeostat.cli.doctor.operators import served_kinds
from homeostat.cli.doctor.report import findings_document
from homeostat.cli.doctor.server import TEXT
from homeostat.cli.operators.choice import described_operators
from homeostat.cli.support.redaction import Redactor
from homeostat.cli.version import versions
from homeostat.client.base import Client, UnreachableError
from homeostat.client.endpoint.endpoint import Endpoint
from homeostat.client.endpoint.kubeconfig import KubeconfigError
from homeostat.client.http.transport import open_transport
from homeostat.edge.turn import map_concurrently
from homeostat.external.secrets.scrub import scrub_urls
from homeostat.objects.errors import ApiError
from homeostat.objects.json import Json, JsonObject
from homeostat.objects.kind import EVENT, POD, Kind
from homeostat.objects.time.timestamp import format_time

MOST_OBJECTS: Final = 500
"""Objects of a kind whose conditions are collected."""
MOST_EVENTS: Final = 500
LOG_BYTES: Final = 1 << 20
"""The end of each log."""
MOST_PODS: Final = 20
_METADATA: Final = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
_AT_ONCE: Final = 8
_OURS: Final = "app.kubernetes.io/name=homeostat"
_CONDITION: Final = ("type", "status", "reason", "message", "lastTransitionTime", "observedGeneration")


async def collect(subject: Subject, logs: list[Path], now: datetime) -> dict[str, bytes]:
    """The files by name, without secrets."""
    redactor, notes = Redactor(), list[str]()
    redactor.hide_environment(os.environ)
    redactor.hide(_credentials(subject))
    found: dict[str, Json | str] = {"versions.json": versions(), "settings.json": _settings(subject)}
    findings = [each async for each in examine(subject, now)]
    found["doctor.json"] = findings_document(findings)
    for path in logs:
        try:
            found[free_name(f"logs/{path.name}", found)] = await asyncio.to_thread(_tail, path)
        except OSError as error:
            notes.append(f"{path}: {error.strerror}")
    try:
        async with open_transport(subject.endpoint()) as transport:
            client = Client(transport)
            notes.append(await redactor.hide_secrets(client))
            found |= {name: content async for name, content in _of_server(client, subject, notes)}
    except (UnreachableError, KubeconfigError, ApiError) as error:
        notes.append(f"the server: {error}")
    if subject.health:
        try:
            async with open_transport(Endpoint(server=subject.health)) as transport:
                found["process-metrics.txt"] = (await Client(transport).fetch("GET", "/metrics", accept=TEXT)).decode()
        except (UnreachableError, KubeconfigError, ApiError) as error:
            notes.append(f"{subject.health}: {error}")
    found["summary.json"] = {"created": format_time(now), "files": sorted(found), "notes": list[Json](notes)}
    return {name: _encoded(redactor, content) for name, content in found.items()}


def _credentials(subject: Subject) -> Iterator[str]:
    """Those of the command itself: a log may have them in a form that nobody recognises."""
    if isinstance(subject.database, str):
        yield unquote(urlsplit(subject.database).password or "")
    try:
        yield subject.endpoint().token
    except KubeconfigError:
        return


def log_name(namespace: str, pod: str) -> str:
    """The file of a Pod's log. The server may be anybody's, and its names must not lead out of the archive."""
    return f"logs/{f'{namespace}-{pod}'.replace('/', '_')}.log"


def free_name(name: str, taken: Container[str]) -> str:
    """Logs of several directories may have one name: `logs/plane.log`, `logs/2-plane.log`."""
    folder, _, file = name.partition("/")
    numbered = (f"{folder}/{number}-{file}" for number in count(2))
    return name if name not in taken else next(each for each in numbered if each not in taken)


def _encoded(redactor: Redactor, content: Json | str) -> bytes:
    if isinstance(content, str):
        return redactor.text(content).encode()
    return msgspec.json.format(msgspec.json.encode(redactor.json(content)), indent=2) + b"\n"


def _settings(subject: Subject) -> JsonObject:
    described = described_operators("all").values()
    known = {name for each in described for name in each.settings or ()}
    known |= {name for each in described for face in each.faces for name in face.settings}
    known |= {option.variable for each in described for option in each.options}
    given = sorted(name for name in os.environ if name in known or name.startswith(("HOMEOSTAT_", "OTEL_")))
    files: list[Json] = []
    if subject.data is not None:
        for path in sorted(subject.data.rglob("*"))[:MOST_OBJECTS]:
            if path.is_file() and "operators" not in path.relative_to(subject.data).parts:
                seen = path.stat()
                name = str(path.relative_to(subject.data))
                files.append({"name": name, "bytes": seen.st_size, "mode": f"{seen.st_mode & 0o7777:04o}"})
    return {"environment": list[Json](given), "dataDirectory": files, "server": _server(subject)}


def _server(subject: Subject) -> Json:
    try:
        endpoint = subject.endpoint()
    except KubeconfigError:
        return None
    kinds = {
        "certificate": endpoint.certificate,
        "token": endpoint.token,
        "tokenFile": endpoint.token_file,
        "plugin": endpoint.plugin,
    }
    credentials: list[Json] = [name for name, value in kinds.items() if value]
    return {"url": scrub_urls(endpoint.server), "namespace": endpoint.namespace, "credentials": credentials}


def _tail(path: Path) -> str:
    with path.open("rb") as file:
        file.seek(max(path.stat().st_size - LOG_BYTES, 0))
        return file.read(LOG_BYTES).decode(errors="replace")


async def _of_server(client: Client, subject: Subject, notes: list[str]) -> AsyncIterator[tuple[str, Json | str]]:
    kinds = await served_kinds(client)
    parts: Mapping[str, Callable[[], Awaitable[Json | str]]] = {
        "server.json": lambda: client.request("GET", "/version"),
        "readyz.txt": lambda: _text(client, "/readyz?verbose"),
        "metrics.txt": lambda: _text(client, "/metrics"),
        "object-counts.json": lambda: _counts(client, kinds),
        "conditions.json": lambda: _conditions(client, kinds),
        "warnings.json": lambda: _warnings(client),
    }
    for name, read in parts.items():
        try:
            yield name, await read()
        except ApiError as error:
            notes.append(f"{name}: {error.message}")
    async for found in _pod_logs(client, subject.namespace, notes):
        yield found


async def _text(client: Client, path: str) -> str:
    target, _, query = path.partition("?")
    answer = await client.fetch("GET", target, {query: "true"} if query else None, accept=TEXT)
    return answer.decode(errors="replace")


async def _counts(client: Client, kinds: Mapping[str, Kind]) -> Json:
    async def count(kind: Kind) -> int | None:
        try:
            page = await client.request("GET", kind.path(""), {"limit": 1}, accept=_METADATA)
        except ApiError:
            # Reviews cannot be listed, and others may be forbidden.
            return None
        return len(page.get("items") or ()) + int((page.get("metadata") or {}).get("remainingItemCount") or 0)

    counted = await map_concurrently(count, kinds.values(), at_once=_AT_ONCE)
    return {name: number for name, number in zip(kinds, counted, strict=True) if number}


async def _conditions(client: Client, kinds: Mapping[str, Kind]) -> Json:
    names = [each["metadata"]["name"] for one in described_operators("all").values() for each in one.definitions()]
    found: dict[str, Json] = {}
    for name in names:
        if (kind := kinds.get(name)) is not None:
            page = await client.request("GET", kind.path(""), {"limit": MOST_OBJECTS})
            found[name] = [_state(each) for each in page["items"]]
    return {name: objects for name, objects in found.items() if objects}


def _state(obj: JsonObject) -> Json:
    metadata: dict[str, Any] = obj["metadata"]
    conditions = (obj.get("status") or {}).get("conditions") or []
    return {
        "namespace": metadata.get("namespace", ""),
        "name": metadata["name"],
        "generation": metadata.get("generation", 0),
        "isDeleting": "deletionTimestamp" in metadata,
        "conditions": [
            {name: each[name] for name in _CONDITION if name in each} for each in conditions if isinstance(each, dict)
        ],
    }


async def _warnings(client: Client) -> Json:
    query = {"limit": MOST_EVENTS, "fieldSelector": "type=Warning"}
    page = await client.request("GET", EVENT.path(""), query)
    return [
        {
            "about": {name: (each.get("regarding") or {}).get(name, "") for name in ("kind", "namespace", "name")},
            "reason": each.get("reason", ""),
            "message": each.get("note", ""),
            "count": (each.get("series") or {}).get("count") or each.get("deprecatedCount") or 1,
            "last": each.get("deprecatedLastTimestamp") or each.get("eventTime"),
        }
        for each in page["items"]
    ]


async def _pod_logs(client: Client, namespace: str, notes: list[str]) -> AsyncIterator[tuple[str, str]]:
    """Of the processes that `homeostat deploy` and the chart run; a plane has no Pods with logs."""
    try:
        page = await client.request("GET", POD.path(namespace), {"labelSelector": _OURS, "limit": MOST_PODS})
        for each in page["items"]:
            place, name = each["metadata"]["namespace"], each["metadata"]["name"]
            query = {"limitBytes": LOG_BYTES, "tailLines": 2000}
            try:
                text = await client.fetch("GET", POD.path(place, name, "log"), query, accept=TEXT)
            except ApiError as error:
                notes.append(f"log of {place}/{name}: {error.message}")
            else:
                yield log_name(place, name), text.decode(errors="replace")
    except ApiError as error:
        notes.append(f"logs of Pods: {error.message}")
