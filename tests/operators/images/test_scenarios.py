"""All scenarios at once, end to end: a plane, Git over HTTP, registries with passwords, a webhook."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest

from homeostat.operators.images.engine.message import SUBJECT
from homeostat.testing.eventually import eventually
from tests.operators.images.scenarios import OLD
from tests.operators.images.stage import Repository, Stage

_FILE = Path(__file__).parent / "scenarios.json"
_ON_A_CLUSTER = ("disabled", "incomplete", "no-key", "notify", "plain", "registry-has-it", "statefulset", "up-to-date")
"""One for each thing that the API server has a part in. What is only between the operator and Git is the same there."""
_STATUS = {"patched": "success", "up_to_date": "success", "skipped": "skipped", "failed": "failure"}


def _is_heard(stage: Stage, name: str) -> bool:
    return any(name in each or "not found" in each for each in stage.said)


async def _unseen(stage: Stage, names: set[str]) -> set[str]:
    """The watch of a cluster delivers some time after the write."""
    text: str = await stage.get("/status")
    return names - {line.split()[1] for line in text.splitlines() if line.startswith("images ")}


async def test_every_scenario_ends_as_expected(anywhere: Stage, request: pytest.FixtureRequest) -> None:
    scenarios = json.loads(_FILE.read_text())
    if request.node.callspec.params["anywhere"] == "cluster":
        scenarios = {name: scenarios[name] for name in _ON_A_CLUSTER}
    repositories = {name: await anywhere.set_scene(name, each) for name, each in scenarios.items()}
    tracked = {name for name, each in scenarios.items() if each["expect"]["action"] is not None}
    await eventually(partial(_unseen, anywhere, tracked), lambda unseen: not unseen)
    entries = await anywhere.get("/reconcile")
    found = {each["deployment"]: each for each in entries}
    for name, scenario in scenarios.items():
        expected, branch = scenario["expect"], scenario.get("branch", "master")
        repository, entry = repositories[name], found.get(name)
        app = anywhere.root / f"app-{name}.git"
        new = (app / f".git/refs/heads/{branch}").read_text().strip()
        if expected["action"] is None:
            assert entry is None, name
            continue
        assert entry is not None, name
        assert entry["action"] == expected["action"], entry
        assert entry["status"] == _STATUS[entry["action"]], entry
        assert expected.get("message", "") in entry["message"], entry
        is_patched = entry["action"] == "patched"
        text = scenario["file"] if expected["file"] is None else expected["file"]
        assert repository.raw(scenario["path"], branch).decode() == anywhere.fill(text, new), name
        subjects, authors, bodies = zip(*(each.split("\x01") for each in _commits(repository, branch)), strict=True)
        assert len(subjects) == 2 + is_patched, name
        if is_patched or entry["action"] == "up_to_date":
            short = scenario["annotations"].get("tag_type") == "short"
            assert entry["to_sha"] == (new[:7] if short else new), entry
        if is_patched:
            wanted = expected.get("from_sha", OLD)
            if wanted is not False:
                assert entry.get("from_sha") == wanted, entry
            assert (subjects[0], authors[0]) == (SUBJECT, "GitOps Operator")
            assert f"images/{name}: " in bodies[0]
        if scenario.get("notify"):
            await eventually(partial(_is_heard, anywhere, name))
    actions = [each["action"] for each in entries]
    assert actions == sorted(actions, key=lambda each: each == "skipped")
    await _check_second_pass(
        anywhere, {name: repositories[name] for name, each in scenarios.items() if each["expect"]["file"]}
    )


def _commits(repository: Repository, branch: str) -> list[str]:
    """Subject, author and body of each."""
    found = repository.git("log", "-z", "--format=%s%x01%an%x01%b", f"refs/heads/{branch}")
    return found.rstrip("\0").split("\0")


async def _check_second_pass(stage: Stage, repositories: dict[str, Repository]) -> None:
    """What was patched is up to date, and nothing is pushed."""
    heads = {name: each.heads() for name, each in repositories.items()}
    again = await stage.reconcile()
    assert {again[name]["action"] for name in repositories} == {"up_to_date"}
    assert heads == {name: each.heads() for name, each in repositories.items()}
