"""A plane with the operator and its HTTP API, real repositories behind HTTP, registries and a webhook."""

from __future__ import annotations

import base64
import itertools
import json
import subprocess
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import aiohttp
import msgspec
from aiohttp import web

from homeostat.client.base import Client
from homeostat.external.oci.auth import OneCredential
from homeostat.external.oci.manifest import (
    OCI_MANIFEST,
    Descriptor,
    Index,
    Manifest,
    Platform,
    encode_manifest,
)
from homeostat.external.oci.push import push_blob, push_manifest
from homeostat.external.oci.registry import Registry
from homeostat.external.rest.client import RestClient
from homeostat.external.secrets.credentials import BasicAuth
from homeostat.external.secrets.docker_config import RegistryCredential
from homeostat.objects.errors import AlreadyExistsError, ApiError
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import DEPLOYMENT, EVENT, SECRET
from homeostat.operators import images
from homeostat.operators.images.api import FINALIZER, IMAGE_UPDATE
from homeostat.operators.images.engine.entry import status_lines
from homeostat.operators.images.engine.workloads import ALL
from homeostat.operators.images.service import ImageService
from homeostat.plane import Settings, open_plane
from homeostat.runtime.faces.listeners import FaceChoice, Place
from homeostat.runtime.installation import install
from homeostat.runtime.manager import Manager
from homeostat.testing.eventually import eventually
from tests.cluster.fixtures import Api, create_namespace
from tests.external.git_servers import HttpGit, Origin, serving_git
from tests.external.oci.media_types import OCI_CONFIG
from tests.external.registries import PASSWORD, USER, running_registry, with_passwords
from tests.external.servers import serving
from tests.operators.images.scenarios import OLD, Scenario

_QUICK = {"HOMEOSTAT_IMAGES_INTERVAL": "0", "HOMEOSTAT_IMAGES_WINDOW": "0.1"}
NAMESPACE = "images"
SECRETS = "gitops-operator"
DEPLOYMENT_FILE = """apiVersion: apps/v1
kind: Deployment
metadata: {{name: web}}
spec:
  template:
    spec:
      containers:
        - name: app
          image: {image}
"""


class Repository(Origin):
    """One of the tests' repositories, which others push to."""

    def head(self, branch: str = "master") -> str:
        return super().head(branch)

    def show(self, path: str, branch: str = "master") -> str:
        return self.git("show", f"refs/heads/{branch}:{path}") + "\n"

    def raw(self, path: str, branch: str = "master") -> bytes:
        return subprocess.run(
            ["git", "show", f"refs/heads/{branch}:{path}"], cwd=self.path, capture_output=True, check=True, timeout=20
        ).stdout

    def log(self, form: str = "%s", branch: str = "master") -> list[str]:
        return self.git("log", f"--format={form}", f"refs/heads/{branch}").splitlines()

    def push(self, files: Mapping[str, str | bytes], branch: str = "master") -> str:
        """A commit on top of the branch, whoever pushed to it last."""
        self.git("checkout", "-q", "-f", branch)
        self.git("reset", "-q", "--hard", f"refs/heads/{branch}")
        return self.commit(files)


class Stage:
    def __init__(self, root: Path, client: Client, url: str, session: aiohttp.ClientSession) -> None:
        self.root, self.client, self.url, self._session = root, client, url, session
        self.git_url = self.registry = self.slow = self.webhook = self.hooks = ""
        self.said: list[str] = []
        self.heard: list[JsonObject] = []
        self.webhook_status = 200
        self.webhook_headers: dict[str, str] = {}
        self.git: HttpGit | None = None

    def repository(
        self, name: str, files: Mapping[str, str | bytes] | None = None, branch: str = "master"
    ) -> Repository:
        made = Repository(self.root / f"{name}.git")
        first: tuple[str, Mapping[str, str | bytes]] = ("master", {"README": "x\n"})
        made.begin(first, *([] if files is None else [(branch, files)]))
        return made

    async def secret(self, namespace: str, name: str, **data: str) -> None:
        encoded = {key.replace("_", "-"): base64.b64encode(value.encode()).decode() for key, value in data.items()}
        body: JsonObject = {"metadata": {"name": name}, "data": encoded}
        await self.client.create(SECRET.path(namespace), body)

    async def docker_secret(self, name: str, host: str) -> None:
        auth = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        text = json.dumps({"auths": {f"http://{host}": {"auth": auth}}})
        data = {".dockerconfigjson": base64.b64encode(text.encode()).decode()}
        body: JsonObject = {"metadata": {"name": name}, "type": "kubernetes.io/dockerconfigjson", "data": data}
        await self.client.create(SECRET.path(SECRETS), body)

    async def push_image(
        self, host: str, repository: str, tag: str, *, is_index: bool = False, created: str = ""
    ) -> str:
        """The digest."""
        credential = RegistryCredential(basic=BasicAuth(USER, PASSWORD))
        async with RestClient() as rest:
            registry = Registry(rest, keychain=OneCredential(credential))
            name = f"{host}/{repository}"
            text = json.dumps({"architecture": "amd64", "os": "linux", "created": created or "2026-01-01T00:00:00Z"})
            config = await push_blob(registry, name, text.encode(), OCI_CONFIG)
            manifest = Manifest(config=config)
            if not is_index:
                return (await push_manifest(registry, f"{name}:{tag}", manifest)).digest
            inner = await push_manifest(registry, name, manifest)
            size = len(encode_manifest(manifest))
            entry = Descriptor(OCI_MANIFEST, inner.digest, size, platform=Platform("amd64", "linux"))
            return (await push_manifest(registry, f"{name}:{tag}", Index(manifests=(entry,)))).digest

    async def deploy(
        self, name: str, containers: Mapping[str, str] | None = None, **annotations: str | None
    ) -> JsonObject:
        """A Deployment of the repositories `app-NAME` and `man-NAME`; an annotation that is None is left out."""
        given: dict[str, str | None] = {
            "enabled": "true",
            "app_repository": f"{self.git_url}/app-{name}.git",
            "manifest_repository": f"{self.git_url}/man-{name}.git",
            "deployment_path": "apps/web.yaml",
            "image_name": "org/app",
            "ssh_key_name": "ssh-key",
            "ssh_key_namespace": NAMESPACE,
            **annotations,
        }
        noted = {f"gitops.operator.{key}": value for key, value in given.items() if value is not None}
        found = [{"name": each, "image": image} for each, image in (containers or {"app": f"org/app:{OLD}"}).items()]
        labels = {"app": name}
        body: JsonObject = {
            "metadata": {"name": name, "annotations": noted},
            "spec": {
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": {"containers": found}},
            },
        }
        return await self.client.create(DEPLOYMENT.path(NAMESPACE), body)

    async def annotate(self, name: str, **annotations: str | None) -> None:
        noted = {f"gitops.operator.{key}": value for key, value in annotations.items()}
        await self.client.merge(DEPLOYMENT.path(NAMESPACE, name), {"metadata": {"annotations": noted}})

    async def get(self, path: str) -> Any:
        async with self._session.get(f"{self.url}{path}") as answer:
            text = await answer.read()
            assert answer.status == 200, text
            return json.loads(text) if answer.content_type == "application/json" else text.decode()

    async def reconcile(self) -> dict[str, JsonObject]:
        """The entries by the name of the Deployment."""
        return {each["deployment"]: each for each in await self.get("/reconcile")}

    async def update(self, name: str) -> JsonObject:
        return await self.client.get(IMAGE_UPDATE.kind.path(NAMESPACE, name))

    async def updates(self) -> list[JsonObject]:
        found, _ = await self.client.list(IMAGE_UPDATE.kind.path(NAMESPACE))
        return found

    async def propose(self, name: str, workload: str, **settings: str) -> None:
        """An ImageUpdate whose status has a proposal, as an operator wrote it before it ended."""
        given = {
            "enabled": "true",
            "app_repository": f"{self.git_url}/app.git",
            "deployment_path": "apps/web.yaml",
            "image_name": "org/app",
            "ssh_key_name": "ssh-key",
            "ssh_key_namespace": NAMESPACE,
            "delivery": "pull-request",
            "forge": "gitea",
            "pull_request_secret_name": "token",
            **settings,
        }
        body = IMAGE_UPDATE.kind.new(name)
        body["metadata"]["finalizers"] = [FINALIZER]
        await self.client.create(IMAGE_UPDATE.kind.path(NAMESPACE), body)
        proposal = {"branch": f"homeostat-images/{name}", "workload": workload, "settings": given}
        status: JsonObject = {"status": {"proposals": [proposal]}}
        await self.client.merge(IMAGE_UPDATE.kind.path(NAMESPACE, name, "status"), status)

    async def events(self, reason: str) -> list[JsonObject]:
        found, _ = await self.client.list(EVENT.path(NAMESPACE))
        return [each for each in found if each["reason"] == reason]

    async def set_scene(self, name: str, scenario: Scenario) -> Repository:
        """The repositories and the Deployment of a scenario; returns the manifests repository."""
        branch = scenario.get("branch", "master")
        app = self.repository(f"app-{name}", {"main.go": "package main\n"}, branch)
        text = self.fill(scenario["file"], app.head(branch))
        manifests = self.repository(f"man-{name}", {scenario["path"]: text.encode()}, branch)
        for tag in scenario.get("image_tags", ()):
            repository = scenario.get("repo", "org/app")
            await self.push_image(
                self.registry, repository, self.fill(tag, app.head(branch)), is_index=bool(scenario.get("index"))
            )
        annotations = {"deployment_path": scenario["path"], "image_name": self.fill(scenario["image_name"])}
        annotations |= {
            key: value if value is None else self.fill(value) for key, value in scenario["annotations"].items()
        }
        if scenario.get("notify"):
            annotations |= {"notifications_secret_name": "hook"}
        containers = {each: self.fill(image) for each, image in scenario["containers"]}
        await self.deploy(name, containers, **annotations)
        return manifests

    def fill(self, text: str, new: str = "") -> str:
        marks = {"@OLD@": OLD, "@REG@": self.registry, "@SLOW@": self.slow, "@GIT@": self.git_url}
        marks |= {"@NEW@": new, "@NEW7@": new[:7]} if new else {}
        for mark, value in marks.items():
            text = text.replace(mark, value)
        return text

    async def hear(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.heard.append(body | {"key": request.headers["Idempotency-Key"]})
        self.said.append(body.get("text", ""))
        return web.Response(status=self.webhook_status, headers=self.webhook_headers)


class Managed(Stage):
    """The operator in a manager of this process, over a client; passes are asked for without HTTP."""

    def __init__(self, root: Path, client: Client, manager: Manager, session: aiohttp.ClientSession) -> None:
        super().__init__(root, client, "", session)
        self.manager = manager

    @property
    def service(self) -> ImageService:
        found = self.manager.offered("images")
        assert isinstance(found, ImageService)
        return found

    async def get(self, path: str) -> Any:
        if path == "/reconcile":
            await eventually(lambda: self.service.scheduler.is_running)
            return json.loads(msgspec.json.encode(await self.service.reconcile()))
        assert path == "/status"
        return "".join(status_lines(self.service.tracked()))


@asynccontextmanager
async def staged(data: Path, root: Path, *, has_registries: bool = False, **environment: str) -> AsyncIterator[Stage]:
    """On a plane, with its HTTP API."""
    async with AsyncExitStack() as stack:
        settings = Settings(
            data=data,
            port=0,
            is_open=True,
            operators=frozenset({"images"}),
            environment=_QUICK | environment,
            faces=FaceChoice(
                own={name: Place("127.0.0.1", 0) for name in ("images", "image-hooks")},
                without=frozenset({"dashboard"}),
            ),
        )
        plane = await stack.enter_async_context(open_plane(settings))
        session = await stack.enter_async_context(aiohttp.ClientSession())
        urls = {each.face.name: each.url for each in plane.faces}
        stage = Stage(root, plane.client, urls["images"], session)
        stage.hooks = urls["image-hooks"]
        await _furnish(stage, stack, has_registries=has_registries)
        yield stage


@asynccontextmanager
async def managed(
    api: Api, root: Path, *, client: Client | None = None, has_registries: bool = False, **environment: str
) -> AsyncIterator[Managed]:
    """On any server; `client` is the operator's, if it has less permissions. What was created is deleted."""
    async with AsyncExitStack() as stack:
        session = await stack.enter_async_context(aiohttp.ClientSession())
        await install(api.client, images.KINDS)
        manager = Manager(client or api.client, directory=root / "cache", environment=_QUICK | environment)
        manager.add("images", images.register, images.KINDS)
        stage = Managed(root, api.client, manager, session)
        try:
            await _furnish(stage, stack, has_registries=has_registries)
            await stack.enter_async_context(manager.running())
            yield stage
        finally:
            await _clear(api)


S = TypeVar("S", bound=Stage)


@asynccontextmanager
async def furnished(kind: type[S], api: Api, root: Path, url: str) -> AsyncIterator[S]:
    """Repositories, Secrets and a webhook for an operator that runs elsewhere, with its HTTP API at `url`."""
    async with AsyncExitStack() as stack:
        session = await stack.enter_async_context(aiohttp.ClientSession())
        await install(api.client, images.KINDS)
        stage = kind(root, api.client, url, session)
        try:
            await _furnish(stage, stack, has_registries=False)
            yield stage
        finally:
            await _clear(api)


async def _clear(api: Api) -> None:
    """In the background: a Job whose dependents are orphaned, its default, stays until a garbage collector runs."""
    for kind, namespace in itertools.product((*ALL, IMAGE_UPDATE.kind, SECRET), (NAMESPACE, SECRETS)):
        with suppress(ApiError):
            await api.client.delete(kind.path(namespace), {"propagationPolicy": "Background"})


async def _furnish(stage: Stage, stack: AsyncExitStack, *, has_registries: bool) -> None:
    root = stage.root
    root.mkdir(parents=True, exist_ok=True)
    stage.git, stage.git_url = await stack.enter_async_context(serving_git(root))
    stage.webhook = await stack.enter_async_context(serving(stage.hear))
    if has_registries:
        folder = root.parent / "registries"
        for name in ("registry", "slow"):
            auth = with_passwords(folder / name)
            setattr(stage, name, stack.enter_context(running_registry(folder / name, auth)))
    for namespace in (NAMESPACE, SECRETS):
        with suppress(AlreadyExistsError):
            await create_namespace(stage.client, namespace)
    await stage.secret(NAMESPACE, "ssh-key", ssh_privatekey="-----BEGIN OPENSSH PRIVATE KEY-----\nx\n")
    await stage.secret(SECRETS, "hook", webhook_url=stage.webhook)
    if has_registries:
        await stage.docker_secret("regcred", stage.registry)
        await stage.docker_secret("slowcred", stage.slow)
