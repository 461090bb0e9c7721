"""Decisions of a pass, as tables and properties of pure functions."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeostat.objects.views.workload import Workload
from homeostat.operators.images.act import apply, change_of
from homeostat.operators.images.decide import Due, Settled, Verdict, decide, survey
from homeostat.operators.images.engine.annotations import Tracked, tracked_of
from homeostat.operators.images.engine.build import Build
from homeostat.operators.images.engine.rules import Rules
from homeostat.operators.images.world import (
    Absent,
    ImageState,
    Present,
    Problem,
    Record,
    Subject,
    Unchecked,
    Wanted,
    World,
)
from tests.operators.images.scenarios import deployment
from tests.operators.images.stage import DEPLOYMENT_FILE

_NOW = datetime(2026, 11, 17, 12, tzinfo=UTC)
_PATH = "apps/web.yaml"


def _tracked(name: str = "web", path: str = _PATH) -> Tracked:
    scene = {"path": path, "image_name": "org/app", "containers": [["app", "org/app:a"]], "annotations": {}}
    found = tracked_of(msgspec.convert(deployment(name, scene), Workload))
    assert found is not None
    return found


def _subject(wanted: str = "b", name: str = "web", path: str = _PATH, **record: str | None) -> Subject:
    return Subject(_tracked(name, path), Rules(), Wanted(wanted, wanted * 40), Record(**record))  # type: ignore[arg-type]


def _world(*subjects: Subject, tag: str = "a") -> World:
    return World(_NOW, subjects, {_PATH: DEPLOYMENT_FILE.format(image=f"org/app:{tag}").encode()})


def _reason(verdict: Verdict) -> str:
    return verdict.reason if isinstance(verdict, Settled) else "Due"


@pytest.mark.parametrize(
    ("tag", "record", "reason"),
    [
        ("a", {}, "Due"),
        ("a", {"tag": "a"}, "Due"),
        ("b", {"tag": "a"}, "UpToDate"),
        ("c", {"tag": "a"}, "Pinned"),
        ("c", {}, "Due"),
        ("a", {"tag": "x", "attempt": "a"}, "Due"),
        ("b", {"pin": "b"}, "Pinned"),
        ("a", {"tag": "a", "pin": ""}, "Pinned"),
    ],
)
def test_the_tag_of_the_file_and_the_record_decide(tag: str, record: dict[str, str], reason: str) -> None:
    (verdict,) = survey(_world(_subject(**record), tag=tag))
    assert _reason(verdict) == reason
    if isinstance(verdict, Settled) and reason == "Pinned" and "pin" not in record:
        assert verdict.pin == tag


@pytest.mark.parametrize(
    ("state", "action", "says"),
    [
        (Present("sha256:x"), "", ""),
        (Unchecked("no credentials"), "", ""),
        (Absent(Build.RUNNING), "skipped", "waiting"),
        (Absent(Build.QUEUED), "skipped", "waiting"),
        (Absent(Build.FAILED), "failed", "build"),
        (Absent(Build.COMPLETED), "failed", "not found"),
        (Absent(Build.NOT_FOUND), "failed", "not found"),
        (Absent(), "failed", "not found"),
        (Problem("HTTP 429", "RateLimited", 60.0), "failed", "429"),
    ],
)
def test_the_state_of_the_image_decides_whether_it_is_written(state: ImageState, action: str, says: str) -> None:
    plan = decide(survey(_world(_subject())), {"images/web": state}, {})
    if not action:
        assert [each.target.tag for each in plan.updates] == ["b"]
        return
    (settled,) = plan.settled
    assert settled.entry.action == action
    assert says in settled.entry.message


@pytest.mark.parametrize(("waits", "delay_s"), [(0, 10.0), (1, 20.0), (2, 40.0), (3, 60.0), (9, 60.0)])
def test_a_build_is_asked_about_less_often_the_longer_it_takes(waits: int, delay_s: float) -> None:
    plan = decide(survey(_world(_subject())), {"images/web": Absent(Build.RUNNING)}, {"images/web": waits})
    assert plan.settled[0].retry_s == delay_s


def test_two_deployments_that_want_different_tags_of_a_line_fail_and_name_it() -> None:
    first, second = survey(_world(_subject("b"), _subject("c", name="other")))
    for verdict in (first, second):
        assert isinstance(verdict, Settled)
        assert f"{_PATH}, line 9" in verdict.entry.message
        assert verdict.entry.action == "failed"


def test_two_deployments_that_want_the_same_tag_share_the_line() -> None:
    verdicts = survey(_world(_subject("b"), _subject("b", name="other")))
    due = [each for each in verdicts if isinstance(each, Due)]
    assert len(due) == 2
    applied = apply(_world().files, due)
    change = change_of(applied, due)
    assert change is not None
    assert change.message.count("org/app a -> b") == 2


@pytest.mark.parametrize("data", [b"a: [", b"", b"\xff\xfe", b"kind: Deployment\nspec: 7\n", b"- 1\n- 2\n", b"x"])
def test_a_broken_file_fails_and_is_named(data: bytes) -> None:
    (verdict,) = survey(World(_NOW, (_subject(),), {_PATH: data}))
    assert isinstance(verdict, Settled)
    assert verdict.entry.action == "failed"
    assert _PATH in verdict.entry.message


def test_a_file_that_changed_since_it_was_compared_is_not_touched() -> None:
    due = [each for each in survey(_world(_subject())) if isinstance(each, Due)]
    applied = apply(_world(tag="human").files, due)
    assert applied.moved == {"images/web"}
    assert change_of(applied, due) is None
    assert change_of(apply(_world(tag="b").files, due), due) is None


_TAGS = st.sampled_from(["a", "b", "c", ""])


@given(_TAGS, _TAGS, _TAGS, _TAGS.filter(bool), st.none() | _TAGS)
def test_once_the_updates_are_written_nothing_is_due(
    tag: str, recorded: str, attempt: str, wanted: str, pin: str | None
) -> None:
    subject = _subject(wanted, tag=recorded, attempt=attempt, pin=pin)
    text = DEPLOYMENT_FILE.format(image=f"org/app:{tag}" if tag else "org/app")
    world = World(_NOW, (subject,), {_PATH: text.encode()})
    assert survey(world) == survey(world)
    due = [each for each in survey(world) if isinstance(each, Due)]
    applied = apply(world.files, due)
    if due:
        after = World(_NOW, (_subject(wanted, tag=wanted),), dict(applied.files))
        assert [_reason(each) for each in survey(after)] == ["UpToDate"]
    else:
        assert applied.files == {}
