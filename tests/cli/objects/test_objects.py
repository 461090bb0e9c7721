"""get, apply, delete, describe and watch, each through the real command against one plane."""

from __future__ import annotations

import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.running import Cli, Up, https

MANIFESTS = """
apiVersion: example.com/v1
kind: Widget
metadata: {name: first, namespace: shop}
spec: {size: 3}
---
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: shop, labels: {app: web}}, data: {mode: "1"}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: other, namespace: shop}, data: {}}
---
apiVersion: v1
kind: Secret
metadata: {name: key, namespace: shop}
stringData: {password: hunter2}
---
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  names: {kind: Widget, plural: widgets, singular: widget, shortNames: [wd], categories: [shop]}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer}}}}}}
    additionalPrinterColumns: [{name: Size, type: integer, jsonPath: .spec.size}]
"""
EVENT = """
apiVersion: v1
kind: Event
metadata: {name: settings.1, namespace: shop}
involvedObject: {apiVersion: v1, kind: ConfigMap, name: settings, namespace: shop, uid: UID}
reason: Changed
type: Normal
message: mode is 1
reportingComponent: tests
"""


@pytest.fixture(scope="module")
def shop(up: Up) -> Cli:
    """The command, on a plane that holds the manifests."""
    applied = up.cli("apply", "-f", "-", stdin=MANIFESTS)
    assert applied.out.splitlines() == [
        "customresourcedefinition.apiextensions.k8s.io/widgets.example.com created",
        "namespace/shop created",
        "widget.example.com/first created",
        "configmap/settings created",
        "configmap/other created",
        "secret/key created",
    ]
    assert (applied.code, applied.err) == (0, "")
    return up.cli


@pytest.mark.parametrize(
    "words", ["wd", "widget", "Widget", "widgets", "widgets.example", "widgets.v1.example.com", "wd/first", "shop"]
)
def test_a_kind_goes_by_all_its_names(shop: Cli, words: str) -> None:
    assert shop.here("get", words, "-n", "shop").rows == [["NAME", "SIZE"], ["first", "3"]]


def test_get_prints_the_columns_of_the_server(shop: Cli) -> None:
    rows = shop("get", "ns", "default", "shop").rows
    assert rows[0] == ["NAME", "STATUS", "AGE"]
    assert [row[:2] for row in rows[1:]] == [["default", "Active"], ["shop", "Active"]]


def test_get_of_several_kinds_prefixes_names(shop: Cli) -> None:
    rows = shop.here("get", "cm,secret", "-n", "shop", "-l", "app=web").rows
    assert [row[0] for row in rows] == ["NAME", "configmap/settings"]
    rows = shop.here("get", "wd,secret", "-A").rows
    assert rows[:2] == [["NAMESPACE", "NAME", "SIZE"], ["shop", "widget.example.com/first", "3"]]
    assert ["shop", "secret/key", "Opaque", "1"] in [row[:4] for row in rows]


def test_get_chooses_by_fields_and_prints_what_a_path_has(shop: Cli) -> None:
    rows = shop.here("get", "cm", "-n", "shop", "--field-selector", "metadata.name=settings").rows
    assert [row[0] for row in rows] == ["NAME", "settings"]
    assert shop.here("get", "--raw", "/version").json["major"] == "1"
    assert "homeostat_store_bytes" in shop.here("get", "--raw", "/metrics").out
    assert shop.here("get", "--raw", "/readyz").out == "ok"
    listed = shop.here("get", "--raw", "/api/v1/namespaces/shop/configmaps?limit=1").json
    assert len(listed["items"]) == 1
    for wrong in ((), ("cm", "--raw", "/version"), ("cm", "settings", "--field-selector", "a=b")):
        assert shop.here("get", *wrong).code == 2


def test_get_prints_whole_objects_for_programs(shop: Cli) -> None:
    found = shop.here("get", "cm", "settings", "-n", "shop", "-o", "json").json
    assert (found["kind"], found["data"]) == ("ConfigMap", {"mode": "1"})
    assert "managedFields" not in found["metadata"]
    assert 'mode: "1"' in shop.here("get", "cm/settings", "-n", "shop", "-o", "yaml").out
    names = shop.here("get", "wd,cm", "-n", "shop", "-o", "name").out.split()
    assert {"widget.example.com/first", "configmap/other", "configmap/settings"} <= set(names)


def test_apply_reports_what_changed_and_a_dry_run_changes_nothing(shop: Cli) -> None:
    changed = MANIFESTS.replace("size: 3", "size: 4")
    lines = shop.here("apply", "--dry-run", "-f", "-", stdin=changed).out.splitlines()
    assert "widget.example.com/first configured (dry run)" in lines
    assert "configmap/settings unchanged (dry run)" in lines
    assert shop.here("get", "wd", "-n", "shop").rows[1] == ["first", "3"]


def test_apply_of_a_directory_continues_after_a_refusal(shop: Cli, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("{apiVersion: v1, kind: ConfigMap, metadata: {name: typo}, dta: {}}")
    (tmp_path / "b.yaml").write_text("{apiVersion: no.such/v1, kind: Thing, metadata: {name: x}}")
    (tmp_path / "c.json").write_text('{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"good"}}')
    (tmp_path / "notes.txt").write_text("not an object")
    ended = shop.here("apply", "-f", tmp_path)
    assert (ended.code, ended.out) == (1, "configmap/good created\n")
    first, second = ended.err.splitlines()
    assert first.startswith("error: configmap/typo: ")
    assert "dta" in first
    assert second.startswith("error: thing.no.such/x: the server has no kind Thing")


def test_a_conflict_is_reported_and_can_be_forced(shop: Cli, up: Up) -> None:
    theirs = "{apiVersion: v1, kind: ConfigMap, metadata: {name: contested}, data: {a: theirs}}"
    mine = theirs.replace("theirs", "mine")
    path = "/api/v1/namespaces/default/configmaps/contested?fieldManager=other"
    connection = https(up)
    connection.request("PATCH", path, theirs, {"Content-Type": "application/apply-patch+yaml"})
    assert connection.getresponse().status == 201
    connection.close()
    refused = shop.here("apply", "-f", "-", stdin=mine)
    assert refused.code == 1
    assert ".data.a" in refused.err
    assert "--force-conflicts" in refused.err
    assert shop.here("apply", "--force-conflicts", "-f", "-", stdin=mine).out == "configmap/contested configured\n"


def test_describe_shows_fields_conditions_and_events_and_no_secrets(shop: Cli) -> None:
    found = shop.here("get", "cm", "settings", "-n", "shop", "-o", "json").json
    shop.here("apply", "-f", "-", stdin=EVENT.replace("UID", found["metadata"]["uid"]))
    text = shop.here("describe", "cm/settings", "-n", "shop").out
    assert "Labels:       app=web\n" in text
    assert 'Data:\n  mode: "1"\n' in text
    assert text.splitlines()[-1].split()[:2] == ["Normal", "Changed"]
    assert "mode is 1" in text
    conditions = shop.here("describe", "crd", "widgets.example.com").rows
    assert ["Established", "True", "InitialNamesAccepted"] in [row[:3] for row in conditions]
    secret = shop.here("describe", "secret", "key", "-n", "shop").out
    assert "password: 7 bytes" in secret
    assert "hunter2" not in secret


class Lines:
    """What a process prints, line by line; waiting has an end."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        self._process = process
        self._out = process.stdout
        self._guard = threading.Timer(20, process.kill)
        self._guard.start()

    def next(self) -> list[str]:
        return self.line().split()

    def line(self) -> str:
        return self._out.readline()

    def close(self) -> None:
        self._guard.cancel()
        self._process.send_signal(signal.SIGINT)
        assert self._process.wait(30) == 130
        assert self._process.stderr is not None
        assert self._process.stderr.read() == ""
        self._out.close()
        self._process.stderr.close()


@pytest.fixture
def watching(shop: Cli) -> Iterator[Lines]:
    lines = Lines(shop.start("watch", "wd", "-n", "shop"))
    yield lines
    lines.close()


def test_watch_prints_a_row_for_each_change(shop: Cli, watching: Lines) -> None:
    assert watching.line() == "EVENT      NAME    SIZE\n"
    assert watching.next() == ["first", "3"]
    widget = "{apiVersion: example.com/v1, kind: Widget, metadata: {name: new, namespace: shop}, spec: {size: 1}}"
    shop.here("apply", "-f", "-", stdin=widget)
    assert watching.next() == ["ADDED", "new", "1"]
    shop.here("apply", "-f", "-", stdin=widget.replace("size: 1", "size: 2"))
    assert watching.line() == "MODIFIED   new     2\n"
    shop.here("delete", "wd", "new", "-n", "shop")
    assert watching.next() == ["DELETED", "new", "2"]


def test_get_with_watch_follows_one_object(shop: Cli) -> None:
    followed = "{apiVersion: v1, kind: ConfigMap, metadata: {name: followed}}"
    shop.here("apply", "-f", "-", stdin=followed)
    lines = Lines(shop.start("get", "cm", "followed", "-w", "-o", "name"))
    assert lines.next() == ["configmap/followed"]
    shop.here("delete", "cm", "followed")
    assert lines.next() == ["configmap/followed"]
    lines.close()


def test_delete_by_file_continues_after_a_refusal_and_waits(shop: Cli) -> None:
    one = "{apiVersion: v1, kind: ConfigMap, metadata: {name: one}}"
    shop.here("apply", "-f", "-", stdin=one)
    ended = shop.here("delete", "--wait", "-f", "-", stdin=f"{one}\n---\n{one.replace('one', 'gone')}")
    assert (ended.code, ended.out) == (1, "configmap/one deleted\n")
    assert ended.err == 'error: configmap/gone: configmaps "gone" not found in namespace "default"\n'
    assert shop.here("get", "cm", "one").code == 1


def test_a_protected_namespace_is_not_called_a_missing_permission(shop: Cli) -> None:
    ended = shop.here("delete", "ns", "default")
    assert ended.code == 1
    assert ended.err.endswith("this namespace may not be deleted\n")


def test_an_object_with_finalizers_is_reported_as_terminating_until_it_is_gone(shop: Cli) -> None:
    kept = "{apiVersion: v1, kind: ConfigMap, metadata: {name: kept, finalizers: [example.com/a, example.com/b]}}"
    shop.here("apply", "-f", "-", stdin=kept)
    began = "configmap/kept: deletion started; waiting for finalizers: example.com/a, example.com/b"
    assert shop.here("delete", "cm/kept").out == f"{began} (--wait returns when it is gone)\n"
    waiting = shop.start("delete", "cm/kept", "--wait")
    assert waiting.stdout is not None
    assert waiting.stdout.readline() == f"{began}\n"
    shop.here("apply", "-f", "-", stdin=kept.replace("example.com/a, example.com/b", ""))
    assert waiting.communicate(timeout=30) == ("configmap/kept deleted\n", "")
    assert waiting.returncode == 0


def test_a_namespace_is_deleted_when_what_is_in_it_is(shop: Cli) -> None:
    shop.here("apply", "-f", "-", stdin="{apiVersion: v1, kind: Namespace, metadata: {name: passing}}")
    began, ended = shop.here("delete", "ns/passing", "--wait").out.splitlines()
    assert began == "namespace/passing: deletion started; waiting for finalizers: kubernetes"
    assert ended == "namespace/passing deleted"


def test_waiting_for_a_finalizer_times_out_with_advice(shop: Cli) -> None:
    held = "{apiVersion: v1, kind: ConfigMap, metadata: {name: held, finalizers: [example.com/hold]}}"
    shop.here("apply", "-f", "-", stdin=held)
    ended = shop.here("delete", "cm/held", "--wait", "--timeout", "1", "--cascade", "orphan")
    assert ended.code == 1
    assert "homeostat describe configmap/held" in ended.err
    deleting = shop.here("describe", "cm", "held").out
    assert "example.com/hold" in deleting
    assert "waiting for its finalizers" in deleting


@pytest.mark.parametrize(
    "words",
    [
        ("get", "cm", "elsewhere"),
        ("describe", "cm", "elsewhere"),
        ("delete", "cm", "elsewhere"),
        ("label", "cm", "elsewhere", "a=b"),
        ("wait", "cm", "elsewhere", "--for=condition=Ready"),
    ],
    ids=lambda words: words[0],
)
def test_an_object_of_another_namespace_is_reported_with_it(shop: Cli, words: tuple[str, ...]) -> None:
    shop.here(
        "apply", "-f", "-", stdin="{apiVersion: v1, kind: ConfigMap, metadata: {name: elsewhere, namespace: shop}}"
    )
    ended = shop.here(*words, "-n", "default")
    assert ended.code == 1
    assert ended.err.endswith('in namespace "default"; it is in namespace shop: pass -n shop\n')


def test_an_apply_into_a_missing_namespace_says_how_to_create_it(shop: Cli) -> None:
    ended = shop.here("apply", "-f", "-", "-n", "nix", stdin="{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}")
    assert ended.code == 1
    assert 'namespaces "nix" not found; create it first: add a Namespace to the files, or: kubectl' in ended.err
