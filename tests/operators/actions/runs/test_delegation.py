"""A plugin that uses others: each has its own state, and a run that was cut off is found again."""

from __future__ import annotations

import asyncio
import dataclasses
from collections import defaultdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from homeostat.external.rest.client import RestClient
from homeostat.operators.actions.plugins.catalog import Catalog, PluginOffError, UnknownPluginError, without_programs
from homeostat.operators.actions.plugins.command import CommandPlugin
from homeostat.operators.actions.plugins.github_actions import GitHubActionsPlugin
from homeostat.operators.actions.plugins.plugin import ActionError, Plugin, Tools
from homeostat.operators.actions.runs.delegation import Delegates
from homeostat.testing.eventually import eventually
from tests.external.fake_github import TOKEN, FakeGitHub, Workflow
from tests.external.servers import serving
from tests.operators.actions.jobs import Desk, MemoryState, tools

CONFIG = {"owner": "acme", "repo": "infra", "workflow": "apply.yml", "ticketInput": "ticket", "poll_interval": 1}


def delegates(folder: Path, states: defaultdict[str, MemoryState], **plugins: Any) -> Delegates:
    """As a process makes them for a job: what is kept between processes is in `states`."""
    command = CommandPlugin(tools())
    job = Desk(command, {"apply": ["true"]}, folder).job({"size": 1}, "apply")
    job = dataclasses.replace(job, now=datetime.now(UTC))
    return Delegates(Catalog({"command": command, **plugins}, {}), {}, job, lambda name: states[name])


@pytest.mark.parametrize("is_answered", [True, False], ids=["started", "answer-lost"])
async def test_a_run_that_was_cut_off_is_not_started_again(tmp_path: Path, is_answered: bool) -> None:
    named: dict[str, Any] = {"inputs": frozenset({"spec", "ticket"}), "run_name": "apply ({ticket})"}
    github = FakeGitHub(apply=Workflow(**named))
    github.now_s = lambda: datetime.now(UTC).timestamp()
    github.takes_looks, github.loses_answers = 3, 0 if is_answered else 1
    states: defaultdict[str, MemoryState] = defaultdict(MemoryState)
    async with serving(github) as url, RestClient() as http:
        github.url = url
        plugin = GitHubActionsPlugin(Tools(http, {"GITHUB_TOKEN": TOKEN, "GITHUB_API_URL": url}))

        async def apply() -> Any:
            return (
                await delegates(tmp_path, states, github_actions=plugin).get("github_actions").apply(CONFIG, {"a": 1})
            )

        first = asyncio.create_task(apply())
        await eventually(lambda: github.runs)
        first.cancel()
        await asyncio.wait([first])
        assert (await apply()).is_success
        assert len(github.runs) == 1
        # What was applied is known, and another declaration is another run.
        used = delegates(tmp_path, states, github_actions=plugin).get("github_actions")
        assert (await used.plan(CONFIG, {"a": 1})).is_changed is False
        assert (await used.plan(CONFIG, {"a": 2})).is_changed is True


async def test_each_plugin_has_its_own_state_and_failures_name_it(tmp_path: Path) -> None:
    states: defaultdict[str, MemoryState] = defaultdict(MemoryState)
    used = delegates(tmp_path, states).get("command")
    outcome = await used.apply({"apply": ["sh", "-c", 'echo "{\\"outputs\\": {\\"a\\": 1}}"']}, {})
    assert (outcome.outputs, await used.outputs()) == ({"a": 1}, {"a": 1})
    assert set(states) == {"command", "command-record"}
    with pytest.raises(ActionError, match="exit code 3"):
        await used.apply({"apply": ["sh", "-c", "exit 3"]}, {})
    await used.destroy({"apply": ["true"]}, {})
    assert (states["command-record"].data, await used.outputs()) == (b"", {})


def test_a_plugin_that_is_unknown_or_off_cannot_be_used(tmp_path: Path) -> None:
    with pytest.raises(UnknownPluginError, match='unknown plugin "nope"'):
        delegates(tmp_path, defaultdict(MemoryState)).get("nope")
    known: Catalog[Plugin[Any]] = Catalog({"command": CommandPlugin(tools())}, {})
    off = without_programs(known)
    job = Desk(CommandPlugin(tools()), {"apply": ["true"]}, tmp_path).job({})
    with pytest.raises(PluginOffError, match="--allow-programs"):
        Delegates(off, {}, job, lambda _: MemoryState()).get("command")
