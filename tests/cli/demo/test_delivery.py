"""The demo applies what is pushed to its manifests repository, and outlives what cannot be applied."""

from __future__ import annotations

import asyncio
import subprocess
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from homeostat.cli.demo import delivery
from homeostat.cli.demo.delivery import delivering
from homeostat.cli.demo.world import open_world
from homeostat.client.base import Client
from homeostat.objects.kind import DEPLOYMENT
from homeostat.testing.eventually import eventually
from homeostat.testing.plane import open_test_plane

GOOD = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "shop/web:2"}]}
"""


def push(checkout: Path, content: bytes | None) -> None:
    """None deletes the file."""
    git = ["git", "-C", str(checkout), "-c", "user.name=Ann", "-c", "user.email=ann@example.org"]
    if content is None:
        (checkout / "web.yaml").unlink()
    else:
        (checkout / "web.yaml").write_bytes(content)
    for command in (["add", "-A"], ["commit", "-qm", "Change"], ["push", "-q", "origin", "HEAD"]):
        subprocess.run([*git, *command], check=True, capture_output=True, timeout=60)


async def image(client: Client) -> Any:
    found, _ = await client.list(DEPLOYMENT.path("default"))
    return found and found[0]["spec"]["template"]["spec"]["containers"][0]["image"]


async def test_a_push_that_cannot_be_applied_does_not_end_the_demo(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(delivery, "AFTER_S", 0.0)
    checkout = tmp_path / "checkout"

    def failures() -> int:
        return sum(each.name == delivery.log.name for each in caplog.records)

    async with (
        open_test_plane(tmp_path / "plane") as plane,
        open_world(tmp_path / "world") as world,
        delivering(world.git, plane.client),
    ):
        url = f"http://127.0.0.1:{world.port}/git/manifests.git"
        clone = ["git", "clone", "-q", url, str(checkout)]
        await asyncio.to_thread(partial(subprocess.run, clone, check=True, capture_output=True, timeout=60))
        for count, broken in enumerate((b"a: [1\n", b"- no manifest\n", b"\xff\xfe\n", None), 1):
            await asyncio.to_thread(push, checkout, broken)
            assert await eventually(failures, partial(int.__le__, count)) == count
        await asyncio.to_thread(push, checkout, GOOD.encode())
        assert await eventually(partial(image, plane.client)) == "shop/web:2"
