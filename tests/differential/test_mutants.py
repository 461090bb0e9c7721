"""Of an object with one wrong member, the plane and a real kube-apiserver say the same."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.differential.compare import Answer, Conversation, differences
from tests.differential.lifecycle import NAMESPACE
from tests.differential.mutants import CHANGES, FAMILIES, mutated
from tests.differential.reasons import is_allowed
from tests.differential.statuses import STATUSES, life_of
from tests.differential.step import MERGE, Step, account

pytestmark = pytest.mark.cluster
_PREPARED = [Step("namespace", "POST", "/api/v1/namespaces", {"metadata": {"name": "diff"}}), account("diff")]
_OTHERS = [Step("other", "POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}}), account(NAMESPACE)]
_STARTED = {"startTime": "2024-01-01T00:00:00Z"}
_NOT_COMPARED = (
    ".ports: missing",
    ".finalizers",
    ".serviceName: missing",
    "controller-uid",
    "clusterIP",
    ".currentMetrics: missing",
    ".rules: missing",
    ".status",
)


@pytest.fixture(scope="module")
def servers(ours: Conversation, real: Conversation) -> tuple[Conversation, Conversation]:
    for step in [*_PREPARED, *_OTHERS]:
        for server in (ours, real):
            assert server.say(step).status in (201, 409)
    return ours, real


def _said(answer: Answer) -> tuple[int, tuple[str, ...], list[tuple[str, str]]]:
    """The code, the warnings and what is wrong with which field: a fault that is told twice counts once."""
    causes: list[dict[str, str]] = (answer.body.get("details") or {}).get("causes") or []
    return answer.status, answer.warnings, sorted({(each["reason"], each.get("field", "")) for each in causes})


def _left(mine: Any, theirs: Any) -> list[str]:
    found = [each for each in differences(mine, theirs) if not is_allowed("", each)]
    return [each for each in found if not any(each.find(part) >= 0 for part in _NOT_COMPARED)]


@pytest.mark.parametrize("kind", FAMILIES)
def test_a_mutant_is_judged_as_by_kubernetes(kind: str, servers: tuple[Conversation, Conversation]) -> None:
    collection, base, mutants = FAMILIES[kind]
    wrong: dict[str, Any] = {}
    for path, value in [("metadata/name", base["metadata"]["name"]), *mutants]:
        step = Step(path, "POST", f"{collection}?dryRun=All", mutated(base, path, value))
        mine, theirs = (server.say(step) for server in servers)
        name = f"{path}={'absent' if value is ... else value}"
        if _said(mine) != _said(theirs):
            wrong[name] = _said(mine), _said(theirs)
        elif mine.status == 201 and (left := _left(mine.body, theirs.body)):
            wrong[name] = left
    assert wrong == {}, "\n".join(f"{name}: {each}" for name, each in wrong.items())


@pytest.mark.parametrize("kind", CHANGES)
def test_a_change_is_judged_as_by_kubernetes(kind: str, servers: tuple[Conversation, Conversation]) -> None:
    """What may not change is told alone here; a real server adds what else is wrong."""
    collection, base, mutants = CHANGES[kind]
    for server in servers:
        assert server.say(Step("base", "POST", collection, base)).status == 201
    wrong: dict[str, Any] = {}
    for path, value in mutants:
        step = Step(path, "PUT", f"{collection}/changed?dryRun=All", mutated(base, path, value))
        mine, theirs = (_said(server.say(step)) for server in servers)
        if mine[:2] != theirs[:2] or not set(mine[2]) <= set(theirs[2]):
            wrong[f"{path}={'absent' if value is ... else value}"] = mine, theirs
    assert wrong == {}, "\n".join(f"{name}: {each}" for name, each in wrong.items())


@pytest.mark.parametrize("kind", STATUSES)
def test_a_status_is_judged_as_by_kubernetes(kind: str, servers: tuple[Conversation, Conversation]) -> None:
    life, (base, mutants) = life_of(kind), STATUSES[kind]
    own = {**life.object("-status"), "status": base}
    for server in servers:
        assert server.say(Step("base", "POST", life.collection, own)).status == 201
    path = f"{life.collection}/{own['metadata']['name']}/status?dryRun=All"
    wrong: dict[str, Any] = {}
    for at, value in [("", None), *mutants]:
        status = mutated(base, at, value) if at else base
        mine, theirs = (server.say(Step(at, "PUT", path, {**own, "status": status})) for server in servers)
        name = f"{at}={'absent' if value is ... else value}"
        if _said(mine) != _said(theirs):
            wrong[name] = _said(mine), _said(theirs)
        elif mine.status == 200 and (left := _of_status(mine.body, theirs.body)):
            wrong[name] = left
    for server in servers:
        server.say(Step("end", "DELETE", f"{life.collection}/{own['metadata']['name']}?gracePeriodSeconds=0"))
    assert wrong == {}, "\n".join(f"{name}: {each}" for name, each in wrong.items())


@pytest.mark.parametrize(("parallelism", "status"), [(3, 200), (2, 422)], ids=["elastic", "not elastic"])
def test_successes_of_elastic_jobs_alone_may_fall(
    parallelism: int, status: int, servers: tuple[Conversation, Conversation]
) -> None:
    job = life_of("Job").object(f"-{parallelism}")
    spec = {**job["spec"], "completionMode": "Indexed", "completions": 3, "parallelism": parallelism}
    many = life_of("Job").collection
    one = f"{many}/{job['metadata']['name']}"
    for server in servers:
        assert server.say(Step("job", "POST", many, {**job, "spec": spec})).status == 201
        told = [
            server.say(Step("status", "PATCH", f"{one}/status", {"status": {**_STARTED, **each}}, MERGE)).status
            for each in ({"succeeded": 3, "completedIndexes": "0-2"}, {"succeeded": 2, "completedIndexes": "0,1"})
        ]
        server.say(Step("end", "DELETE", f"{one}?gracePeriodSeconds=0"))
        assert told == [200, status]


def _of_status(mine: Any, theirs: Any) -> list[str]:
    """What a real server has written and ours has not, or otherwise; the empty values of Go do not count."""
    found = differences(mine["status"], theirs["status"])
    return [each for each in found if not re.search(r"missing, expected (null|\{|\"\")|currentMetrics", each)]
