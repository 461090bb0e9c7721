from __future__ import annotations

import re

import msgspec
import pytest

from homeostat.objects.views.workload import Workload
from homeostat.operators.images.engine.annotations import Tracked, tracked_of
from homeostat.operators.images.engine.manifest import Edits, Manifest, Target
from homeostat.operators.images.engine.path import check_path
from homeostat.operators.images.engine.places import ManifestError
from tests.operators.images.scenarios import NEW, OLD, deployment, scenarios

_SCENARIOS = scenarios()
_OUTSIDE = {"app-repo-gone", "manifests-repo-gone", "no-key", "registry-lacks-it"}
"""Decided by Git, a Secret or a registry."""


def _tracked(name: str) -> Tracked | None:
    return tracked_of(msgspec.convert(deployment(name, _SCENARIOS[name]), Workload))


def _edit(tracked: Tracked, name: str) -> Edits:
    settings = tracked.settings
    path = check_path(settings.deployment_path)
    target = Target(settings.image, settings.tag_of(NEW), tracked.name)
    return Manifest(_SCENARIOS[name]["file"].encode(), path).set_tags([target])


def _failure(tracked: Tracked, name: str) -> str:
    try:
        (outcome,) = _edit(tracked, name).outcomes
    except ManifestError as error:
        return str(error)
    return str(outcome) if isinstance(outcome, ManifestError) else ""


@pytest.mark.parametrize("name", sorted(_SCENARIOS.keys() - _OUTSIDE))
def test_the_engine_decides_as_the_scenario_expects(name: str) -> None:
    expected = _SCENARIOS[name]["expect"]
    tracked = _tracked(name)
    match expected["action"]:
        case None:
            assert tracked is None
        case "skipped":
            assert tracked is not None
            assert not tracked.settings.enabled
        case "failed":
            assert tracked is not None
            assert re.search(expected["message"], _failure(tracked, name))
        case "up_to_date":
            assert tracked is not None
            assert _edit(tracked, name) == Edits(_SCENARIOS[name]["file"].encode(), ((),))
        case "patched":
            assert tracked is not None
            assert tracked.settings.enabled
            edit = _edit(tracked, name)
            assert edit.data.decode() == expected["file"]
            if expected.get("from_sha", OLD) is not False:
                (changes,) = edit.outcomes
                assert isinstance(changes, tuple)
                assert changes[0].old == (expected.get("from_sha", OLD) or "")
        case other:
            pytest.fail(f"unknown action {other}")


def test_some_scenarios_need_more_than_the_engine() -> None:
    assert _SCENARIOS.keys() >= _OUTSIDE
