"""The operator is killed between every two steps of a pass. After a restart the change is made once, and notified.

The steps are found by watching: each request to the git server and to a forge, before and after it is carried out, and
each notification. The process is killed with SIGKILL at one of them after another.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import aiohttp
from aiohttp import web

from homeostat.objects.kind import DEPLOYMENT
from homeostat.testing.eventually import eventually
from tests.cluster.fixtures import Api
from tests.external.fake_pulls import TOKEN, FakePulls
from tests.external.servers import serving
from tests.operators.images.scenarios import OLD
from tests.operators.images.stage import DEPLOYMENT_FILE, NAMESPACE, Repository, Stage, furnished
from tests.ports import free_port
from tests.processes import HOMEOSTAT

_PATH = "apps/web.yaml"


class Killer:
    """Ends the operator at a step, counted from the start of a pass."""

    def __init__(self) -> None:
        self.steps: list[str] = []
        self.victim: subprocess.Popen[bytes] | None = None
        self.at = -1
        self.name = ""
        """The step at which to end it, if it is known."""

    def step(self, name: str) -> None:
        self.steps.append(re.sub(r"[?].*service=", " ", name))
        if self.victim is not None and (len(self.steps) - 1 == self.at or self.steps[-1] == self.name):
            self.kill()

    def kill(self) -> None:
        assert self.victim is not None
        self.at, self.name = -1, ""
        self.victim.send_signal(signal.SIGKILL)
        self.victim.wait(30)


class Heard(Stage):
    """Notes notifications as steps too."""

    killer = Killer()

    async def hear(self, request: web.Request) -> web.StreamResponse:
        self.killer.step("webhook")
        answer = await super().hear(request)
        self.killer.step("done webhook")
        return answer


@contextmanager
def _operators(api: Api, port: int, cache: Path, **more: str) -> Iterator[Callable[[], subprocess.Popen[bytes]]]:
    """Starts a process, as often as it is called; all are ended."""
    words = ("run", "--operators", "images", "--faces-open", "--images-port", str(port), "--images-interval", "0")
    environment = {**os.environ, "KUBECONFIG": str(api.kubeconfig), "XDG_CACHE_HOME": str(cache), **more}
    command = [HOMEOSTAT, *words, "--health", f"127.0.0.1:{free_port()}"]
    with ExitStack() as stack:

        def start() -> subprocess.Popen[bytes]:
            quiet = subprocess.DEVNULL
            process = stack.enter_context(subprocess.Popen(command, env=environment, stdout=quiet, stderr=quiet))
            stack.callback(process.kill)
            return process

        yield start


async def _pass(stage: Heard) -> None:
    """The operator may be killed during it."""
    with suppress(aiohttp.ClientConnectionError):
        await stage.reconcile()


async def _started(stage: Heard) -> None:
    await eventually(lambda: stage.get("/health"), lambda found: found["tracked_deployments"] == 1, within_s=30)


async def _settled(stage: Heard) -> None:
    await eventually(lambda: stage.update("web"), lambda each: not each["status"].get("outbox"))


async def _change(stage: Heard, app: Repository, killed_at: int, text: str) -> str:
    killer = stage.killer
    new = app.push({"main.go": text})
    killer.steps, killer.at = [], killed_at
    await _pass(stage)
    return new


async def test_a_kill_between_any_two_steps_loses_and_repeats_nothing(plane: Api, tmp_path: Path) -> None:
    api, cache, port = plane, tmp_path / "cache", free_port()
    async with furnished(Heard, api, tmp_path / "git", f"http://127.0.0.1:{port}") as stage:
        killer = stage.killer
        assert stage.git is not None
        stage.git.interrupt = killer.step
        app = stage.repository("app-web", {"main.go": "0\n"})
        manifests = stage.repository("man-web", {_PATH: DEPLOYMENT_FILE.format(image=f"org/app:{OLD}")})
        await stage.deploy("web", None, notifications_secret_name="hook")
        with _operators(api, port, cache) as start:
            killer.victim = start()
            await _started(stage)
            for text in ("first\n", "second\n"):
                await _change(stage, app, -1, text)
                await _settled(stage)
            steps, commits = killer.steps, len(manifests.log())
            assert steps[0] == "/app-web.git/info/refs git-upload-pack"
            assert steps[-2:] == ["webhook", "done webhook"]
            assert "done /man-web.git/git-receive-pack" in steps
            for number, name in _kills(steps):
                stage.heard.clear()
                new = await _change(stage, app, number, f"{number}\n")
                await eventually(lambda: killer.victim is not None and killer.victim.poll() is not None)
                killer.victim, killer.at = start(), -1
                await _started(stage)
                await _pass(stage)
                await _settled(stage)
                commits += 1
                assert len(manifests.log()) == commits, name
                assert f"org/app:{new}" in manifests.show(_PATH), name
                assert (await stage.update("web")).get("spec", {}).get("pin") is None, name
                texts = {each["text"] for each in stage.heard}
                assert texts == {f"Deployment web patched successfully to version {new}"}, name
                assert len({each["key"] for each in stage.heard}) == 1, name
                assert len(stage.heard) == 1 or "webhook" in name


async def test_a_kill_between_any_two_steps_leaves_one_branch_and_one_request(plane: Api, tmp_path: Path) -> None:
    """One request is opened, updated and closed, and the operator is killed at each step of that that has an effect."""
    repo, port, forge = "acme/man", free_port(), FakePulls("github")
    push, pull = f"/{repo}.git/git-receive-pack", f"/repos/{repo}/pulls"
    async with (
        furnished(Heard, plane, tmp_path / "git", f"http://127.0.0.1:{port}") as stage,
        serving(forge) as api,
    ):
        killer = stage.killer = Killer()
        assert stage.git is not None
        stage.git.interrupt = forge.interrupt = killer.step
        await stage.secret(NAMESPACE, "forge", token=TOKEN)
        app = stage.repository("app-web", {"main.go": "0\n"})
        manifests = stage.repository(repo, {_PATH: DEPLOYMENT_FILE.format(image=f"org/app:{OLD}")})
        forge.add(repo, manifests)
        await stage.deploy(
            "web",
            None,
            manifest_repository=f"{stage.git_url}/{repo}.git",
            delivery="pull-request",
            pull_request_secret_name="forge",
            pull_request_secret_namespace=NAMESPACE,
        )

        def branches() -> list[str]:
            return manifests.git("for-each-ref", "--format=%(refname:short)", "refs/heads/homeostat-images").split()

        with _operators(plane, port, tmp_path / "cache", GITHUB_API_URL=api) as start:

            async def reconcile(kill_at: str) -> None:
                killer.name, killer.victim = kill_at, start()
                await _started(stage)
                await _pass(stage)
                await killed()

            async def killed() -> None:
                await eventually(lambda: killer.victim is not None and killer.victim.poll() is not None, within_s=30)
                # What a server does for one that was killed must not look like a step of the next.
                await eventually(lambda: stage.git is not None and not stage.git.running)

            def check_proposed() -> None:
                (request,), (branch,) = forge.requests[repo], branches()
                assert (request.branch, request.state) == (branch, "open")
                assert f"`{app.head()}`" in request.body
                assert f"org/app:{app.head()}\n" in manifests.show(_PATH, branch)
                assert len(manifests.log(branch=branch)) == len(manifests.log()) + 1

            for step in (f"/{repo}.git/info/refs git-receive-pack", f"done {push}", f"done POST {pull}"):
                await reconcile(step)
            check_proposed()
            app.push({"main.go": "1\n"})
            for step in (f"done {push}", f"done PATCH {pull}/1"):
                await reconcile(step)
            check_proposed()
            # It is closed without being asked, also if the workload was deleted while no operator ran.
            await stage.client.delete(DEPLOYMENT.path(NAMESPACE, "web"))
            for step in (f"done PATCH {pull}/1", f"done {push}"):
                killer.name, killer.victim = step, start()
                await killed()
            killer.victim = start()
            await eventually(stage.updates, lambda found: found == [], within_s=30)
            (request,) = forge.requests[repo]
            assert (request.state, branches(), len(request.comments)) == ("closed", [], 0)
            assert "Closed by the operator: none of these changes is needed any more" in request.body


def _kills(steps: list[str]) -> list[tuple[int, str]]:
    """Each kind of step once: killing after one request is killing before the next, except for those with an effect. Of
    the steps that only read, the first stands for all.
    """
    effects = ("done /man-web.git/git-receive-pack", "done webhook")
    found: dict[str, int] = {}
    for number, name in enumerate(steps):
        is_read = name.endswith("git-upload-pack") and number > 0
        if name in effects or not (name.startswith("done") or is_read):
            found.setdefault(name, number)
    return [(number, name) for name, number in found.items()]
