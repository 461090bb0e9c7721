"""Optional checks on a server: the versions that run beside a Pacto, and drift that is allowed for a time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from homeostat.objects.time.timestamp import format_time
from tests.cluster.fixtures import Api
from tests.operators.contracts.live import contract, operating

_DEPENDS = """dependencies:
  - {name: rates, ref: "oci://registry.example.org/c/rates", required: true, compatibility: ^3.1.0}
"""


async def test_another_version_of_a_dependency_is_judged_at_once(api: Api, tmp_path: Path) -> None:
    rates = contract("3.1.0").replace("name: quay", "name: rates")
    async with operating(api, tmp_path) as live:
        await live.run()
        await live.run("rates")
        await live.declare(
            contractRef={"inline": contract(more=_DEPENDS)}, target={"serviceName": "quay"}, checks={"canDeploy": True}
        )
        await live.says("DependenciesCompatible", "True", "Compatible")
        await live.declare("rates", contractRef={"inline": rates}, target={"serviceName": "rates"})
        await live.shows("rates", contractVersion="3.1.0")
        await live.change({"spec": {"contractRef": {"inline": rates.replace("3.1.0", "4.0.0")}}}, "rates")
        condition = await live.says("DependenciesCompatible", "False", "Incompatible")
        assert condition["message"] == "quay needs rates ^3.1.0; 4.0.0 runs"
        await live.shows(contractStatus="Warning")


async def test_drift_is_allowed_until_its_time_has_passed(api: Api, tmp_path: Path) -> None:
    async with operating(api, tmp_path) as live:
        await live.run(port=9090)
        until = format_time(datetime.now(UTC) + timedelta(seconds=5))
        drift = {"reason": "moving ports", "until": until, "checks": ["PortsValid"]}
        await live.declare(
            contractRef={"inline": contract()}, target={"serviceName": "quay"}, checks={"allowedDrift": [drift]}
        )
        await live.shows(contractStatus="Compliant", summary={"total": 4, "passed": 3, "failed": 1})
        await live.shows(contractStatus="Warning", within_s=30)
