"""A plane that is killed while messages come in: all of them count, and none is lost or thrown away."""

from __future__ import annotations

import signal
from pathlib import Path

from homeostat.objects.json import encode
from homeostat.testing.eventually import eventually
from tests.cli.running import Up, make_cli, running
from tests.operators.actions.inputs.plugins.test_amqp import message, post_at
from tests.operators.actions.inputs.rabbitmq import RabbitMq

_MESSAGES = 200
_DECLARED = """
apiVersion: homeostat.dev/v1alpha1
kind: ResourceType
metadata: {name: thing}
spec: {name: Thing, version: v1, schema: {type: object, properties: {text: {type: string}}}}
---
apiVersion: homeostat.dev/v1alpha1
kind: ResourceInput
metadata: {name: queue}
spec: {plugin: amqp, config: {url: "%s", queue: mortal}, intervalSeconds: 1}
"""


def texts(up: Up) -> dict[str, str]:
    found = up.cli("get", "things", "-o", "json").json
    return {each["metadata"]["name"]: each["spec"]["text"] for each in found["items"]}


async def test_messages_that_a_killed_plane_had_not_acknowledged_come_again(broker: RabbitMq, tmp_path: Path) -> None:
    cli = make_cli(tmp_path / "data")
    async with post_at(broker, "mortal") as post:
        for at in range(_MESSAGES):
            await post.send(encode(message("updated", f"t{at % 50}", str(at))))
        with running(cli, "--no-rest", "--no-dashboard") as up:
            assert up.cli("apply", "-f", "-", stdin=_DECLARED % broker.url).code == 0
            await eventually(post.waiting, lambda left: left < _MESSAGES * 3 // 4, within_s=30)
            up.end(signal.SIGKILL)
        with running(cli, "--no-rest", "--no-dashboard") as up:
            await eventually(post.waiting, lambda left: left == 0, within_s=30)
            wanted = {f"t{at % 50}": str(at) for at in range(_MESSAGES)}
            await eventually(lambda: texts(up), lambda found: found == wanted)
        assert await post.waiting("-dead") == 0
