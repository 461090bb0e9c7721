"""Logs of Pods: of a server that has them. What a plane lacks is answered beside it; everything else is the plane's."""

from __future__ import annotations

from collections.abc import AsyncIterator
from urllib.parse import parse_qs

import aiohttp
import msgspec
import pytest
from playwright.async_api import Browser, Page, expect

from homeostat.client.base import Response, Transport
from homeostat.objects.json import JsonObject
from homeostat.plane import Plane
from homeostat.web.dashboard.objects.logs import MOST_BYTES
from tests.web.dashboard.inspection import faults_of
from tests.web.dashboard.objects.seed import HOSTILE, PODS, seed
from tests.web.dashboard.site import Site
from tests.web.rest import serve_rest

HERE = "/objects/core/pods/shop/worker"
CONTAINERS = [{"name": name, "image": "a"} for name in ("proxy", "app")]
POD: JsonObject = {
    "metadata": {"name": "worker", "annotations": {"kubectl.kubernetes.io/default-container": "app"}},
    "spec": {"initContainers": [{"name": "migrate", "image": "a"}], "containers": CONTAINERS},
}
REFUSED: JsonObject = {"kind": "Status", "reason": "BadRequest", "code": 400, "message": "previous container not found"}


class Kubelet(Transport):
    """Adds logs to a server."""

    def __init__(self, rest: Transport) -> None:
        self._rest = rest
        self.printed = [f"2026-11-18T10:00:{each:02}Z line {each}" for each in range(60)]
        self.asked: list[dict[str, list[str]]] = []

    async def send(
        self, method: str, path: str, *, query: str = "", body: bytes = b"", content_type: str = "", accept: str = ""
    ) -> Response:
        if path.endswith("/pods/worker/log"):
            self.asked.append(parse_qs(query))
            if "previous" in query:
                return Response(400, msgspec.json.encode(REFUSED))
            return Response(200, "\n".join(self.printed).encode() + b"\n\xff")
        answer = await self._rest.send(method, path, query=query, body=body, content_type=content_type, accept=accept)
        if path != "/api/v1":
            return answer
        listed = msgspec.json.decode(answer.body)
        return Response(200, msgspec.json.encode({**listed, "resources": [*listed["resources"], {"name": "pods/log"}]}))

    async def stream(self, path: str, *, query: str = "", accept: str = "") -> Response | AsyncIterator[bytes]:
        return await self._rest.stream(path, query=query, accept=accept)


@pytest.fixture
async def kubelet(plane: Plane) -> AsyncIterator[tuple[Kubelet, Site]]:
    made: list[Kubelet] = []

    def wrap(transport: Transport) -> Transport:
        made.append(Kubelet(transport))
        return made[-1]

    client = plane.client.over(wrap)
    await seed(plane.client)
    await plane.client.create(PODS, POD)
    async with (
        serve_rest(client, plane.private, namespace="default", environment={}, is_open=True) as server,
        aiohttp.ClientSession() as session,
    ):
        yield made[0], Site(session, f"http://127.0.0.1:{server.port}")


async def test_a_pod_shows_what_its_container_printed(kubelet: tuple[Kubelet, Site]) -> None:
    server, site = kubelet
    server.printed.append(f"\x1b[31mGET https://me:hunter2@db/ {HOSTILE}\x1b[0m")
    pod = await site.open(HERE)
    (link,) = (each for each in pod.document.all("a", class_="button") if each.text == "Logs")
    page = await site.open(link.attributes["href"].removeprefix("/dashboard"))
    assert server.asked[-1]["container"] == ["app"], "the default one"
    assert (server.asked[-1]["tailLines"], server.asked[-1]["limitBytes"]) == (["500"], [str(MOST_BYTES)])
    text = page.document.one("pre").text
    assert "line 59\nGET https://(hidden)@db/ </pre>" in text
    assert "hunter2" not in page.source
    assert "\x1b" not in page.source
    assert "kubectl logs worker -n shop -c app --tail=500 --timestamps" in page.text
    found = await site.open(f"{HERE}/logs?q=LINE+1&container=migrate&lines=100")
    assert len(found.document.one("pre").text.splitlines()) == 11
    assert (server.asked[-1]["container"], server.asked[-1]["tailLines"]) == (["migrate"], ["100"])
    assert "None of the last 62 lines contains this text." in (await site.open(f"{HERE}/logs?q=nowhere")).text
    refused = await site.open(f"{HERE}/logs?run=previous")
    assert "previous container not found" in refused.document.one("p", class_="trouble").text
    assert (await site.open("/objects/apps/deployments/shop/web/logs")).status == 404


async def test_of_long_lines_the_newest_are_shown_or_said_to_be_missing(kubelet: tuple[Kubelet, Site]) -> None:
    server, site = kubelet
    server.printed = ["x" * 1000] * 400 + ["newest"]
    page = await site.open(f"{HERE}/logs")
    assert "only their last 256 KiB are shown" in page.text
    assert page.document.one("pre").text.splitlines()[-2] == "newest"
    assert "missing" not in page.text
    server.printed = ["x" * 1000] * 2100
    assert "so the newest are missing. Choose fewer lines." in (await site.open(f"{HERE}/logs")).text


async def test_the_newest_lines_stay_in_view_unless_somebody_scrolls_up(
    kubelet: tuple[Kubelet, Site], tab: Page, browser: Browser, troubles: list[str]
) -> None:
    server, site = kubelet
    await tab.set_viewport_size({"width": 1280, "height": 500})
    await tab.goto(f"{site.url}/dashboard{HERE}/logs")
    log, rest = tab.locator("#log"), "const log = document.getElementById('log'); "
    below = f"() => {{ {rest} return log.scrollHeight - log.scrollTop - log.clientHeight; }}"
    assert await tab.evaluate(below) < 5
    server.printed += ["newest"] * 30
    await expect(log).to_contain_text("newest", timeout=20_000)
    assert await tab.evaluate(below) < 5
    await tab.evaluate(f"() => {{ {rest} log.scrollTop = 0; }}")
    server.printed += ["newer still"] * 30
    await expect(log).to_contain_text("newer still", timeout=20_000)
    assert await tab.evaluate(f"() => {{ {rest} return log.scrollTop; }}") == 0
    assert await faults_of(browser, site.url, [f"{HERE}/logs"]) == []
    assert troubles == []


async def test_a_server_without_logs_offers_none(plane: Plane, site: Site) -> None:
    await seed(plane.client)
    await plane.client.create(PODS, POD)
    assert "Logs" not in [each.text for each in (await site.open(HERE)).document.all("a")]
    missing = await site.open(f"{HERE}/logs")
    assert (missing.status, "nothing runs in its Pods" in missing.text) == (404, True)
