"""Pipelines keep resources: each is started once for what it is to do."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import AsyncExitStack
from datetime import timedelta
from typing import Any

import pytest
from aiohttp import web

from homeostat.external.rest.client import RestClient
from homeostat.operators.actions.plugins.gitlab_ci import ACTION, SPEC, GitLabCiPlugin
from homeostat.operators.actions.plugins.plugin import Tools
from tests.external.fake_gitlab import TOKEN, FakeGitLab
from tests.external.servers import serving
from tests.operators.actions.real_plugin import HostedLife


class Town:
    """A GitLab, and the one thing that its pipelines change."""

    def __init__(self, runner: asyncio.Runner) -> None:
        self.runner = runner
        self.value: str | None = None
        self.gitlab = FakeGitLab(self._effect)
        self._stack = AsyncExitStack()
        self._http, self._url = runner.run(self._open())

    async def _open(self) -> tuple[RestClient, str]:
        url = await self._stack.enter_async_context(serving(self.gitlab))
        return await self._stack.enter_async_context(RestClient()), url

    def close(self) -> None:
        self.runner.run(self._stack.aclose())

    def _effect(self, variables: dict[str, str]) -> None:
        match variables[ACTION]:
            case "apply":
                self.value = variables[SPEC]
            case "destroy":
                self.value = None

    def make(self) -> GitLabCiPlugin:
        environment = {"GITLAB_TOKEN": TOKEN, "GITLAB_API_URL": f"{self._url}/api/v4"}
        return GitLabCiPlugin(Tools(self._http, environment))

    def life(self, *, dies_at: int = 0, **config: Any) -> HostedLife:
        given = {"project": "acme/infra", "hasDestroy": True, **config}
        life = HostedLife(self.runner, self.make, given, dies_at=dies_at)
        self.gitlab.now_s = life.seconds
        return life

    @property
    def started(self) -> list[str]:
        return [each.variables[ACTION] for each in self.gitlab.pipelines.values()]


@pytest.fixture
def town() -> Iterator[Town]:
    with asyncio.Runner() as runner:
        town = Town(runner)
        yield town
        town.close()


def test_a_whole_life(town: Town) -> None:
    town.gitlab.files["apply"] = {"address": {"value": "10.0.0.1"}, "secret": {"value": "x", "sensitive": True}}
    life = town.life()
    life.settle()
    assert (town.value, life.status.phase) == ('{"value":"one"}', "ready")
    assert life.status.outputs["address"] == "10.0.0.1"
    assert "secret" not in life.status.outputs
    life.now += timedelta(hours=1)
    life.settle()
    life.delete()
    life.settle()
    assert life.is_gone
    assert (town.value, town.started) == (None, ["apply", "destroy"])


def test_a_death_at_any_step_starts_nothing_twice_though_answers_are_lost() -> None:
    with asyncio.Runner() as runner:
        steps = _whole_life(runner, 0)
        for dies_at in range(1, steps + 1):
            _whole_life(runner, dies_at)


def _whole_life(runner: asyncio.Runner, dies_at: int) -> int:
    town = Town(runner)
    town.gitlab.loses_answers = 1
    life = town.life(dies_at=dies_at)
    life.settle()
    life.delete()
    life.settle()
    town.close()
    assert life.is_gone, dies_at
    assert town.started == ["apply", "destroy"], dies_at
    return life.steps


def test_drift_is_found_by_a_pipeline_that_plans(town: Town) -> None:
    town.gitlab.files["plan"] = {"changed": True}
    life = town.life(hasPlan=True)
    life.settle()
    life.now += timedelta(minutes=6)
    life.settle()
    assert town.started == ["apply", "plan", "apply"]
    assert list(life.history.values())[-1].spec.is_drift


def test_without_a_pipeline_that_plans_it_is_applied_again_for_who_asks(town: Town) -> None:
    life = town.life()
    life.settle()
    life.ask("now")
    life.settle()
    assert (life.status.phase, town.started) == ("ready", ["apply", "apply"])


def test_a_limit_is_waited_for(town: Town) -> None:
    town.gitlab.moods = [web.json_response({"message": "Retry later"}, status=429, headers={"Retry-After": "33"})]
    life = town.life()
    life.settle()
    assert life.waits == ["RateLimited"]
    assert (life.status.phase, town.started) == ("ready", ["apply"])


def test_a_pipeline_that_somebody_cancels_is_cancelled_there(town: Town) -> None:
    town.gitlab.takes_looks = 10**6
    life = town.life()
    while life.status.run is None or life.status.run.handle is None:
        life.now += life.look() or timedelta()
    life.cancel()
    life.settle()
    assert town.gitlab.cancelled == [1]
    assert [each.spec.phase for each in life.history.values()] == ["cancelled"]
    assert life.status.message.startswith("Cancelled: ")


def test_a_pipeline_that_takes_too_long_is_cancelled(town: Town) -> None:
    town.gitlab.takes_looks = 10**6
    life = town.life(timeoutSeconds=60)
    life.settle()
    assert town.gitlab.cancelled == [1]
    assert life.status.message == "RunFailed: the pipeline ended with canceled"


@pytest.mark.parametrize(
    ("config", "told"),
    [
        pytest.param({"ref": "none"}, "Reference not found", id="no-such-ref"),
        pytest.param({"project": "acme/other"}, "404 Project Not Found", id="no-such-project"),
        pytest.param({"apiUrl": "http://elsewhere.example"}, "requires its own token", id="our-token-elsewhere"),
    ],
)
def test_what_is_wrong_is_reported(town: Town, config: dict[str, Any], told: str) -> None:
    life = town.life(**config)
    life.settle()
    assert life.status.phase == "failed"
    assert told in life.status.message
    assert TOKEN not in str(life.obj)
