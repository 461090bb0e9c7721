"""A real registry sends notifications of pushes, and the Pactos of its repositories are requested."""

from __future__ import annotations

from pathlib import Path

from homeostat.plane import Plane
from homeostat.testing.eventually import eventually
from homeostat.web.receivers.contracts import SECRET
from tests.external.registries import notifying, running_registry
from tests.web.contracts.bundles import push
from tests.web.receivers.test_receiver import KEY, open_receiver


async def test_a_push_to_a_real_registry_requests_its_pactos(plane: Plane, tmp_path: Path) -> None:
    async with open_receiver(plane.client, {SECRET: KEY}) as hooks:
        with running_registry(tmp_path, notifying(f"{hooks.url}/distribution", Authorization=f"Bearer {KEY}")) as host:
            await hooks.declare("ledger", f"{host}/contracts/ledger")
            await hooks.declare("other", f"{host}/contracts/rates")
            await push(host, "1.0.0")
            found = await eventually(hooks.requested, lambda found: found["ledger"])
            assert found["other"] == ""
