"""Loading from a real registry through a relay that counts: what is asked when."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from homeostat.external.oci.registry import Registry
from homeostat.external.rest.client import RestClient
from homeostat.operators.contracts.engine.checks.evaluate import Failure, Loaded
from homeostat.operators.contracts.live.trust import read_keys
from homeostat.operators.contracts.loading.loader import RETRY_FAILED_S, Load, Loader
from homeostat.operators.contracts.loading.registries import Registries
from homeostat.operators.contracts.loading.repository import SIGN_WITHIN_S
from homeostat.runtime.background import background
from homeostat.testing.eventually import eventually
from tests.external.oci.signing import Signed, public_pem, signing_key
from tests.external.servers import serving
from tests.operators.contracts.live import contract
from tests.operators.contracts.pushing import push


class Relay:
    """Passes requests on to a registry, and counts them by method and kind."""

    def __init__(self, registry: str) -> None:
        self.registry, self.counted, self.is_down = registry, Counter[str](), False
        self.host = ""
        self.absent: tuple[str, ...] = ()
        """Requests whose path ends like one of these are answered with 404."""

    async def answer(self, request: web.Request) -> web.StreamResponse:
        if self.is_down:
            return web.Response(status=503)
        if request.path.endswith(self.absent):
            return web.json_response({"errors": [{"code": "MANIFEST_UNKNOWN"}]}, status=404)
        kind = next((each for each in ("tags", "manifests", "blobs") if f"/{each}/" in request.path), "")
        self.counted[f"{request.method} {kind}"] += bool(kind)
        headers = {key: value for key, value in request.headers.items() if key.lower() != "host"}
        async with (
            aiohttp.ClientSession(auto_decompress=False) as session,
            session.request(
                request.method, f"http://{self.registry}{request.path_qs}", headers=headers, allow_redirects=False
            ) as answer,
        ):
            kept = {k: v for k, v in answer.headers.items() if k.lower() not in ("transfer-encoding", "content-length")}
            if request.method == "HEAD":
                kept["Content-Length"] = answer.headers.get("Content-Length", "0")
            return web.Response(status=answer.status, headers=kept, body=await answer.read())


class Stage:
    def __init__(self, relay: Relay, folder: Path) -> None:
        self.relay, self.now = relay, 1000.0
        self.changed: list[str] = []
        self.registries = Registries(folder, {})
        self.loader = Loader(
            self.registries.source,
            self.changed.append,
            most_versions=3,
            seconds=lambda: self.now,
            try_again=self.registries.try_again,
        )

    async def load(self, name: str, max_age_s: float = 300.0) -> Load:
        found = await self.loader.load(f"{self.relay.host}/{name}", None, max_age_s)
        assert found is not None
        return found


@pytest.fixture
async def stage(registries: tuple[str, str], tmp_path: Path) -> AsyncIterator[Stage]:
    relay = Relay(registries[0])
    async with serving(relay.answer) as url:
        relay.host = url.removeprefix("http://")
        stage = Stage(relay, tmp_path)
        async with stage.registries, background(stage.loader.run()):
            yield stage


def _version(load: Load) -> str:
    assert isinstance(load.content.loaded, Loaded), load.content.loaded
    return load.content.loaded.parsed.contract.service.version


async def test_the_registry_is_asked_once_in_an_interval_however_often_a_contract_is_loaded(stage: Stage) -> None:
    for tag in ("1.0.0", "1.1.0"):
        await push(stage.relay.registry, f"loader/often:{tag}", contract(tag))
    for _ in range(100):
        assert _version(await stage.load("loader/often")) == "1.1.0"
        assert _version(await stage.load("loader/often:1.0.0")) == "1.0.0"
    await eventually(lambda: stage.relay.counted["GET manifests"] == 2)
    await asyncio.sleep(0.1)
    first = dict(stage.relay.counted)
    assert first["GET tags"] <= 2
    assert first["HEAD manifests"] <= 4
    stage.now += 280
    for _ in range(100):
        await stage.load("loader/often")
        await stage.load("loader/often:1.0.0")
    await eventually(lambda: stage.relay.counted["HEAD manifests"] == first["HEAD manifests"] + 2)
    await asyncio.sleep(0.1)
    assert stage.relay.counted["GET tags"] == first["GET tags"] + 1
    assert stage.relay.counted["GET blobs"] == first["GET blobs"]


async def test_all_versions_follow_after_the_one_that_is_used_newest_first_up_to_a_limit(stage: Stage) -> None:
    for tag in ("1.0.0", "1.1.0", "v1.2.0", "2.0.0-rc.1", "latest"):
        await push(stage.relay.registry, f"loader/many:{tag}", contract(tag if tag != "latest" else "9.9.9"))
    load = await stage.load("loader/many")
    assert load.content.version is not None
    assert load.content.version.tag == "2.0.0-rc.1"
    await eventually(lambda: len(stage.changed) == 2)
    load = await stage.load("loader/many")
    assert [each.tag for each in load.versions] == ["2.0.0-rc.1", "v1.2.0", "1.1.0"]


async def test_without_a_version_the_tag_latest_is_used(stage: Stage) -> None:
    await push(stage.relay.registry, "loader/untagged:latest", contract("3.0.0"))
    assert _version(await stage.load("loader/untagged")) == "3.0.0"


async def test_a_pinned_digest_is_pulled_once_and_mirrors_nothing(stage: Stage) -> None:
    digest = await push(stage.relay.registry, "loader/pinned:1.0.0", contract())
    load = await stage.load(f"loader/pinned@{digest}")
    assert (_version(load), load.versions, load.due_in_s) == ("1.0.0", (), None)
    counted = dict(stage.relay.counted)
    stage.now += 10_000
    await stage.load(f"loader/pinned@{digest}")
    await asyncio.sleep(0.1)
    assert stage.relay.counted["GET tags"] == 0
    assert stage.relay.counted["GET blobs"] == counted["GET blobs"]


async def test_an_error_is_kept_for_half_a_minute(stage: Stage) -> None:
    load = await stage.load("loader/later")
    assert isinstance(load.content.loaded, Failure)
    assert load.due_in_s is not None
    assert load.due_in_s <= 30
    await push(stage.relay.registry, "loader/later:1.0.0", contract())
    before = sum(stage.relay.counted.values())
    stage.now += 10
    await stage.load("loader/later")
    await asyncio.sleep(0.05)
    assert sum(stage.relay.counted.values()) == before
    stage.now += 21
    await stage.load("loader/later")
    await eventually(lambda: stage.load("loader/later"), lambda load: isinstance(load.content.loaded, Loaded))


async def test_what_was_loaded_stays_while_the_registry_is_down(stage: Stage) -> None:
    await push(stage.relay.registry, "loader/down:1.0.0", contract())
    await stage.load("loader/down")
    await eventually(
        lambda: stage.loader.repositories[f"{stage.relay.host}/loader/down", "", ""].reading == frozenset()
    )
    stage.relay.is_down = True
    stage.now += 300
    await stage.load("loader/down")
    await eventually(
        lambda: stage.loader.repositories[f"{stage.relay.host}/loader/down", "", ""].has_failed, within_s=30
    )
    assert _version(await stage.load("loader/down")) == "1.0.0"
    assert [each.tag for each in (await stage.load("loader/down")).versions] == ["1.0.0"]


async def test_a_push_is_read_at_once_from_a_registry_that_failed_before(stage: Stage) -> None:
    await push(stage.relay.registry, "loader/hook:1.0.0", contract())
    stage.relay.is_down = True
    for number in range(6):
        await stage.load(f"loader/down-{number}")
    assert "retry" in str((await stage.load("loader/hook")).content.loaded)
    stage.relay.is_down = False
    stage.loader.refresh(f"{stage.relay.host}/loader/hook")
    await eventually(lambda: stage.load("loader/hook"), lambda load: isinstance(load.content.loaded, Loaded))


async def test_the_version_in_use_stays_until_a_newer_one_that_is_listed_can_be_read(stage: Stage) -> None:
    await push(stage.relay.registry, "loader/early:1.0.0", contract())
    await stage.load("loader/early")
    await push(stage.relay.registry, "loader/early:1.1.0", contract("1.1.0"))
    stage.relay.absent = ("/manifests/1.1.0",)
    stage.now += 300
    load = await eventually(lambda: stage.load("loader/early"), lambda load: load.fault != "")
    assert _version(load) == "1.0.0"
    assert "1.1.0" in load.fault
    assert load.due_in_s is not None
    assert load.due_in_s <= 2
    stage.relay.absent = ()
    stage.now += 2
    load = await eventually(lambda: stage.load("loader/early"), lambda load: _version(load) == "1.1.0")
    assert load.fault == ""
    assert load.due_in_s is not None
    assert load.due_in_s > 60


async def test_a_pinned_tag_keeps_its_contract_while_the_registry_lists_it_without_having_it(stage: Stage) -> None:
    await push(stage.relay.registry, "loader/pin:1.0.0", contract())
    await stage.load("loader/pin:1.0.0")
    stage.relay.absent = ("/manifests/1.0.0",)
    stage.now += 300
    load = await eventually(lambda: stage.load("loader/pin:1.0.0"), lambda load: load.fault != "")
    assert _version(load) == "1.0.0"


async def test_a_tag_that_is_no_longer_listed_is_a_failure(stage: Stage) -> None:
    await push(stage.relay.registry, "loader/gone:1.0.0", contract())
    await stage.load("loader/gone:1.0.0")
    stage.relay.absent = ("/manifests/1.0.0", "/tags/list")
    stage.now += 300
    await eventually(lambda: stage.load("loader/gone:1.0.0"), lambda load: isinstance(load.content.loaded, Failure))


async def test_a_version_without_signature_is_not_used_and_is_expected_to_be_signed_soon(stage: Stage) -> None:
    key = signing_key()
    trust = read_keys(public_pem(key), "the key")
    digests = [await push(stage.relay.registry, f"port/sign:{each}.0.0", contract(f"{each}.0.0")) for each in (1, 2)]

    async def load() -> Load:
        found = await stage.loader.load(f"{stage.relay.host}/port/sign", None, 300.0, trust)
        assert found is not None
        return found

    found = await load()
    assert isinstance(found.content.loaded, Failure)
    assert (found.content.loaded.is_transient, found.due_in_s) == (True, 2.0)
    async with RestClient() as client:
        await Signed(Registry(client), f"{stage.relay.registry}/port/sign", digests[1]).tag(key)
        stage.now += 3
        await load()
        found = await eventually(load, lambda each: isinstance(each.content.loaded, Loaded))
        assert found.fault == ""
        digest = await push(stage.relay.registry, "port/sign:3.0.0", contract("3.0.0"))
        stage.now += 300
        await load()
        # The version in use stays while the new one may still be signed.
        found = await eventually(load, lambda each: each.fault != "")
        assert found.content.version is not None
        assert found.content.version.version == "2.0.0"
        stage.now += SIGN_WITHIN_S
        await load()
        found = await eventually(load, lambda each: isinstance(each.content.loaded, Failure))
        assert isinstance(found.content.loaded, Failure)
        assert not found.content.loaded.is_transient
        await Signed(Registry(client), f"{stage.relay.registry}/port/sign", digest).tag(key)
        stage.now += RETRY_FAILED_S + 1
        await load()
        found = await eventually(load, lambda each: isinstance(each.content.loaded, Loaded))
        assert found.content.version is not None
        assert found.content.version.version == "3.0.0"


@pytest.mark.parametrize("ref", ["no repository", "registry.example.org/a:b:c", "registry.example.org/a@sha256:12"])
async def test_a_reference_that_is_none_is_a_failure(stage: Stage, ref: str) -> None:
    found = await stage.loader.load(ref, None, 300.0)
    assert found is not None
    assert isinstance(found.content.loaded, Failure)
