"""Notifications: once for each change, whatever the receiver does."""

from __future__ import annotations

from homeostat.testing.eventually import eventually
from tests.operators.images.scenarios import OLD
from tests.operators.images.stage import DEPLOYMENT_FILE, Repository, Stage

_PATH = "apps/web.yaml"


def _file(tag: str = OLD) -> str:
    return DEPLOYMENT_FILE.format(image=f"org/app:{tag}")


async def _scene(stage: Stage, **annotations: str | None) -> tuple[Repository, Repository]:
    app, manifests = stage.repository("app-web", {"main.go": "x\n"}), stage.repository("man-web", {_PATH: _file()})
    await stage.deploy("web", None, notifications_secret_name="hook", **annotations)
    return app, manifests


async def _has_sent_all(stage: Stage) -> bool:
    return not (await stage.update("web"))["status"].get("outbox")


async def test_a_change_is_notified_once_and_a_failure_again_after_all_was_well(stage: Stage) -> None:
    app, manifests = await _scene(stage)
    await stage.reconcile()
    await stage.reconcile()
    await eventually(lambda: stage.said == [f"Deployment web patched successfully to version {app.head()}"])
    for _ in range(2):
        manifests.push({_PATH: "a: ["})
        for _ in range(2):
            assert (await stage.reconcile())["web"]["action"] == "failed"
        manifests.push({_PATH: _file(app.head())})
        assert (await stage.reconcile())["web"]["action"] == "up_to_date"
    await eventually(lambda: _has_sent_all(stage))
    assert len(stage.said) == 3
    assert stage.said[1] == stage.said[2]
    assert _PATH in stage.said[1]


async def test_a_busy_webhook_is_asked_again_when_it_says(stage: Stage) -> None:
    stage.webhook_status, stage.webhook_headers = 429, {"Retry-After": "0"}
    await _scene(stage)
    await stage.reconcile()
    await eventually(lambda: len(stage.said) >= 2)
    assert (await stage.update("web"))["status"]["outbox"][0]["text"] == stage.said[0]
    stage.webhook_status, stage.webhook_headers = 200, {}
    await eventually(lambda: _has_sent_all(stage))
    assert len({each["key"] for each in stage.heard}) == 1


async def test_what_a_webhook_refuses_or_puts_off_for_long_is_dropped(stage: Stage) -> None:
    app, _ = await _scene(stage)
    for status, headers in ((400, {}), (503, {"Retry-After": "7200"})):
        stage.webhook_status, stage.webhook_headers = status, headers
        app.push({"main.go": f"{status}\n"})
        await stage.reconcile()
        await eventually(lambda: _has_sent_all(stage))
    assert len(stage.said) == 2


async def test_the_generic_format_has_the_parts_of_a_change(stage: Stage) -> None:
    app, manifests = await _scene(stage, notifications_format="generic")
    await stage.reconcile()
    await eventually(lambda: stage.heard)
    (heard,) = stage.heard
    assert heard.pop("key") == heard.pop("id")
    del heard["time"]
    assert heard == {
        "kind": "Deployment",
        "namespace": "images",
        "name": "web",
        "image": "org/app",
        "action": "patched",
        "old": OLD,
        "new": app.head(),
        "commit": manifests.head(),
        "message": f"Deployment web patched successfully to version {app.head()}",
    }
