"""Plays recorded scenarios against a server on which the operator runs, and compares what comes of them.

Registries are Debian's docker-registry; the services behind endpoints are played by a proxy, which the operator is told
of by HTTP_PROXY. The namespace of a scenario is part of what was recorded.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml
from aiohttp import web
from prometheus_client.parser import text_string_to_metric_families

from homeostat.client.base import Client
from homeostat.external.rest.client import RestClient
from homeostat.objects.errors import ApiError
from homeostat.objects.kind import EVENT, Kind
from homeostat.operators.contracts.api import PACTO, PACTO_REVISION
from homeostat.runtime.manager import Manager
from tests.cluster.fixtures import create_namespace
from tests.external.servers import serving
from tests.operators.contracts.pushing import push_files, registry_of

_FREE = ("message", "latencyMs", "daysRemaining", "error", "lastReconciledAt")
_ONCE = ("TagOverwritten", "ReadinessGateUnmet", "ReadinessRecovered")
_UNJUDGED = ("pacto_contract_validation_errors", "pacto_contract_validation_warnings")
_OURS = ("passingUntil", "invalidCount")
_OPTIONAL = ("ReadinessExpiring", "ContractRecovered")
_KINDS = {
    each.kind: each
    for each in (
        PACTO.kind,
        Kind("", "v1", "services", "Service", is_namespaced=True),
        Kind("", "v1", "secrets", "Secret", is_namespaced=True),
        Kind("apps", "v1", "deployments", "Deployment", is_namespaced=True),
        Kind("apps", "v1", "statefulsets", "StatefulSet", is_namespaced=True),
        Kind("apps", "v1", "replicasets", "ReplicaSet", is_namespaced=True),
        Kind("batch", "v1", "jobs", "Job", is_namespaced=True),
        Kind("batch", "v1", "cronjobs", "CronJob", is_namespaced=True),
    )
}


class Services:
    """The services of all scenarios, by namespace; what is not said answers 200 with a body."""

    def __init__(self, cases: Mapping[str, Any]) -> None:
        self._cases = cases

    async def answer(self, request: web.Request) -> web.StreamResponse:
        url = urlsplit(request.raw_path)
        namespace = (url.hostname or "").split(".")[1]
        told = self._cases[namespace.removeprefix("s-")].get("probes", {}).get(url.path, [200, "ok"])
        if told == "close":
            assert request.transport is not None
            request.transport.close()
            return web.Response()
        return web.Response(status=told[0], text=told[1])


@asynccontextmanager
async def proxying(cases: Mapping[str, Any]) -> AsyncIterator[str]:
    async with serving(Services(cases).answer) as url:
        yield url


class Stage:
    """The world that scenarios share."""

    def __init__(self, client: Client, manager: Manager, *, public: str, private: str) -> None:
        self.client, self.manager, self.public, self.private = client, manager, public, private
        self.rest = RestClient()

    def metrics(self) -> str:
        return self.manager.metrics.text().decode()


class Scenario:
    def __init__(self, stage: Stage, name: str, case: Mapping[str, Any]) -> None:
        self._stage, self._case, self.namespace = stage, case, f"s-{name}"
        self._digests: dict[str, str] = {}
        self._pushed: set[str] = set()

    async def play(self) -> None:
        client = self._stage.client
        await create_namespace(client, self.namespace)
        for texts, host in (("push", self._stage.public), ("private", self._stage.private)):
            await self._push(self._case.get(texts, {}), host)
        within_s = 30.0
        for step in self._case["steps"]:
            for each in step.get("apply", ()):
                await self._apply(each)
            for each in step.get("refuse", ()):
                await self._refuse(each)
            await self._push(step.get("push", {}), self._stage.public)
            for each in step.get("delete", ()):
                kind, _, name = each.partition("/")
                assert kind == "pacto"
                await client.delete(PACTO.kind.path(self.namespace, name))
            # What is recorded after a pause is awaited for as long as that took.
            within_s += step.get("wait", 0)
            if "gone" in step:
                await self._until(self._left, within_s)
            if "expect" in step:
                expected = step["expect"]
                await self._until(lambda: self._differences(expected), within_s)  # noqa: B023 - awaited here

    async def _until(self, differences: Any, within_s: float) -> None:
        deadline = asyncio.get_running_loop().time() + within_s
        while found := await differences():
            if asyncio.get_running_loop().time() > deadline:
                raise AssertionError("\n".join(found))
            await asyncio.sleep(0.3)

    async def _apply(self, obj: Mapping[str, Any]) -> None:
        filled = yaml.safe_load(self._fill(yaml.safe_dump(dict(obj))))
        kind = _KINDS[filled["kind"]]
        filled["metadata"]["namespace"] = self.namespace
        path = kind.path(self.namespace, filled["metadata"]["name"])
        await self._stage.client.apply(path, filled, manager="test", force=True)

    async def _refuse(self, obj: Mapping[str, Any]) -> None:
        with pytest.raises(ApiError) as refusal:
            await self._apply(obj)
        assert refusal.value.code in (400, 422)

    def _fill(self, text: str) -> str:
        text = text.replace("@REGISTRY@", self._stage.public).replace("@PRIVATE@", self._stage.private)
        return re.sub("@DIGEST:([^@]+)@", lambda found: self._digests[found[1]], text)

    async def _push(self, pushed: Mapping[str, Mapping[str, str]], host: str) -> None:
        registry = registry_of(self._stage.rest)
        for name, texts in pushed.items():
            target = f"{host}/{name}"
            files = {path: self._fill(text).encode() for path, text in texts.items() if not path.startswith("@")}
            digest = await push_files(registry, target, files, layers=int(texts.get("@layers", "1")))
            self._digests[name] = digest
            self._pushed.add(digest)

    async def _left(self) -> list[str]:
        found, _ = await self._stage.client.list(PACTO_REVISION.kind.path(self.namespace))
        series = [each for each in self._metrics() if each.startswith("pacto_contract")]
        return [each["metadata"]["name"] for each in found] + series

    async def _differences(self, expected: Mapping[str, Any]) -> list[str]:
        """The first kind of difference: looking at everything each time would take all of the processor."""
        if found := await self._pactos(expected["pactos"]):
            return found
        revisions, _ = await self._stage.client.list(PACTO_REVISION.kind.path(self.namespace))
        shown = {each["metadata"]["name"]: _revision(each) for each in revisions}
        if found := self._compare("revisions", shown, expected["revisions"]):
            return found
        events, _ = await self._stage.client.list(EVENT.path(self.namespace))
        return _compare_events(events, expected) or self._compare_metrics(expected["metrics"])

    async def _pactos(self, expected: Mapping[str, Any]) -> list[str]:
        found = []
        for name, wanted in expected.items():
            obj = await self._stage.client.get(PACTO.kind.path(self.namespace, name))
            status = dict(obj.get("status") or {})
            listed = status.pop("conditions", [])
            conditions = {
                each["type"]: [each["status"], each["reason"]] for each in listed if each["type"] not in _OPTIONAL
            }
            found += self._compare(f"{name} conditions", conditions, wanted["conditions"])
            if status.pop("observedGeneration", 0) != obj["metadata"]["generation"]:
                found.append("observedGeneration")
            fields = {key: value for key, value in wanted.items() if key not in ("conditions", "observed")}
            found += self._compare(name, status, fields)
        return found

    def _compare(self, what: str, found: Any, wanted: Any) -> list[str]:
        one, other = _comparable(found), _comparable(_with_digests(self._filled(wanted), found, self._pushed))
        return [] if one == other else [f"{what}:\n  found  {one}\n  wanted {other}"]

    def _filled(self, wanted: Any) -> Any:
        if isinstance(wanted, dict):
            return {self._filled(key): self._filled(value) for key, value in wanted.items()}
        if isinstance(wanted, list):
            return [self._filled(each) for each in wanted]
        return self._fill(wanted) if isinstance(wanted, str) else wanted

    def _compare_metrics(self, wanted: Mapping[str, float]) -> list[str]:
        found = self._metrics()
        names = {each.partition("{")[0] for each in wanted} | {"pacto_readiness_score", "pacto_readiness_checks"}
        wrong = [f"{key}: {found.get(key, 0.0)}" for key, value in wanted.items() if found.get(key, 0.0) != value]
        more = [key for key in found if key.partition("{")[0] in names and key not in wanted]
        return [each for each in wrong + more if not each.startswith(_UNJUDGED)]

    def _metrics(self) -> dict[str, float]:
        found: dict[str, float] = {}
        lines = [each for each in self._stage.metrics().splitlines() if f'namespace="{self.namespace}"' in each]
        for family in text_string_to_metric_families("\n".join(lines) + "\n"):
            for sample in family.samples:
                if sample.name.startswith("pacto_") and sample.labels.get("namespace") == self.namespace:
                    labels = ",".join(f"{k}={v}" for k, v in sorted(sample.labels.items()) if k != "namespace")
                    found[f"{sample.name}{{{labels}}}"] = sample.value
        return found


def _revision(obj: Mapping[str, Any]) -> dict[str, Any]:
    (owner,) = obj["metadata"]["ownerReferences"]
    status = {key: value for key, value in (obj.get("status") or {}).items() if key in ("resolved", "contractHash")}
    labels = {"labels": obj["metadata"]["labels"], "owner": f"{owner['kind']}/{owner['name']}"}
    return {**obj["spec"], **labels, **status}


def _compare_events(events: list[Any], expected: Mapping[str, Any]) -> list[str]:
    counts: dict[str, int] = {}
    for each in events:
        if each.get("deprecatedSource", {}).get("component") == "pacto-controller":
            key = f"{each['type']} {each['reason']} {each['regarding']['name']}"
            counts[key] = counts.get(key, 0) + (each.get("deprecatedCount") or 1)
    optional = {*expected["events_free"], *(key for key in counts if key.split()[1] in _OPTIONAL)}
    wrong = [key for key in counts.keys() ^ expected["events"].keys() if key not in optional]
    for key, count in expected["events"].items():
        if key.split()[1] in _ONCE and counts.get(key) != count:
            wrong.append(f"{key} {counts.get(key)} times")
    return [f"event {each}" for each in wrong]


def _with_digests(wanted: Any, found: Any, known: set[str]) -> Any:
    """What stands for a digest becomes the digest that was found there, if it is one that was pushed."""
    if isinstance(wanted, dict) and isinstance(found, dict):
        return {key: _with_digests(value, found.get(key), known) for key, value in wanted.items()}
    if isinstance(wanted, str) and isinstance(found, str) and "@bundle-" in wanted:
        lead, _, tail = wanted.partition("@bundle-")
        digest = found[len(lead) :]
        return f"{lead}{digest}{tail.partition('@')[2]}" if digest in known else wanted
    return wanted


def _comparable(value: Any) -> Any:
    """Without messages, times and what is zero or empty."""
    if isinstance(value, dict):
        kept = {key: _comparable(each) for key, each in value.items() if key not in (*_FREE, *_OURS)}
        return {key: each for key, each in kept.items() if each not in (None, "", 0, False, [], {})}
    if isinstance(value, list | tuple):
        return [_comparable(each) for each in value]
    return value
