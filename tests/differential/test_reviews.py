"""Webhooks are asked by the plane what a real kube-apiserver asks them, in the same order and words."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from tests.differential.compare import Answer, Conversation, comparable, differences
from tests.differential.reasons import is_allowed
from tests.differential.reviewed import ADMISSION, CM, LAMPS, NAMESPACE, STEPS, V1, V2, answer, configurations
from tests.differential.step import CRDS, Step, account, cm
from tests.differential.webhook import Webhook

pytestmark = pytest.mark.cluster
_PREPARED = [
    Step("namespace", "POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}}),
    account(NAMESPACE),
    Step("lamps", "POST", CRDS, LAMPS),
]


_REPEATED = frozenset({"pod deleted"})
"""Steps of which a real server asks several times: as it marks the Pod, and as it deletes it."""
_ALLOWED = {
    r"object\.status$": "Go writes empty values",
    r"object\.spec\.boundObjectRef$": "the same",
    r"object\.spec\.extra$": "what the stored version does not know is gone already",
}


def _is_allowed(difference: str) -> bool:
    return is_allowed("", difference) or any(re.search(each, difference.partition(":")[0]) for each in _ALLOWED)


class Said(NamedTuple):
    answer: Answer
    reviews: list[dict[str, Any]]


@pytest.fixture(scope="module")
def said(
    ours: Conversation, real: Conversation, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, tuple[Said, Said]]]:
    """What each server answered to each step and asked the webhooks meanwhile."""
    seen: list[dict[str, Any]] = []

    def record(path: str, review: dict[str, Any]) -> dict[str, Any]:
        seen.append({"webhook": path.rpartition("/")[2], **review})
        return answer(path, review)

    webhook = Webhook(tmp_path_factory.mktemp("webhook"), record)

    def say(server: Conversation, step: Step) -> Said:
        seen.clear()
        answered = server.say(step)
        # Webhooks that validate are asked at once.
        return Said(answered, sorted(seen, key=lambda each: str(each["webhook"])))

    servers = {"ours": ours, "real": real}
    with webhook.serving():
        for name, server in servers.items():
            for step in [*_PREPARED, *configurations(webhook, name)]:
                assert server.say(step).status == 201, step.id
            _wait_until_asked(server, seen)
        yield {step.id: (say(ours, step), say(real, step)) for step in STEPS}
        for server in servers.values():
            for kind in ("mutating", "validating"):
                server.say(Step("end", "DELETE", f"{ADMISSION}/{kind}webhookconfigurations/reviewed"))
            server.say(Step("end", "DELETE", f"{CRDS}/lamps.example.com"))


def _wait_until_asked(server: Conversation, seen: list[dict[str, Any]]) -> None:
    """A real server reads its configurations, and serves new kinds, some time after they were written."""
    deadline = time.monotonic() + 30
    asked: set[str] = set()
    while len(asked) < 2 or any(server.say(Step("served", "GET", path)).status != 200 for path in (V1, V2)):
        assert time.monotonic() < deadline
        seen.clear()
        server.say(Step("probe", "POST", f"{CM}?dryRun=All", cm("probe")))
        asked = {str(each["webhook"]) for each in seen}
        time.sleep(0.1)


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.id)
def test_the_reviews_are_the_same(step: Step, said: dict[str, tuple[Said, Said]]) -> None:
    mine, theirs = said[step.id]
    assert mine.answer.status == theirs.answer.status, (mine.answer.body, theirs.answer.body)
    assert sorted(mine.answer.warnings) == sorted(theirs.answer.warnings)
    asked = theirs.reviews
    if step.id in _REPEATED:
        asked = list({each["webhook"]: each for each in reversed(asked)}.values())[::-1]
    assert [_outline(each) for each in mine.reviews] == [_outline(each) for each in asked]
    left = [each for each in differences(comparable(mine.reviews), comparable(asked)) if not _is_allowed(each)]
    assert left == [], "\n".join(left)


def _outline(review: dict[str, Any]) -> tuple[str, ...]:
    request = review["request"]
    return tuple(str(each) for each in (review["webhook"], request["operation"], request.get("subResource", "")))
