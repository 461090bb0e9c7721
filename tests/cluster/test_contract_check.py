"""`homeostat contract check` gives the same verdicts on objects in files and on a server, which fills in defaults."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec

from homeostat.cli.contract.session.settings import Settings
from homeostat.cli.contract.target.checking import Checked, Request, check
from homeostat.client.discovery import Discovery
from homeostat.objects import yaml
from tests.cli.contract.test_recorded_check import verdict_cases
from tests.cluster.fixtures import Api, create_namespace


def _verdicts(checked: Checked) -> dict[str, tuple[str, str]]:
    return {each.check: (each.status, each.reason) for each in checked.evaluation.verdicts}


async def _compare(api: Api, directory: Path, objects: list[Any], spec: Any) -> None:
    namespace = await create_namespace(api.client)
    discovery = Discovery(api.client)
    for each in objects:
        kind = await discovery.find(each["apiVersion"], each["kind"])
        await api.client.create(kind.path(namespace), each)
    await asyncio.to_thread(_write, directory, objects, spec["contractRef"]["inline"])
    workload = spec["target"].get("workloadRef")
    asked = Request(
        ref=str(directory / "bundle"),
        service=spec["target"].get("serviceName", ""),
        workload=(workload["name"], workload.get("kind", "Deployment")) if workload else None,
    )
    offline = msgspec.structs.replace(asked, files=(str(directory / "a.yaml"),))
    live = msgspec.structs.replace(asked, namespace=namespace, kubeconfig=str(api.kubeconfig))
    assert _verdicts(await check(Settings(), live)) == _verdicts(await check(Settings(), offline))


def _write(directory: Path, objects: list[Any], contract: str) -> None:
    (directory / "bundle").mkdir(parents=True)
    (directory / "bundle/pacto.yaml").write_text(contract)
    (directory / "a.yaml").write_bytes(yaml.dump_all(objects) or b"{}\n")


async def test_files_and_a_server_get_the_same_verdicts(api: Api, tmp_path: Path) -> None:
    for number, (objects, spec, _) in enumerate(verdict_cases()):
        kept = [each for (kind, _), each in objects.items() if kind != "Pacto"]
        await _compare(api, tmp_path / str(number), kept, spec)
