"""`homeostat annotate`, `label` and `patch` change single fields, with the arguments of kubectl."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import click
import pytest

from homeostat.cli.console.connection import open_connection
from homeostat.cli.objects.patch.metadata import change_metadata, split_words
from homeostat.client.base import Client, Response, Transport
from homeostat.objects.edit import TRIES
from tests.cli.running import Up

MAP = "{apiVersion: v1, kind: ConfigMap, metadata: {name: NAME}, data: {mode: a}}"


def test_annotations_and_labels_are_set_kept_and_removed(up: Up) -> None:
    cli = up.cli
    cli.here("apply", "-f", "-", stdin=MAP.replace("NAME", "noted"))
    for command, field, word in (("annotate", "annotations", "annotated"), ("label", "labels", "labeled")):
        shown = ("get", "cm", "noted", "-o", f"jsonpath={{.metadata.{field}}}")
        assert cli.here(command, "cm", "noted", "a=1", "b=").out == f"configmap/noted {word}\n"
        refused = cli.here(command, "cm/noted", "a=2")
        assert refused.code == 1
        assert f'{field[:-1]} "a" has the value "1"; pass --overwrite to replace it' in refused.err
        assert cli.here(*shown).out == '{"a":"1","b":""}'
        assert cli.here(command, "cm/noted", "a=2", "b-", "--overwrite").code == 0
        assert cli.here(*shown).out == '{"a":"2"}'
    missing = cli.here("label", "cm", "noted", "none", "c=1")
    assert (missing.code, missing.out) == (1, "configmap/noted labeled\n")
    assert '"none" not found' in missing.err


def test_a_patch_of_each_type_is_sent(up: Up) -> None:
    cli = up.cli
    cli.here("apply", "-f", "-", stdin=MAP.replace("NAME", "patched"))
    for type_, patch in (
        ("strategic", '{"data":{"one":"1"}}'),
        ("merge", "data: {mode: null}"),
        ("json", '[{"op":"add","path":"/data/two","value":"2"}]'),
    ):
        ended = cli.here("patch", "cm", "patched", "--type", type_, "-p", patch)
        assert (ended.code, ended.out) == (0, "configmap/patched patched\n"), ended.err
    assert cli.here("get", "cm", "patched", "-o", "jsonpath={.data}").out == '{"one":"1","two":"2"}'
    assert "unknown field" in cli.here("patch", "cm", "patched", "-p", '{"dta":{}}').err
    assert cli.here("patch", "cm", "patched", "-p", "a: [").code == 1
    assert cli.here("patch", "cm", "patched").code == 2


def test_a_custom_kind_is_patched_by_a_merge_patch_unless_a_type_is_named(up: Up) -> None:
    cli = up.cli
    policy = "{apiVersion: devops.stochastic.io/v1, kind: DevOpsPolicy, metadata: {name: patched}, spec: {}}"
    assert cli.here("apply", "-f", "-", stdin=policy).code == 0
    patch = ("patch", "devopspolicy", "patched", "-p", '{"metadata":{"labels":{"a":"1"}}}')
    ended = cli.here(*patch)
    assert ended.out == (
        "devopspolicy.devops.stochastic.io/patched patched (by a merge patch: this kind has no strategic one)\n"
    )
    assert cli.here("get", "devopspolicy", "patched", "-o", "jsonpath={.metadata.labels.a}").out == "1"
    refused = cli.here(*patch, "--type", "strategic")
    assert refused.code == 1
    assert "leave out --type" in refused.err


class Interfering:
    """Changes the object before each of the first `times` patches of somebody else."""

    def __init__(self, inner: Transport, times: int) -> None:
        self._inner, self.left = inner, times

    async def send(
        self, method: str, path: str, *, query: str = "", body: bytes = b"", content_type: str = "", accept: str = ""
    ) -> Response:
        if method == "PATCH" and self.left:
            self.left -= 1
            await Client(self._inner).merge(path, {"data": {"left": str(self.left)}})
        return await self._inner.send(method, path, query=query, body=body, content_type=content_type, accept=accept)

    async def stream(self, path: str, *, query: str = "", accept: str = "") -> Response | AsyncIterator[bytes]:
        return await self._inner.stream(path, query=query, accept=accept)


async def test_a_change_of_something_else_meanwhile_refuses_no_label(up: Up) -> None:
    maps = "/api/v1/namespaces/default/configmaps"
    async with open_connection(str(up.data / "kubeconfig"), context="", namespace="") as connection:
        await connection.client.create(maps, {"metadata": {"name": "busy"}, "data": {}})
        busy = replace(connection, client=connection.client.over(lambda inner: Interfering(inner, TRIES - 1)))
        await change_metadata(busy, ("cm", "busy", "a=1"), "labels", may_overwrite=False)
        shown = await connection.client.get(f"{maps}/busy")
    assert (shown["metadata"]["labels"], shown["data"]["left"]) == ({"a": "1"}, "0")


@pytest.mark.parametrize(
    "words",
    [("cm", "web"), ("a=1",), ("cm", "web", "a=1", "b"), ("cm", "web", "=1"), ("cm", "web", "a=1", "a-")],
)
def test_words_without_objects_or_changes_are_refused(words: tuple[str, ...]) -> None:
    with pytest.raises(click.UsageError):
        split_words(words)
