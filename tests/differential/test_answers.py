"""The plane answers a conversation as a real kube-apiserver does."""

from __future__ import annotations

import time

import pytest

from tests.differential import accounts, kubelets
from tests.differential.compare import Answer, Conversation, differences
from tests.differential.pods import MANAGED
from tests.differential.reasons import STEPS as REASONS
from tests.differential.reasons import is_allowed
from tests.differential.refusals import CLAIMED
from tests.differential.requests import SETUP, STEPS
from tests.differential.reviews import REVIEWED
from tests.differential.security import SECURED
from tests.differential.step import Step
from tests.differential.values import VALUED

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def answers(ours: Conversation, real: Conversation) -> dict[str, tuple[Answer, Answer]]:
    """Both servers' answers by step. Steps build on each other, so all are sent before any is judged."""
    for step in SETUP:
        assert ours.say(step).status == real.say(step).status == 201
    deadline = time.monotonic() + 30
    while real.say(Step("served", "GET", "/apis/example.com/v1/ruled")).status != 200:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    return {step.id: (mine := ours.say(step), _settled(real, step, mine)) for step in STEPS}


def _settled(real: Conversation, step: Step, mine: Answer) -> Answer:
    theirs, deadline = real.say(step), time.monotonic() + 10
    while step.is_late and _left(step, mine, theirs) and time.monotonic() < deadline:
        time.sleep(0.05)
        theirs = real.say(step)
    return theirs


def _left(step: Step, mine: Answer, theirs: Answer) -> list[str]:
    return [each for each in differences(mine.body, theirs.body) if not is_allowed(step.id, each)]


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.id)
def test_the_answer_is_the_same(step: Step, answers: dict[str, tuple[Answer, Answer]]) -> None:
    mine, theirs = answers[step.id]
    if "" not in REASONS.get(step.id, {}):
        assert mine.status == theirs.status, (mine.body, theirs.body)
        assert sorted(mine.warnings) == sorted(theirs.warnings)
    assert _left(step, mine, theirs) == []


@pytest.mark.parametrize("step", MANAGED)
def test_the_managers_of_the_replicas_are_the_same(step: str, answers: dict[str, tuple[Answer, Answer]]) -> None:
    mine, theirs = (_managers(answer) for answer in answers[step])
    assert mine == theirs


@pytest.mark.parametrize("step", [*VALUED, *CLAIMED])
def test_zeros_belong_to_nobody(step: str, answers: dict[str, tuple[Answer, Answer]]) -> None:
    mine, theirs = (
        {each["manager"]: each["fieldsV1"] for each in answer.body["metadata"]["managedFields"]}
        for answer in answers[step]
    )
    assert mine == theirs


def _managers(answer: Answer) -> list[tuple[str, str, str, str]]:
    entries = answer.body["metadata"]["managedFields"]
    owners = [each for each in entries if "f:replicas" in each["fieldsV1"].get("f:spec", {})]
    return sorted(
        (each["manager"], each["operation"], each["apiVersion"], each.get("subresource", "")) for each in owners
    )


@pytest.mark.parametrize("step", [*accounts.WORDED, *kubelets.WORDED])
def test_the_words_are_the_same(step: str, answers: dict[str, tuple[Answer, Answer]]) -> None:
    mine, theirs = answers[step]
    assert mine.body["message"] == theirs.body["message"]


@pytest.mark.parametrize("step", SECURED)
def test_what_violates_a_standard_is_said_in_the_same_words(
    step: str, answers: dict[str, tuple[Answer, Answer]]
) -> None:
    mine, theirs = answers[step]
    assert mine.body.get("message") == theirs.body.get("message")


@pytest.mark.parametrize("step", REVIEWED)
def test_what_a_review_says_is_the_same(step: str, answers: dict[str, tuple[Answer, Answer]]) -> None:
    mine, theirs = answers[step]
    assert mine.body["status"] == theirs.body["status"]
    assert mine.body.get("details", {}).get("causes") == theirs.body.get("details", {}).get("causes")


def test_every_reason_is_of_a_step() -> None:
    assert set(REASONS) <= {step.id for step in STEPS}
