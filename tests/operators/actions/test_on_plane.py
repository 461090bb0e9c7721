"""Resources of a type on a real plane: declared, kept, recorded and gone."""

from __future__ import annotations

import asyncio
import base64
import sys
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from homeostat.client.base import Client
from homeostat.external.secrets.kubernetes import NamespaceStore
from homeostat.external.secrets.secrets import SecretError
from homeostat.objects.errors import InvalidError
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import SECRET
from homeostat.operators.actions.api import KINDS, RECONCILIATION, Keep
from homeostat.operators.actions.plugins.secret_state import SecretState
from homeostat.operators.actions.runs.sweep import sweep_history, sweep_regularly
from homeostat.plane import Settings, open_plane
from homeostat.runtime.installation import install
from homeostat.testing.eventually import eventually
from homeostat.testing.status import check_status, condition_of
from tests.absence import is_gone
from tests.needs import needs_terraform
from tests.operators.actions.things import ShelfPlugin, Things, managed


@pytest.fixture
async def client(data: Path) -> AsyncIterator[Client]:
    async with open_plane(Settings(data=data, port=0, operators=frozenset())) as plane:
        yield plane.client


def is_ready(obj: JsonObject) -> bool:
    return condition_of(obj, "Ready").get("status") == "True"


async def ready(client: Client, things: Things, name: str) -> JsonObject:
    obj: JsonObject = await eventually(lambda: client.get(things.path(name)), is_ready)
    check_status(obj)
    return obj


async def history(client: Client) -> list[Any]:
    items, _ = await client.list(RECONCILIATION.kind.path("default"))
    return sorted((each["spec"] for each in items), key=lambda each: (each["finished"], each["generation"]))


async def test_a_resource_is_brought_to_what_is_declared_and_recorded(client: Client, tmp_path: Path) -> None:
    plugin = ShelfPlugin()
    things = Things("shelf", {"prefix": "> "}, tmp_path, shelf=plugin)
    async with managed(client, things):
        await client.create(things.path(), things.thing("one"))
        obj = await ready(client, things, "one")
        assert plugin.things == {"one": "> hello"}
        assert obj["status"]["outputs"] == {"text": "> hello"}
        assert obj["spec"]["size"] == 1
        assert condition_of(obj, "Shelved")["status"] == "True"
        (entry,) = await eventually(lambda: history(client))
        assert (entry["trigger"], entry["isSuccess"], entry["resourceName"]) == ("initial", True, "one")

        await client.merge(things.path("one"), {"spec": {"text": "bye"}})
        await eventually(lambda: client.get(things.path("one")), lambda obj: obj["status"]["reconciledGeneration"] == 2)
        assert [each["trigger"] for each in await history(client)] == ["initial", "spec_change"]

        await client.delete(things.path("one"))
        await eventually(lambda: is_gone(client, things.path("one")))
        assert plugin.things == {}
        assert [each["trigger"] for each in await history(client)][-1] == "deletion"


async def test_a_request_by_annotation_finds_drift(client: Client, tmp_path: Path) -> None:
    plugin = ShelfPlugin()
    things = Things("shelf", {}, tmp_path, shelf=plugin)
    async with managed(client, things):
        await client.create(things.path(), things.thing("one"))
        await ready(client, things, "one")
        plugin.things["one"] = "tampered"
        await client.merge(things.path("one"), {"metadata": {"annotations": {"homeostat.dev/reconcile": "1"}}})
        await eventually(lambda: plugin.things["one"] == "hello")
        obj = await eventually(
            lambda: client.get(things.path("one")), lambda obj: obj["status"].get("handledRequest") == "1"
        )
        assert obj["status"]["phase"] == "ready"


async def test_another_process_continues_without_doing_anything_again(client: Client, tmp_path: Path) -> None:
    plugin = ShelfPlugin()
    for _ in range(2):
        things = Things("shelf", {}, tmp_path, shelf=plugin)
        async with managed(client, things):
            if not plugin.applies:
                await client.create(things.path(), things.thing("one"))
            await ready(client, things, "one")
    assert (plugin.applies, plugin.plans) == (1, 2)


async def test_a_failure_is_reported_and_backs_off(client: Client, tmp_path: Path) -> None:
    plugin = ShelfPlugin()
    plugin.trouble = "the shelf is broken"
    things = Things("shelf", {}, tmp_path, shelf=plugin)
    async with managed(client, things):
        await client.create(things.path(), things.thing("one"))
        obj = await eventually(
            lambda: client.get(things.path("one")), lambda obj: obj["status"].get("phase") == "failed"
        )
        check_status(obj)
        assert obj["status"]["message"] == "Broken: the shelf is broken"
        assert (obj["status"]["retries"], plugin.plans) == (1, 1)


async def test_a_destruction_that_fails_keeps_the_resource_until_it_succeeds(client: Client, tmp_path: Path) -> None:
    plugin = ShelfPlugin()
    things = Things("shelf", {}, tmp_path, shelf=plugin)
    async with managed(client, things):
        await client.create(things.path(), things.thing("one"))
        await ready(client, things, "one")
        plugin.trouble = "the shelf is stuck"
        await client.delete(things.path("one"))
        obj = await eventually(
            lambda: client.get(things.path("one")),
            lambda obj: obj["status"].get("message") == "Broken: the shelf is stuck",
        )
        check_status(obj)
        assert (obj["status"]["phase"], obj["status"]["retries"]) == ("deleting", 1)
        plugin.trouble = ""
        await client.merge(things.path("one"), {"metadata": {"annotations": {"homeostat.dev/reconcile": "now"}}})
        await eventually(lambda: is_gone(client, things.path("one")))
        assert plugin.things == {}


async def test_a_schema_is_enforced_and_an_unknown_plugin_is_reported(client: Client, tmp_path: Path) -> None:
    things = Things("", {}, tmp_path)
    async with managed(client, things):
        with pytest.raises(InvalidError, match=r"spec\.text"):
            await client.create(things.path(), {**things.thing("one"), "spec": {"size": 1}})
        await client.create(things.path(), things.thing("one", action={"plugin": "magic"}))
        obj = await eventually(
            lambda: client.get(things.path("one")), lambda obj: obj["status"].get("phase") == "failed"
        )
        assert 'unknown plugin "magic"; known plugins: command, ' in obj["status"]["message"]
        await client.delete(things.path("one"))
        await eventually(lambda: is_gone(client, things.path("one")))


async def test_a_program_keeps_a_resource_and_its_secrets_stay_hidden(client: Client, tmp_path: Path) -> None:
    code = (
        "import json, os, sys; asked = json.load(sys.stdin); "
        "print(json.dumps({'outputs': {'told': os.environ['TOKEN'], 'own': os.environ['OWN']}, "
        "'message': 'used ' + os.environ['TOKEN']}))"
    )
    await client.create(
        SECRET.path("default"),
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "mine"}, "stringData": {"key": "hunter2-hunter2"}},
    )
    environment = {"TOKEN": {"key": "TOKEN"}, "OWN": {"store": "secret", "key": "mine/key"}}
    things = Things("command", {"apply": [sys.executable, "-c", code], "environment": environment}, tmp_path)
    async with managed(client, things):
        await client.create(things.path(), things.thing("one"))
        obj = await ready(client, things, "one")
        assert obj["status"]["outputs"] == {"told": "***", "own": "***"}
        assert "a-very-secret-token" not in str(await history(client)) + str(obj)


@needs_terraform
async def test_terraforms_state_is_kept_by_the_plane(client: Client, tmp_path: Path) -> None:
    main = 'variable "text" {}\nresource "terraform_data" "a" { input = var.text }\noutput "text" { value = var.text }'
    things = Things("terraform", {"files": {"main.tf": main}}, tmp_path / "work")
    async with managed(client, things):
        await client.create(things.path(), things.thing("one"))
        obj = await eventually(lambda: client.get(things.path("one")), is_ready, within_s=30)
        assert obj["status"]["outputs"] == {"text": "hello"}
        state = SecretState(client, "default", obj["metadata"]["uid"])
        assert b"terraform_data" in await state.load()
        await client.delete(things.path("one"))
        await eventually(lambda: is_gone(client, things.path("one")), within_s=30)
        assert await state.load() == b""


async def test_a_state_of_any_size_is_kept_whole_or_not_at_all(client: Client) -> None:
    state = SecretState(client, "default", "u-1")
    assert await state.load() == b""
    large = bytes(at * at % 251 for at in range(1_000_003)) + b"".join(b"%d" % (at**3) for at in range(200_000))
    for data in (b"small", large, b"again"):
        await state.save(data)
        assert await state.load() == data
    items, _ = await client.list(SECRET.path("default"))
    assert sum(each["metadata"]["name"].startswith("homeostat-state-u-1") for each in items) == 2
    await state.save(b"")
    assert await state.load() == b""
    items, _ = await client.list(SECRET.path("default"))
    assert not any(each["metadata"]["name"].startswith("homeostat-state-") for each in items)


@pytest.mark.parametrize("key", ["none/key", "mine/none", "mine", "/key"])
async def test_a_secret_that_is_not_in_the_namespace_is_not_found(client: Client, key: str) -> None:
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "mine"}, "stringData": {"key": "value"}}
    await client.create(SECRET.path("default"), body)
    store = NamespaceStore(client, "default")
    assert await store.get_secret("mine/key") == "value"
    with pytest.raises(KeyError):
        await store.get_secret(key)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("homeostat-rest-token-key", "Opaque"),
        ("homeostat-state-1", "Opaque"),
        ("rest-user-ann-1", "homeostat.dev/rest-password"),
        ("account", "kubernetes.io/service-account-token"),
    ],
)
async def test_what_is_kept_for_the_system_itself_is_no_secret_of_a_resource(
    client: Client, name: str, kind: str
) -> None:
    metadata = {"name": name, "annotations": {"kubernetes.io/service-account.name": "default"}}
    await client.create(SECRET.path("default"), {"metadata": metadata, "type": kind, "stringData": {"key": "value"}})
    with pytest.raises(KeyError):
        await NamespaceStore(client, "default").get_secret(f"{name}/key")


async def test_a_secret_that_is_no_text_is_reported_without_its_bytes(client: Client) -> None:
    body = {"metadata": {"name": "raw"}, "data": {"key": base64.b64encode(b"\xff\xfe\x01secret").decode()}}
    await client.create(SECRET.path("default"), body)
    with pytest.raises(SecretError, match=r'^"raw/key" of the store "secret" is not text$'):
        await NamespaceStore(client, "default").get_secret("raw/key")


async def test_history_outlives_its_resource_and_goes_when_it_is_old(client: Client, tmp_path: Path) -> None:
    things = Things("shelf", {}, tmp_path, shelf=ShelfPlugin())
    async with managed(client, things):
        await client.create(things.path(), things.thing("one"))
        await ready(client, things, "one")
        await client.delete(things.path("one"))
        await eventually(lambda: is_gone(client, things.path("one")))
    now = datetime.now(UTC)
    assert await sweep_history(client, lambda _: Keep(), now=now) == 0
    assert len(await history(client)) == 2
    assert await sweep_history(client, lambda _: Keep(max_age_days=1), now=now + timedelta(days=2)) == 2
    assert await history(client) == []


async def test_history_is_swept_regularly(client: Client) -> None:
    await install(client, KINDS)
    spec = {
        "resourceKind": "Thing",
        "resourceVersion": "v1",
        "resourceName": "one",
        "resourceUid": "u",
        "generation": 1,
        "trigger": "initial",
        "isSuccess": True,
        "phase": "completed",
        **dict.fromkeys(("started", "finished"), "2020-01-01T00:00:00Z"),
    }
    kind = RECONCILIATION.kind
    body = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": "old"}, "spec": spec}
    await client.create(kind.path("default"), body)
    sweeping = asyncio.create_task(sweep_regularly(client, lambda _: Keep(), every_s=0.01))
    await eventually(lambda: history(client), lambda entries: not entries)
    sweeping.cancel()
