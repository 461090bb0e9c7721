"""The commands of docs/inputs.md do what it says, and its tables are complete."""

from __future__ import annotations

import asyncio
import re
from functools import partial
from pathlib import Path

import aiormq
import msgspec
import pytest

from homeostat.objects.crd.custom_kind import Status
from homeostat.operators.actions.inputs.api import ResourceInputStatus
from homeostat.operators.actions.inputs.plugins.amqp import AmqpConfig
from homeostat.operators.actions.inputs.plugins.git import GitConfig
from homeostat.operators.actions.inputs.plugins.url import UrlConfig
from homeostat.testing.eventually import eventually
from tests.cli.running import Cli, make_cli, running
from tests.cli.shelf import serving_shelf
from tests.docs.documents import table_rows
from tests.docs.documents import text_of as document
from tests.external.git_servers import Origin, serving_git
from tests.operators.actions.inputs.rabbitmq import running_rabbitmq

_TEXT = document("docs/inputs.md")
_TYPE = '{"name": "Page", "version": "v1", "schema": {"type": "object"}, "action_plugin": "http", "plugin_config": %s}'
_PAGE = '{"name": "home", "resource_type_name": "Page", "resource_type_version": "v1", "spec": {"path": "/"}}'


def _section(title: str) -> str:
    return _TEXT.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def _plain(text: str) -> set[str]:
    return {re.sub(r"\b\d+s\b", "1s", re.sub(r" +", " ", line.strip())) for line in text.splitlines()}


async def test_the_session_is_as_documented(tmp_path: Path) -> None:
    origin = Origin(tmp_path / "git" / "team" / "shop.git")
    origin.commit({"resources/home.yaml": _PAGE, "resources/broken.yaml": "kind: Page\nspec: {size: ,]\n"})
    (declared,) = re.findall(r"^```yaml\n# shop.yaml\n(.*?)^```$", _TEXT, re.MULTILINE | re.DOTALL)
    (console,) = re.findall(r"^```console\n(.*?)^```$", _TEXT, re.MULTILINE | re.DOTALL)
    listing, errors = (part.partition("\n")[2] for part in console.split("$ homeostat")[2:])
    cli = make_cli(tmp_path / "data")
    with serving_shelf() as shelf, running(cli, "--faces-port", "0"):
        config = msgspec.json.encode({"url": shelf.url, "item": f"{shelf.url}/${{name}}"}).decode()
        await _typed(cli, "type", "add", "-f", "-", stdin=_TYPE % config)
        async with serving_git(tmp_path / "git", "the-token") as (_, url):
            await _typed(cli, "apply", "-f", "-", stdin=declared.replace("https://git.example.org", url))
            await eventually(
                lambda: _typed(cli, "get", "resourceinputs"), lambda told: _plain(listing) <= _plain(told), within_s=30
            )
            described = _plain(await _typed(cli, "describe", "resourceinput", "shop"))
    assert _plain(errors) - described == set()


async def test_the_messages_declare_change_and_delete_a_resource(tmp_path: Path) -> None:
    section, cli = _section("amqp"), make_cli(tmp_path / "data")
    (declared,) = re.findall(r"^```yaml\n# queue.yaml\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    created, updated, deleted = re.findall(r'^\{"event".*$', section, re.MULTILINE)
    with running_rabbitmq() as broker, serving_shelf() as shelf, running(cli, "--faces-port", "0"):
        config = msgspec.json.encode({"url": shelf.url, "item": f"{shelf.url}/${{name}}"}).decode()
        await _typed(cli, "type", "add", "-f", "-", stdin=_TYPE.replace("Page", "DatabaseCluster") % config)
        ours = {"amqps://broker.example.org/shop": broker.url, "username: shop": "username: guest"}
        for documented, real in {**ours, "the-password": "guest"}.items():
            declared = declared.replace(documented, real)
        connection = await aiormq.connect(broker.url)
        channel = await connection.channel()
        await channel.queue_declare("resources", durable=True)
        await _typed(cli, "apply", "-f", "-", stdin=declared)
        for message, expected in ((created, "replicas: 3"), (updated, "replicas: 4"), (deleted, "items: []")):
            await channel.basic_publish(message.encode(), routing_key="resources")
            await eventually(lambda: _clusters(cli), partial(_has, expected), within_s=30)
        await channel.basic_publish(created.replace("orders", "Not A Name").encode(), routing_key="resources")
        await eventually(
            lambda: _typed(cli, "describe", "resourceinput", "queue"), partial(_has, "rejected: 1"), within_s=30
        )
        await connection.close()


def _has(part: str, told: str) -> bool:
    return part in told


async def _clusters(cli: Cli) -> str:
    return (await asyncio.to_thread(cli, "get", "databaseclusters", "-o", "yaml")).out


async def _typed(cli: Cli, *words: str, stdin: str = "") -> str:
    done = await asyncio.to_thread(cli, *words, stdin=stdin)
    assert done.code == 0, done.err
    return done.out


@pytest.mark.parametrize(
    ("section", "config"), [("git", GitConfig), ("url", UrlConfig), ("amqp", AmqpConfig)], ids=["git", "url", "amqp"]
)
def test_every_field_of_a_configuration_is_documented(section: str, config: type[msgspec.Struct]) -> None:
    rows = table_rows(_section(section), "| config | what | default |")
    told = {name for names, *_ in rows for name in re.findall(r"\w+", names)}
    assert told == {each.encode_name for each in msgspec.structs.fields(config)}


def test_every_field_of_the_status_is_documented() -> None:
    told = {name for names, _ in table_rows(_TEXT, "| status | what |") for name in re.findall(r"\w+", names)}
    usual = {each.encode_name for each in msgspec.structs.fields(Status)}
    assert told == {each.encode_name for each in msgspec.structs.fields(ResourceInputStatus)} - usual
