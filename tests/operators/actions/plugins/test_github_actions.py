"""Workflows keep resources: each is started once for what it is to do, whatever GitHub and this process do."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import AsyncExitStack
from datetime import timedelta
from typing import Any

import msgspec
import pytest
from aiohttp import web

from homeostat.external.rest.client import RestClient
from homeostat.operators.actions.api import ActionReference
from homeostat.operators.actions.plugins.github_actions import GitHubActionsPlugin
from homeostat.operators.actions.plugins.plugin import Tools
from tests.external.fake_github import TOKEN, FakeGitHub, Workflow
from tests.external.servers import serving
from tests.operators.actions.real_plugin import HostedLife

INPUTS = frozenset({"spec", "ticket"})
CONFIG = {
    "owner": "acme",
    "repo": "infra",
    "workflow": "apply.yml",
    "destroyWorkflow": "destroy.yml",
    "ticketInput": "ticket",
}


class Town:
    """A GitHub, and the one thing that its workflows change."""

    def __init__(self, runner: asyncio.Runner) -> None:
        self.runner = runner
        self.value: str | None = None
        named = {"inputs": INPUTS, "run_name": "apply ({ticket})"}
        self.plan = Workflow(**named, artifacts={"homeostat-outputs": {"changed": False}})  # type: ignore[arg-type]
        self.github = FakeGitHub(
            apply=Workflow(**named, effect=self._apply, artifacts=_outputs()),  # type: ignore[arg-type]
            destroy=Workflow(**named, effect=self._destroy),  # type: ignore[arg-type]
            plan=self.plan,
        )
        self._stack = AsyncExitStack()
        self.http = runner.run(self._open())

    async def _open(self) -> RestClient:
        self.github.url = await self._stack.enter_async_context(serving(self.github))
        return await self._stack.enter_async_context(RestClient())

    def close(self) -> None:
        self.runner.run(self._stack.aclose())

    def _apply(self, inputs: dict[str, str]) -> None:
        self.value = inputs.get("spec", "")

    def _destroy(self, _: dict[str, str]) -> None:
        self.value = None

    def make(self) -> GitHubActionsPlugin:
        environment = {"GITHUB_TOKEN": TOKEN, "GITHUB_API_URL": self.github.url}
        return GitHubActionsPlugin(Tools(self.http, environment))

    def life(self, *, spec: dict[str, Any] | None = None, dies_at: int = 0, **config: Any) -> HostedLife:
        given = {name: value for name, value in {**CONFIG, **config}.items() if value is not None}
        life = HostedLife(self.runner, self.make, given, spec=spec, dies_at=dies_at)
        self.github.now_s = life.seconds
        return life

    @property
    def started(self) -> list[str]:
        return [each.workflow for each in self.github.runs.values()]


def _outputs() -> dict[str, Any]:
    wrapped = {"value": "10.0.0.1", "type": "string", "sensitive": False}
    hidden = {"value": "hunter2", "type": "string", "sensitive": True}
    return {"homeostat-outputs": {"address": wrapped, "password": hidden, "size": 3}}


@pytest.fixture
def town() -> Iterator[Town]:
    with asyncio.Runner() as runner:
        town = Town(runner)
        yield town
        town.close()


@pytest.mark.parametrize("text", ["soon", "0", "-1", "nan", "inf"])
@pytest.mark.parametrize("name", ["GITHUB_ACTIONS_TIMEOUT", "GITHUB_ACTIONS_POLL_INTERVAL"])
def test_a_setting_that_is_not_a_time_is_named(town: Town, name: str, text: str) -> None:
    with pytest.raises(ValueError, match=f"environment variable {name} must be a number of seconds above 0"):
        GitHubActionsPlugin(Tools(town.http, {name: text}))


def test_a_whole_life(town: Town) -> None:
    life = town.life()
    life.settle()
    assert (town.value, town.started) == ('{"value":"one"}', ["apply.yml"])
    assert life.status.phase == "ready"
    assert {"address": "10.0.0.1", "size": 3}.items() <= life.status.outputs.items()
    assert life.status.outputs["jobs"][0]["conclusion"] == "success"
    assert "hunter2" not in str(life.obj) + str(life.history)
    life.now += timedelta(hours=1)
    life.settle()
    assert town.started == ["apply.yml"]
    life.delete()
    life.settle()
    assert life.is_gone
    assert (town.value, town.started) == (None, ["apply.yml", "destroy.yml"])


@pytest.mark.parametrize(("loses", "hides_for_s"), [(0, 0.0), (2, 30.0)], ids=["kind", "answers-lost-and-shown-late"])
def test_a_death_at_any_step_starts_nothing_twice(loses: int, hides_for_s: float) -> None:
    with asyncio.Runner() as runner:
        steps = _whole_life(runner, 0, loses, hides_for_s)
        for dies_at in range(1, steps + 1):
            _whole_life(runner, dies_at, loses, hides_for_s)


def _whole_life(runner: asyncio.Runner, dies_at: int, loses: int, hides_for_s: float) -> int:
    town = Town(runner)
    town.github.loses_answers, town.github.hides_for_s = loses, hides_for_s
    life = town.life(dies_at=dies_at)
    life.settle()
    life.delete()
    life.settle()
    town.close()
    assert life.is_gone, dies_at
    assert town.started == ["apply.yml", "destroy.yml"], dies_at
    return life.steps


def test_a_run_is_followed_where_it_was_started_whatever_the_type_says_by_now(town: Town) -> None:
    life = town.life()
    for _ in range(3):
        life.look()
    assert life.status.run is not None
    assert (life.status.run.handle or {})["repository"] == "acme/infra"
    moved = ActionReference("github_actions", {**CONFIG, "repo": "elsewhere"})
    usual, life.type = life.type, msgspec.structs.replace(life.type, action=moved)
    life.look()
    life.type = usual
    life.settle()
    assert (life.status.phase, town.started) == ("ready", ["apply.yml"])


def test_a_server_that_fails_after_starting_is_not_asked_again(town: Town) -> None:
    town.github.fails_after_dispatch = True
    life = town.life()
    life.settle()
    assert (life.status.phase, town.started) == ("ready", ["apply.yml"])


def test_a_dispatch_that_never_arrived_is_made_again_under_the_same_ticket(town: Town) -> None:
    town.github.moods = [web.json_response({"message": "Bad Gateway"}, status=502)]
    life = town.life()
    life.settle()
    assert (life.status.phase, town.started) == ("ready", ["apply.yml"])
    assert next(iter(town.github.runs.values())).title == "apply (u-1-1)"


def test_of_two_runs_for_one_dispatch_the_first_counts(town: Town) -> None:
    town.github.makes, town.github.loses_answers = 2, 1
    life = town.life()
    life.settle()
    assert life.status.phase == "ready"
    assert len(town.started) == 2
    assert list(life.history.values())[-1].spec.url.endswith("/1000")


def test_a_limit_is_waited_for(town: Town) -> None:
    town.github.moods = [town.github.limited(retry_after=90)]
    life = town.life()
    before = life.now
    life.settle()
    assert life.waits == ["RateLimited"]
    assert life.now - before >= timedelta(seconds=90)
    assert (life.status.phase, town.started) == ("ready", ["apply.yml"])


def test_a_token_that_runs_out_during_a_run_does_not_end_it(town: Town) -> None:
    life = town.life()
    life.look()
    life.look()
    town.github.moods = [web.json_response({"message": "Bad credentials"}, status=401)]
    life.settle()
    assert life.waits == ["ForgeRefused"]
    assert (life.status.phase, town.started) == ("ready", ["apply.yml"])


def test_an_older_server_that_names_no_run_has_it_found_by_its_ticket(town: Town) -> None:
    town.github.knows_details = False
    life = town.life()
    life.settle()
    assert (life.status.phase, town.started) == ("ready", ["apply.yml"])


def test_without_a_ticket_nobody_elses_run_is_taken(town: Town) -> None:
    town.github.makes, town.github.loses_answers = 2, 1
    life = town.life(ticketInput=None)
    life.settle()
    assert life.status.phase == "failed"
    assert "set ticketInput" in life.status.message


def test_without_a_ticket_a_neighbours_run_is_not_taken_for_one_that_never_began(town: Town) -> None:
    neighbour = town.life(ticketInput=None)
    plugin = town.make()
    neighbour.reborn(plugin)
    neighbour.look()
    neighbour.look()
    life = town.life(ticketInput=None)
    life.obj["metadata"]["uid"] = "u-2"
    life.reborn(plugin)
    town.github.moods = [web.json_response({"message": "Bad Gateway"}, status=502)]
    life.settle()
    assert (life.status.phase, town.started) == ("ready", ["apply.yml", "apply.yml"])
    assert list(life.history.values())[-1].spec.url.endswith("/1001")


def test_a_ticket_that_begins_like_another_is_not_that_one(town: Town) -> None:
    neighbour = town.life()
    neighbour.obj["metadata"]["uid"] = "u-1-1"
    neighbour.look()
    neighbour.look()
    assert [each.title for each in town.github.runs.values()] == ["apply (u-1-1-1)"]
    town.github.moods = [web.json_response({"message": "Bad Gateway"}, status=502)]
    life = town.life()
    life.settle()
    assert (life.status.phase, town.started) == ("ready", ["apply.yml", "apply.yml"])
    assert list(life.history.values())[-1].spec.url.endswith("/1001")


def test_a_run_that_fails_is_reported_with_its_address_and_retried_later(town: Town) -> None:
    town.github.workflows["apply.yml"].conclusion = "failure"
    life = town.life()
    life.settle()
    assert (life.status.phase, life.status.message) == ("failed", "RunFailed: the run ended with failure")
    assert list(life.history.values())[-1].spec.url.endswith("/1000")
    town.github.workflows["apply.yml"].conclusion = "success"
    life.now += timedelta(minutes=2)
    life.settle()
    assert (life.status.phase, len(town.started)) == ("ready", 2)


def test_a_run_that_somebody_cancels_is_cancelled_there(town: Town) -> None:
    town.github.takes_looks = 10**6
    life = town.life()
    while life.status.run is None or life.status.run.handle is None:
        life.now += life.look() or timedelta()
    life.cancel()
    life.settle()
    assert town.github.cancelled == [1000]
    assert [each.spec.phase for each in life.history.values()] == ["cancelled"]
    assert life.status.message.startswith("Cancelled: ")


def test_a_run_that_takes_too_long_is_cancelled_before_another_begins(town: Town) -> None:
    town.github.takes_looks = 10**6
    life = town.life(timeoutSeconds=60)
    life.settle()
    assert town.github.cancelled == [1000]
    assert (life.status.phase, life.status.message) == ("failed", "RunFailed: the run ended with cancelled")


def test_drift_is_found_by_the_plan_workflow(town: Town) -> None:
    life = town.life(planWorkflow="plan.yml")
    life.settle()
    life.now += timedelta(minutes=6)
    life.settle()
    assert town.started == ["apply.yml", "plan.yml"]
    town.plan.artifacts = {"homeostat-outputs": {"changed": True}}
    life.now += timedelta(minutes=6)
    life.settle()
    assert town.started == ["apply.yml", "plan.yml", "plan.yml", "apply.yml"]
    assert list(life.history.values())[-1].spec.is_drift


def test_without_a_plan_workflow_it_is_applied_again_for_who_asks(town: Town) -> None:
    life = town.life()
    life.settle()
    life.ask("now")
    life.settle()
    assert (life.status.phase, town.started) == ("ready", ["apply.yml", "apply.yml"])
    assert not list(life.history.values())[-1].spec.is_drift


def test_who_asks_has_the_plan_workflow_run_where_there_is_one(town: Town) -> None:
    life = town.life(planWorkflow="plan.yml")
    life.settle()
    life.ask("now")
    life.settle()
    assert town.started == ["apply.yml", "plan.yml"]


def test_a_plan_that_says_nothing_is_a_failure_and_no_drift(town: Town) -> None:
    town.plan.artifacts = {}
    life = town.life(planWorkflow="plan.yml")
    life.settle()
    life.now += timedelta(minutes=6)
    life.settle()
    assert life.status.phase == "failed"
    assert town.started == ["apply.yml", "plan.yml"]


def test_the_spec_may_name_the_workflow_as_users_of_the_original_write_it(town: Town) -> None:
    spec = {"owner": "acme", "repo": "infra", "workflow": "apply.yml", "inputs": {"spec": "mine"}}
    life = town.life(spec=spec, owner=None, repo=None, workflow=None, ticketInput=None, destroyWorkflow=None)
    life.settle()
    assert (life.status.phase, town.value) == ("ready", "mine")
    life.delete()
    life.settle()
    assert life.is_gone
    assert town.started == ["apply.yml"]


@pytest.mark.parametrize(
    ("config", "told"),
    [
        pytest.param({"owner": None}, "action.config.owner", id="no-owner"),
        pytest.param({"apiUrl": "http://elsewhere.example"}, "requires its own token", id="our-token-elsewhere"),
        pytest.param({"workflow": "none.yml"}, "HTTP 404", id="no-such-workflow"),
        pytest.param({"inputs": {"colour": "red"}}, "Unexpected inputs", id="unknown-input"),
        pytest.param({"worflow": "x"}, "unknown field `worflow`", id="misspelt"),
    ],
)
def test_what_is_wrong_with_a_configuration_is_reported(town: Town, config: dict[str, Any], told: str) -> None:
    life = town.life(**config)
    life.settle()
    assert life.status.phase == "failed"
    assert told in life.status.message
    assert TOKEN not in str(life.obj)
