"""kopf: an operator in a process of its own reacts to what happens to objects, and goes on doing so."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.clients.conftest import define_gardens
from tests.served import RefusedError, ServedPlane, serve_plane

MERGE = "application/merge-patch+json"
FINALIZER = "kopf.zalando.org/KopfFinalizerMarker"
OPERATOR = Path(__file__).with_name("gardener.py")


@contextmanager
def run_operator(plane: ServedPlane, namespace: str) -> Iterator[subprocess.Popen[bytes]]:
    log = plane.data.parent / "operator.log"
    environment = {**os.environ, "KUBECONFIG": str(plane.kubeconfig)}
    command = [sys.executable, "-W", "ignore", "-m", "kopf", "run", "--standalone", "-n", namespace, str(OPERATOR)]
    with log.open("a") as output:
        operator = subprocess.Popen(command, env=environment, stdout=output, stderr=output)
    try:
        yield operator
        assert operator.poll() is None, log.read_text()[-2000:]
    finally:
        operator.terminate()
        operator.wait(30)


class Gardens:
    """The gardens of a namespace, as the tests change and see them."""

    def __init__(self, plane: ServedPlane, group: str, namespace: str) -> None:
        self.plane = plane
        self.namespace = namespace
        self._path = f"/apis/{group}/v1/namespaces/{namespace}/gardens"
        self._type = {"apiVersion": f"{group}/v1", "kind": "Garden"}

    def create(self, name: str, beds: int) -> None:
        self.plane.ask("POST", self._path, {**self._type, "metadata": {"name": name}, "spec": {"beds": beds}})

    def replant(self, name: str, beds: int) -> None:
        self.plane.ask("PATCH", f"{self._path}/{name}", {"spec": {"beds": beds}}, content_type=MERGE)

    def delete(self, name: str) -> None:
        self.plane.ask("DELETE", f"{self._path}/{name}")

    def get(self, name: str) -> Any:
        try:
            return self.plane.ask("GET", f"{self._path}/{name}")
        except RefusedError:
            return None

    def beds_seen(self, name: str) -> Any:
        return (self.get(name).get("status") or {}).get("beds")

    def reasons(self) -> set[str]:
        events = self.plane.ask("GET", f"/api/v1/namespaces/{self.namespace}/events")
        return {event["reason"] for event in events["items"]}


def becomes(expected: object, see: Callable[[], object], within_s: float = 30.0) -> None:
    """Waits until `see` gives what is expected."""
    end = time.monotonic() + within_s
    while (seen := see()) != expected:
        assert time.monotonic() < end, f"still {seen!r} after {within_s:.0f} s, not {expected!r}"
        time.sleep(0.05)


@pytest.fixture
def garden(plane: ServedPlane, gardens: str, namespace: str) -> Iterator[Gardens]:
    with run_operator(plane, namespace):
        yield Gardens(plane, gardens, namespace)


def test_handlers_follow_an_object_through_its_life(garden: Gardens) -> None:
    garden.create("rose", beds=3)
    becomes(3, lambda: garden.beds_seen("rose"))
    becomes(3, lambda: (garden.get("rose")["status"].get("plant") or {}).get("planted"))
    assert garden.get("rose")["metadata"]["finalizers"] == [FINALIZER]
    garden.replant("rose", beds=5)
    becomes(5, lambda: garden.beds_seen("rose"))
    assert garden.get("rose")["status"]["before"] == 3
    garden.delete("rose")
    becomes(None, lambda: garden.get("rose"))
    becomes({"Cleared"}, garden.reasons)


def test_an_operator_still_hears_after_its_watches_ended(garden: Gardens) -> None:
    garden.create("rose", beds=1)
    becomes(1, lambda: garden.beds_seen("rose"))
    time.sleep(3)
    garden.replant("rose", beds=2)
    becomes(2, lambda: garden.beds_seen("rose"))


def test_an_operator_still_hears_after_the_plane_was_killed_and_came_back(tmp_path: Path) -> None:
    with serve_plane(tmp_path / "data") as first:
        group = define_gardens(first)
        first.create_namespace("farm")
        with run_operator(first, "farm"):
            before = Gardens(first, group, "farm")
            before.create("rose", beds=1)
            becomes(1, lambda: before.beds_seen("rose"))
            first.kill()
            with serve_plane(tmp_path / "data", first.port) as second:
                after = Gardens(second, group, "farm")
                after.replant("rose", beds=2)
                becomes(2, lambda: after.beds_seen("rose"))
