"""The plane converts custom objects by webhooks as a real kube-apiserver does."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.differential.compare import Answer, Conversation, differences
from tests.differential.conversions import DEFINITIONS, FAULTY, LAMPS1, LAMPS2, STEPS, UNCONVERTED, V1, V2, setup
from tests.differential.converter import Converter
from tests.differential.step import CRDS, Step

pytestmark = pytest.mark.cluster
_EVERYWHERE = {r"\.metadata\.continue$": "empty there, absent here"}
_OWN_WORDS = {
    r"\.message$": "our own words",
    r"\.details\.kind$": "the kind or the plural",
    r"\.details$": "empty there",
}
_UUIDS = {r"\.message$": "it names an identity"}
_ACCEPTED = {r"\.status": "names are accepted with the write; a controller does it there", r"\.finalizers$": "the same"}
_REASONS = {
    "invalid at its version": {r"causes|message": "the selectable field is told twice there"},
    "patch of an absent field": _OWN_WORDS,
    "put without a version": _OWN_WORDS,
    "deleted with a wrong uid": _OWN_WORDS,
    "table": {r"\.columnDefinitions\[\d+\]\.description$": "our own words"},
    "lamp of the other version, patched": {r"managedFields": "cleared there: it cannot compare the versions"},
    "read new-uid": _UUIDS,
    "read other-uid": _UUIDS,
    "read null-objects": {r"\.message$": "our own words name the webhook"},
    "read text-objects": {r"\.message$": "our own words name the webhook"},
    **{
        f"conversion with {each}": _ACCEPTED
        for each in ("a service", "the older review version", "an empty bundle", "None with an empty webhook")
    },
}
_ALL = [*STEPS, *FAULTY, *DEFINITIONS, *UNCONVERTED]
_NAMESPACE = Step("namespace", "POST", "/api/v1/namespaces", {"metadata": {"name": "diff"}})


@pytest.fixture(scope="module")
def converter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Converter]:
    with Converter(tmp_path_factory.mktemp("converter")).serving() as converter:
        yield converter


@pytest.fixture(scope="module")
def answers(ours: Conversation, real: Conversation, converter: Converter) -> Iterator[dict[str, tuple[Answer, Answer]]]:
    """Both servers' answers by step; the real server has served both versions before."""
    for server in (ours, real):
        server.say(_NAMESPACE)
        for step in setup(converter):
            assert server.say(step).status == 201
        for path in (V1, V2, LAMPS1, LAMPS2):
            _wait_until_served(server, path)
    yield {step.id: (mine := ours.say(step), _settled(real, step, mine)) for step in _ALL}
    for server in (ours, real):
        for plural in ("tables", "lamps"):
            server.say(Step("end", "DELETE", f"{CRDS}/{plural}.example.com"))


def _wait_until_served(server: Conversation, path: str) -> None:
    deadline = time.monotonic() + 30
    while server.say(Step("served", "GET", path)).status != 200:
        assert time.monotonic() < deadline
        time.sleep(0.1)


def _settled(real: Conversation, step: Step, mine: Answer) -> Answer:
    theirs, deadline = real.say(step), time.monotonic() + 10
    while step.is_late and _left(step, mine, theirs) and time.monotonic() < deadline:
        time.sleep(0.05)
        theirs = real.say(step)
    return theirs


def _left(step: Step, mine: Answer, theirs: Answer) -> list[str]:
    allowed = {**_EVERYWHERE, **_REASONS.get(step.id, {})}
    found = differences(_sorted(mine.body), _sorted(theirs.body))
    return [each for each in found if not any(re.search(one, each.partition(":")[0]) for one in allowed)]


def _sorted(value: Any) -> Any:
    """With managers in one order: those of one second come in any."""
    match value:
        case {"managedFields": [*entries]}:
            rest = {name: _sorted(member) for name, member in value.items() if name != "managedFields"}
            return {**rest, "managedFields": sorted(entries, key=_manager)}
        case dict():
            return {name: _sorted(member) for name, member in value.items()}
        case list():
            return [_sorted(item) for item in value]
    return value


def _manager(entry: dict[str, Any]) -> tuple[str, ...]:
    return tuple(entry.get(name, "") for name in ("manager", "operation", "apiVersion", "subresource"))


@pytest.mark.parametrize("step", _ALL, ids=lambda step: step.id)
def test_the_answer_is_the_same(step: Step, answers: dict[str, tuple[Answer, Answer]]) -> None:
    mine, theirs = answers[step.id]
    assert mine.status == theirs.status, (mine.body, theirs.body)
    assert sorted(mine.warnings) == sorted(theirs.warnings)
    assert _left(step, mine, theirs) == []
