"""Workloads of all kinds are tracked with no more permissions than the rules give, and forgotten when gone."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

from homeostat.cli.operators.deploy.access import access_documents
from homeostat.client.base import Response, Transport
from homeostat.objects.errors import NotFoundError
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import DEFINITION, DEPLOYMENT, SECRET, STATEFUL_SET
from homeostat.operators import images
from homeostat.operators.images.api import IMAGE_UPDATE
from homeostat.operators.images.engine.workloads import CRON_JOB, KINDS, ROLLOUT, ROLLOUT_DEFINITION
from homeostat.testing.eventually import eventually
from tests.cli.applying import apply
from tests.cli.permissions import Noting, Used, acting_as, granted_by
from tests.cluster.fixtures import Api
from tests.external.fake_pulls import TOKEN, FakePulls
from tests.external.servers import serving
from tests.operators.images.scenarios import OLD
from tests.operators.images.stage import DEPLOYMENT_FILE, NAMESPACE, Managed, Stage, managed

_ACCOUNT = "operator"
_FILE = DEPLOYMENT_FILE.format(image=f"org/app:{OLD}")
_ROLLOUTS: JsonObject = {
    "apiVersion": DEFINITION.api_version,
    "kind": DEFINITION.kind,
    "metadata": {"name": ROLLOUT_DEFINITION},
    "spec": {
        "group": ROLLOUT.group,
        "scope": "Namespaced",
        "names": {"plural": ROLLOUT.plural, "kind": ROLLOUT.kind},
        "versions": [
            {
                "name": ROLLOUT.version,
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
        ],
    },
}


def _annotations(stage: Stage, path: str) -> dict[str, str]:
    given = {
        "enabled": "true",
        "app_repository": f"{stage.git_url}/app.git",
        "manifest_repository": f"{stage.git_url}/man.git",
        "deployment_path": path,
        "image_name": "org/app",
        "ssh_key_name": "ssh-key",
        "ssh_key_namespace": NAMESPACE,
    }
    return {f"gitops.operator.{key}": value for key, value in given.items()}


def _spec() -> JsonObject:
    labels = {"app": "web"}
    pod = {"containers": [{"name": "app", "image": f"org/app:{OLD}"}], "restartPolicy": "Never"}
    return {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": pod}}


async def _declare(stage: Managed, kind: str) -> None:
    """A workload `web` of the kind, whose file is named after it."""
    found = next(each for each in (*KINDS, CRON_JOB, ROLLOUT) if each.kind == kind)
    spec = _spec()
    if kind in ("Deployment", "StatefulSet", "DaemonSet"):
        del spec["template"]["spec"]["restartPolicy"]
    if kind in ("Job", "CronJob"):
        del spec["selector"]
    if kind == "CronJob":
        spec = {"schedule": "0 0 * * *", "jobTemplate": {"spec": spec}}
    if kind == "StatefulSet":
        spec["serviceName"] = "web"
    metadata = {"name": "web", "annotations": _annotations(stage, f"{kind}.yaml")}
    body: JsonObject = {"apiVersion": found.api_version, "kind": kind, "metadata": metadata, "spec": spec}
    await stage.client.create(found.path(NAMESPACE), body)


async def test_every_kind_is_updated_with_the_permissions_of_the_rules(api: Api, tmp_path: Path) -> None:
    used: Used = set()
    refused: list[str] = []
    kinds = ["Deployment", "StatefulSet", "DaemonSet", "Job", "CronJob"]
    await apply(
        api.client,
        *access_documents({"images": images.RULES}, namespace=api.namespace, account=_ACCOUNT, has_election=False),
    )
    async with acting_as(api, api.namespace, _ACCOUNT) as account:
        client = account.over(lambda transport: Noting(transport, used, refused))
        async with managed(api, tmp_path / "git", client=client) as stage:
            app = stage.repository("app", {"main.go": "package main\n"})
            manifests = stage.repository("man", {f"{kind}.yaml": _FILE for kind in (*kinds, "Rollout")})
            for kind in kinds:
                await _declare(stage, kind)
            await eventually(lambda: len(stage.service.tracked()) == len(kinds))
            found = await stage.reconcile()
            labels = {"web", *(f"{kind.lower()}/web" for kind in kinds[1:])}
            assert {each["deployment"] for each in found.values() if each["action"] == "patched"} == labels
            assert found["cronjob/web"]["message"] == f"CronJob web patched successfully to version {app.head()}"
            assert f"images/statefulset/web: org/app {OLD} -> {app.head()}" in manifests.log("%b")[0:6]
            assert "images       cronjob/web              true     master" in await stage.get("/status")
            manifests.push({"CronJob.yaml": _FILE.replace(OLD, "by-hand")})
            assert (await stage.reconcile())["cronjob/web"]["action"] == "skipped"
            assert (await stage.update("web.cronjob"))["spec"]["pin"]["tag"] == "by-hand"
            await _check_rollouts(stage, api)
            await _check_forgetting(stage)
    assert refused == []
    unused = {each for each in granted_by(images.RULES) - used if each[1] != "list"}
    assert unused <= {("events", "patch")}


async def _check_rollouts(stage: Managed, api: Api) -> None:
    """The kind comes and goes while the operator runs."""
    await api.client.create(DEFINITION.path(""), _ROLLOUTS)
    await eventually(lambda: api.client.list(ROLLOUT.path(NAMESPACE)), lambda found: found is not None)
    await _declare(stage, "Rollout")
    await eventually(lambda: len(stage.service.tracked()) == 6)
    assert (await stage.reconcile())["rollout/web"]["action"] == "patched"
    await api.client.delete(DEFINITION.path("", ROLLOUT_DEFINITION))
    await eventually(lambda: len(stage.service.tracked()) == 5)
    assert "rollout/web" not in await stage.reconcile()


async def _check_forgetting(stage: Managed) -> None:
    """An ImageUpdate goes with its workload. A pin outlives the annotations, and not the workload."""
    path = IMAGE_UPDATE.kind.path(NAMESPACE, "web.statefulset")
    await stage.client.merge(path, {"spec": {"pin": {"tag": "x"}}})
    await stage.client.merge(
        STATEFUL_SET.path(NAMESPACE, "web"), {"metadata": {"annotations": {"gitops.operator.enabled": None}}}
    )
    missing = "StatefulSet web is not tracked: the annotation gitops.operator.enabled is missing; add it"
    await eventually(
        lambda: stage.events("AnnotationMissing"), lambda found: missing in [each["note"] for each in found]
    )
    await stage.client.delete(DEPLOYMENT.path(NAMESPACE, "web"))
    await eventually(lambda: _is_gone(stage, "web"))
    assert not await _is_gone(stage, "web.statefulset")
    await stage.client.delete(STATEFUL_SET.path(NAMESPACE, "web"))
    await eventually(lambda: _is_gone(stage, "web.statefulset"))
    assert not await _is_gone(stage, "web.cronjob")
    # One that waits for a finalizer may stay for ever.
    job = CRON_JOB.path(NAMESPACE, "web")
    await stage.client.merge(job, {"metadata": {"finalizers": ["example.org/hold"]}})
    await stage.client.delete(job, {"propagationPolicy": "Background"})
    await eventually(lambda: "cronjob/web" not in {each.label for each in stage.service.tracked()})
    assert "cronjob/web" not in await stage.reconcile()
    await eventually(lambda: _is_gone(stage, "web.cronjob"))
    await stage.client.merge(job, {"metadata": {"finalizers": None}})
    await stage.client.get(SECRET.path(NAMESPACE, "ssh-key"))


async def _is_gone(stage: Stage, name: str) -> bool:
    try:
        await stage.update(name)
    except NotFoundError:
        return True
    return False


_ERROR = Response(500, b'{"kind": "Status", "code": 500, "reason": "InternalError", "message": "try again"}')


class Failing:
    """A transport to a server that answers some requests with an error."""

    def __init__(self, transport: Transport, fails: set[tuple[str, str]]) -> None:
        self._transport, self._fails = transport, fails
        """Methods, and a part of the path."""

    async def send(self, method: str, path: str, **options: str | bytes) -> Response:
        if self._is_failing(method, path):
            return _ERROR
        return await self._transport.send(method, path, **options)  # type: ignore[arg-type]

    async def stream(self, path: str, **options: str) -> Response | AsyncIterator[bytes]:
        return _ERROR if self._is_failing("GET", path) else await self._transport.stream(path, **options)

    def _is_failing(self, method: str, path: str) -> bool:
        return any(method == each and part in path for each, part in self._fails)


async def test_what_the_server_does_not_say_or_keep_changes_no_request(plane: Api, tmp_path: Path) -> None:
    forge, fails = FakePulls("gitea"), {("GET", f"/{ROLLOUT.plural}"), ("PATCH", "/imageupdates/web/status")}
    await plane.client.create(DEFINITION.path(""), _ROLLOUTS)
    client = plane.client.over(lambda transport: Failing(transport, fails))
    async with (
        serving(forge) as forge_api,
        managed(plane, tmp_path / "git", client=client, GITEA_API_URL=forge_api) as stage,
    ):
        stage.repository("app", {"main.go": "package main\n"})
        manifests = stage.repository("acme/man", {"apps/web.yaml": _FILE})
        forge.add("acme/man", manifests)
        await stage.secret(NAMESPACE, "token", token=TOKEN)
        request = {
            "manifest_repository": f"{stage.git_url}/acme/man.git",
            "pull_request_secret_name": "token",
            "pull_request_secret_namespace": NAMESPACE,
        }
        # A Deployment that is not found is gone; a Rollout may be there, and only its list fails.
        await stage.propose("gone", "gone", **request)
        await stage.propose("web.rollout", "rollout/web", **request)

        async def is_cleared(name: str) -> bool:
            await stage.reconcile()
            return "proposals" not in (await stage.update(name))["status"]

        await eventually(lambda: is_cleared("gone"))
        assert not await is_cleared("web.rollout")

        # A branch of which nobody would know after a crash is not pushed.
        given = {"app_repository": f"{stage.git_url}/app.git", "delivery": "pull-request", "forge": "gitea"}
        await stage.deploy("web", None, **given, **request)
        await eventually(lambda: len(stage.service.tracked()) == 1)
        entry = (await stage.reconcile())["web"]
        assert (entry["action"], forge.requests["acme/man"]) == ("failed", [])
        assert "is not proposed: cannot write its ImageUpdate" in entry["message"]
        assert "homeostat-images" not in manifests.git("for-each-ref")
        fails.clear()
        assert (await stage.reconcile())["web"]["action"] == "patched"
        assert len(forge.requests["acme/man"]) == 1
        await eventually(lambda: is_cleared("web.rollout"), within_s=30)


async def test_an_image_update_without_a_pin_goes_some_time_after_the_annotations(api: Api, tmp_path: Path) -> None:
    async with managed(api, tmp_path / "git", HOMEOSTAT_IMAGES_KEEP="0.1") as stage:
        stage.repository("app", {"main.go": "package main\n"})
        stage.repository("man", {"Deployment.yaml": _FILE})
        await _declare(stage, "Deployment")
        await eventually(lambda: len(stage.service.tracked()) == 1)
        await stage.reconcile()
        assert not await _is_gone(stage, "web")
        await stage.annotate("web", image_name=None)
        await eventually(lambda: _is_gone(stage, "web"))
