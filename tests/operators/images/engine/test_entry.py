from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from homeostat.objects.views.workload import Workload
from homeostat.operators.images.engine.annotations import Tracked, tracked_of, untracked_problem
from homeostat.operators.images.engine.entry import failed, in_order, patched, skipped, status_lines, up_to_date
from tests.operators.images.scenarios import OLD, deployment

_SCENE: dict[str, Any] = {
    "path": "a.yaml",
    "image_name": "org/app",
    "containers": [["log", "fluentd:v1.16"], ["app", "ghcr.io/org/app:abc1234"]],
    "annotations": {},
}


def _tracked(**changes: Any) -> Tracked | None:
    return tracked_of(msgspec.convert(deployment("web", {**_SCENE, **changes}), Workload))


def _web(**changes: Any) -> Tracked:
    found = _tracked(**changes)
    assert found is not None
    return found


def test_the_container_with_the_image_is_tracked() -> None:
    web = _web()
    assert (web.container, web.version, web.key) == ("ghcr.io/org/app", "abc1234", "images/web")
    assert (web.settings.observe_branch, web.settings.tag_type, web.settings.registry_url) == ("master", "long", None)


@pytest.mark.parametrize(
    ("image", "container", "version"),
    [
        ("my-container:1.0.0", "my-container", "1.0.0"),
        ("host:5000/app", "host:5000/app", "latest"),
        ("host:5000/app:2@sha256:abc", "host:5000/app", "2"),
    ],
)
def test_else_the_first_container_is_tracked(image: str, container: str, version: str) -> None:
    web = _web(containers=[["app", image], ["log", "x:1"]])
    assert (web.container, web.version) == (container, version)


@pytest.mark.parametrize(
    "changes", [{"containers": []}, {"containers": [["app", ""]]}, {"annotations": {"enabled": None}}]
)
def test_a_deployment_that_lacks_something_is_not_tracked(changes: dict[str, Any]) -> None:
    assert _tracked(**changes) is None


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({}, ""),
        ({"ssh_key_name": None}, "ssh_key_name is missing; add it"),
        ({"ssh_key_name": None, "ssh_key_nmae": "key"}, "ssh_key_name is missing; rename gitops.operator.ssh_key_nmae"),
        ({"ssh_key_namespace": None, "registry_secret_namespace": "x"}, "ssh_key_namespace is missing; add it"),
        ({"ssh_key_name": None, "enabled": None}, ""),
    ],
)
def test_the_one_annotation_that_a_deployment_lacks_is_named(changes: dict[str, Any], problem: str) -> None:
    workload = msgspec.convert(deployment("web", {**_SCENE, "annotations": changes}), Workload)
    assert untracked_problem(workload) == (problem and f"the annotation gitops.operator.{problem}")


def test_a_short_tag_has_seven_digits() -> None:
    assert _web(annotations={"tag_type": "short"}).settings.tag_of(OLD) == "1111111"
    assert _web(annotations={"tag_type": "other"}).settings.tag_of(OLD) == OLD


def test_entries_leave_out_what_does_not_apply() -> None:
    web = _web()
    shown = [
        json.loads(msgspec.json.encode(each)) for each in (patched(web, old="", new=OLD), up_to_date(web, new=OLD))
    ]
    assert [sorted(each.keys() & {"from_sha", "to_sha"}) for each in shown] == [["to_sha"], ["to_sha"]]
    assert shown[0] == {
        "deployment": "web",
        "namespace": "images",
        "action": "patched",
        "to_sha": OLD,
        "status": "success",
        "message": f"Deployment web patched successfully to version {OLD}",
    }


def test_skipped_entries_come_last() -> None:
    web = _web()
    entries = in_order(
        [skipped(web), failed(web, "no key"), skipped(web, "waiting for the build"), up_to_date(web, new=OLD)]
    )
    assert [each.action for each in entries] == ["failed", "up_to_date", "skipped", "skipped"]
    assert [each.status for each in entries] == ["failure", "success", "skipped", "skipped"]


def test_the_status_page_has_a_row_for_each_deployment() -> None:
    lines = "".join(status_lines([_web()])).splitlines()
    assert lines == [
        "gitops-operator status",
        "tracked deployments: 1",
        "",
        "NAMESPACE    DEPLOYMENT               ENABLED  BRANCH   IMAGE",
        "images       web                      true     master   ghcr.io/org/app:abc1234",
    ]


def test_the_status_page_without_deployments_says_so() -> None:
    assert "".join(status_lines([])).startswith("gitops-operator status\ntracked deployments: 0\n\nNo Deployment")
