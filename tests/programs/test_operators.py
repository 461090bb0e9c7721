"""Operators with controller-runtime and kube-rs, and informers of client-go, work on a plane as on a cluster."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from tests.clients.conftest import GROUP, define_gardens
from tests.programs.running import find, run_program, wait_until
from tests.served import ServedPlane, serve_plane
from tools.build_programs import find_program

MERGE = "application/merge-patch+json"
FINALIZER = "clients.example.com/clear"
OPERATORS = ("operator-go", "operator-rust")


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedPlane]:
    with serve_plane(tmp_path_factory.mktemp("plane") / "data", options=["--operators", "housekeeping"]) as plane:
        define_gardens(plane)
        yield plane


class Farm:
    """The gardens of a namespace, and what operators make of them."""

    def __init__(self, plane: ServedPlane) -> None:
        self.plane, self.namespace = plane, plane.create_namespace(f"t{uuid4().hex[:8]}")
        self.gardens = f"/apis/{GROUP}/v1/namespaces/{self.namespace}/gardens"
        self.maps = f"/api/v1/namespaces/{self.namespace}/configmaps"
        self.lease = f"/apis/coordination.k8s.io/v1/namespaces/{self.namespace}/leases/gardener"

    def plant(self, name: str, beds: int) -> Any:
        kind = {"apiVersion": f"{GROUP}/v1", "kind": "Garden"}
        return self.plane.ask("POST", self.gardens, {**kind, "metadata": {"name": name}, "spec": {"beds": beds}})

    def replant(self, name: str, beds: int) -> None:
        self.plane.ask("PATCH", f"{self.gardens}/{name}", {"spec": {"beds": beds}}, content_type=MERGE)

    def wait_for(self, name: str, beds: int) -> Any:
        def settled() -> object:
            garden = find(self.plane, f"{self.gardens}/{name}")
            planted = find(self.plane, f"{self.maps}/{name}")
            is_there = planted is not None and planted["data"] == {"beds": str(beds)}
            return is_there and garden.get("status", {}).get("beds") == beds and planted

        return wait_until(settled, f"garden {name} with {beds} beds")

    def reasons(self, by: str) -> set[str]:
        events = self.plane.ask("GET", f"/api/v1/namespaces/{self.namespace}/events")["items"]
        return {
            each["reason"]
            for each in events
            if by in (each.get("reportingComponent"), each.get("source", {}).get("component"))
        }

    def holder(self) -> str:
        lease = find(self.plane, self.lease)
        return (lease or {}).get("spec", {}).get("holderIdentity") or ""


@pytest.mark.parametrize("operator", OPERATORS)
def test_an_operator_follows_an_object_through_its_life(operator: str, plane: ServedPlane, tmp_path: Path) -> None:
    """It sets a finalizer, applies an owned object, writes the status, repairs what others change, records Events."""
    farm = Farm(plane)
    uid = farm.plant("rose", 3)["metadata"]["uid"]
    with run_program(operator, farm.namespace, "gardener", kubeconfig=plane.kubeconfig, log=tmp_path / "log"):
        planted = farm.wait_for("rose", 3)
        owner = {"apiVersion": f"{GROUP}/v1", "kind": "Garden", "name": "rose", "uid": uid}
        assert planted["metadata"]["ownerReferences"][0].items() >= {**owner, "controller": True}.items()
        managers = [(each["manager"], each["operation"]) for each in planted["metadata"]["managedFields"]]
        assert managers == [("gardener", "Apply")]
        assert find(plane, f"{farm.gardens}/rose")["metadata"]["finalizers"] == [FINALIZER]
        farm.replant("rose", 5)
        farm.wait_for("rose", 5)
        plane.ask("PATCH", f"{farm.maps}/rose", {"data": {"beds": "99"}}, content_type=MERGE)
        farm.wait_for("rose", 5)
        plane.ask("DELETE", f"{farm.maps}/rose")
        farm.wait_for("rose", 5)
        plane.ask("DELETE", f"{farm.gardens}/rose")
        wait_until(lambda: find(plane, f"{farm.gardens}/rose") is None, "the garden is gone")
        wait_until(lambda: find(plane, f"{farm.maps}/rose") is None, "what it owned is collected")
        wait_until(lambda: farm.reasons("gardener") >= {"Planted", "Cleared"}, "its Events")


def test_another_replica_leads_when_the_leader_is_killed(plane: ServedPlane, tmp_path: Path) -> None:
    farm = Farm(plane)
    program = [str(find_program("operator-go")), farm.namespace]
    with (
        (tmp_path / "first.log").open("wb") as log,
        subprocess.Popen([*program, "first"], env={"KUBECONFIG": str(plane.kubeconfig)}, stderr=log) as first,
    ):
        try:
            leader = wait_until(farm.holder, "a leader")
            with run_program(
                "operator-go", farm.namespace, "second", kubeconfig=plane.kubeconfig, log=tmp_path / "log"
            ):
                farm.plant("rose", 1)
                farm.wait_for("rose", 1)
                assert farm.holder() == leader
                first.send_signal(signal.SIGKILL)
                farm.replant("rose", 2)
                farm.wait_for("rose", 2)
                assert farm.holder() not in ("", leader)
                assert "Planted" in farm.reasons("second")
        finally:
            first.kill()


def test_informers_of_the_typed_client_see_every_change(plane: ServedPlane, tmp_path: Path) -> None:
    farm, log = Farm(plane), tmp_path / "log"
    plane.ask("POST", farm.maps, {"metadata": {"name": "before"}})
    with run_program("operator-go", "watch", farm.namespace, kubeconfig=plane.kubeconfig, log=log):
        wait_until(lambda: "synced" in log.read_text(), "the informers have synced")
        container = {"name": "web", "image": "web:1"}
        template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [container]}}
        spec = {"selector": {"matchLabels": {"app": "web"}}, "template": template}
        plane.ask(
            "POST", f"/api/v1/namespaces/{farm.namespace}/pods", {"metadata": {"name": "web"}, "spec": template["spec"]}
        )
        plane.ask(
            "POST",
            f"/apis/apps/v1/namespaces/{farm.namespace}/deployments",
            {"metadata": {"name": "web"}, "spec": spec},
        )
        plane.ask("PATCH", f"{farm.maps}/before", {"data": {"a": "b"}}, content_type=MERGE)
        plane.ask("DELETE", f"{farm.maps}/before")
        expected = {"added configmap before", "added pod web", "added deployment web"}
        expected |= {"updated configmap before", "deleted configmap before"}
        wait_until(lambda: expected <= set(log.read_text().splitlines()), f"{expected}")
