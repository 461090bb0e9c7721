"""The metrics of the operator by the original's names, from the first scrape on."""

from __future__ import annotations

import aiohttp

from homeostat.operators import policy
from homeostat.runtime.installation import install
from homeostat.runtime.manager import Manager
from homeostat.runtime.telemetry.health import serve_health
from homeostat.testing.eventually import eventually
from tests.cluster.fixtures import Api
from tests.operators.policy.live import ALL, BARE, operating

FROM_THE_START = {
    "cluster_health_score": "gauge",
    "pods_tracked_total": "gauge",
    "pod_events_total": "counter",
    "devopspolicy_reconcile_total": "counter",
    "devopspolicy_reconcile_errors_total": "counter",
    "devopspolicy_remediations_applied_total": "counter",
    "devopspolicy_remediations_failed_total": "counter",
    "devopspolicy_pods_scanned_total": "counter",
    "devopspolicy_audit_results_total": "counter",
    "devopspolicy_reconcile_duration_seconds": "histogram",
}
AFTER_FIRST_USE = {
    "namespace_health_score": "gauge",
    "devopspolicy_violations_total": "gauge",
    "devopspolicy_health_score": "gauge",
    "devopspolicy_enforcement_mode": "gauge",
    "devopspolicy_violations_by_severity": "gauge",
}


async def test_every_family_has_its_name_and_type(plane: Api) -> None:
    async with operating(plane) as live:
        page = live.manager.metrics.text().decode().splitlines()
        for name, kind in {**FROM_THE_START, **AFTER_FIRST_USE}.items():
            assert f"# TYPE {name} {kind}" in page
        figures = live.figures()
        for name, kind in FROM_THE_START.items():
            assert (f"{name}_count" if kind == "histogram" else name) in figures
        assert not any(each.startswith(tuple(AFTER_FIRST_USE)) for each in figures)


async def test_its_health_pages_answer_probes(api: Api) -> None:
    await install(api.client, policy.KINDS)
    manager = Manager(api.client, namespace=api.namespace)
    manager.add("policy", policy.register)
    ready = {"operators": lambda: "; ".join(manager.troubles())}
    async with (
        serve_health(metrics=manager.metrics, ready=ready) as server,
        aiohttp.ClientSession(f"http://127.0.0.1:{server.port}") as session,
    ):

        async def page(path: str) -> tuple[int, str]:
            async with session.get(path) as answer:
                return answer.status, await answer.text()

        status, told = await page("/readyz")
        assert (status, told.splitlines()[0]) == (503, "NOT READY")
        async with manager.running():
            await eventually(lambda: page("/readyz"), lambda found: found == (200, "READY"))
            assert await page("/healthz") == (200, "OK")
            assert (await page("/metrics"))[0] == 200
            assert (await page("/policies"))[0] == 404


async def test_violations_are_counted_by_severity_with_zeros(plane: Api) -> None:
    async with operating(plane) as live:
        await live.run_pod("web", BARE)
        await live.declare(ALL)
        await live.settles()
        counted = {
            each.rpartition("|")[2]: value
            for each, value in live.figures().items()
            if each.startswith("devopspolicy_violations_by_severity")
        }
        assert counted == {"critical": 0, "high": 1, "medium": 1, "low": 1}
        assert live.figure(f"devopspolicy_enforcement_mode|{live.namespace}|main") == 0
        await eventually(lambda: live.figure("devopspolicy_reconcile_duration_seconds_count") >= 2)
        assert live.figure("devopspolicy_reconcile_errors_total") == 0
