"""A push to a real registry reaches the operator of a plane at once, over its webhooks; and its API shows it."""

from __future__ import annotations

from pathlib import Path

import aiohttp

from homeostat.objects.json import JsonObject
from homeostat.operators.contracts.api import PACTO
from homeostat.plane import FaceChoice, Place, Plane, Settings, open_plane
from homeostat.testing.eventually import eventually
from tests.external.registries import notifying, running_registry
from tests.faces import face_url
from tests.web.contracts.bundles import push

KEY = "a secret of some length"


async def _declare(plane: Plane, host: str) -> None:
    kind = PACTO.kind
    spec = {"contractRef": {"oci": f"{host}/contracts/ledger"}, "checkIntervalSeconds": 3600}
    body = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": "ledger"}, "spec": spec}
    await plane.client.create(kind.path("default"), body)


async def _version(plane: Plane) -> str:
    found = await plane.client.get(PACTO.kind.path("default", "ledger"))
    status: JsonObject = found.get("status", {})
    return str(status.get("contractVersion", ""))


async def test_a_push_is_reconciled_and_shown_long_before_the_interval(tmp_path: Path) -> None:
    settings = Settings(
        data=tmp_path / "plane",
        port=0,
        is_open=True,
        operators=frozenset({"housekeeping", "contracts", "actions"}),
        faces=FaceChoice(shared=Place("127.0.0.1", 0)),
        environment={"CONTRACTS_WEBHOOK_SECRET": KEY},
    )
    async with open_plane(settings) as plane, aiohttp.ClientSession() as session:
        hook = notifying(
            f"{face_url(plane, 'contract-hooks')}/hooks/contracts/distribution", Authorization=f"Bearer {KEY}"
        )
        with running_registry(tmp_path / "registry", hook) as host:
            await push(host, "1.0.0")
            await _declare(plane, host)
            await eventually(lambda: _version(plane), lambda found: found == "1.0.0", within_s=30)
            # The API of resources is served beside it.
            url = face_url(plane, "contracts")
            assert url == face_url(plane, "rest")
            async with session.get(f"{url}/health") as found:
                assert found.status == 200
            await push(host, "1.1.0")
            await eventually(lambda: _version(plane), lambda found: found == "1.1.0", within_s=30)

            async def shown() -> list[JsonObject]:
                async with session.get(f"{url}/api/services") as found:
                    services: list[JsonObject] = await found.json()
                    return services

            entry = (await eventually(shown, lambda found: found and found[0]["version"] == "1.1.0"))[0]
            assert (entry["name"], entry["contractStatus"], entry["sources"]) == ("ledger", "Reference", ["k8s", "oci"])
            async with session.get(f"{url}/contracts/api/services/ledger/versions") as found:
                assert [each["version"] for each in await found.json()] == ["1.1.0", "1.0.0"]
