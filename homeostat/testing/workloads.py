"""Simulated workloads for tests: Deployments become ready, and Pods fail when a test says so.

def test_a_broken_image_is_reported(kubernetes_workloads):
    kubernetes_workloads.set_outcome("image-pull-error", image="*:broken")
    ...
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from homeostat.objects import yaml
from homeostat.operators.workloads.api import RULES_LABEL
from homeostat.operators.workloads.pods.rules import Outcome
from homeostat.testing.served import ServedPlane

OPERATOR: Final = "homeostat.operators.workloads"


class Workloads:
    """The API as one test sees it, with its own namespace, and rules for the Pods of that namespace."""

    def __init__(self, plane: ServedPlane, url: str, kubeconfig: Path, namespace: str) -> None:
        self.url, self.kubeconfig, self.namespace = url, kubeconfig, namespace
        self._plane, self._numbers = plane, itertools.count(1)

    def set_outcome(
        self,
        outcome: Outcome,
        *,
        selector: str = "",
        name: str = "",
        image: str = "",
        times: int = 0,
        ready_after: str = "",
        stop_after: str = "",
        back_off: str = "",
        exit_code: int = 0,
        use: str = "",
    ) -> str:
        """Pods that match get this outcome, those that run already too. The newest matching rule decides. Returns the
        name of the ConfigMap that holds the rule.
        """
        fields = {
            "outcome": outcome,
            "selector": selector,
            "name": name,
            "image": image,
            "times": times,
            "ready-after": ready_after,
            "stop-after": stop_after,
            "back-off": back_off,
            "exit-code": exit_code,
            "use": use,
        }
        rule = {name: value for name, value in fields.items() if value}
        # The first rule in the order of names counts, so that later ones need smaller names.
        map_name = f"rule-{1_000_000 - next(self._numbers)}"
        rules = {
            "metadata": {"name": map_name, "labels": {RULES_LABEL: "true"}},
            "data": {"rule": yaml.dump(rule).decode()},
        }
        self._plane.call(self._plane.client.create(f"/api/v1/namespaces/{self.namespace}/configmaps", rules))
        return map_name

    def clear_outcomes(self) -> None:
        """Removes the rules: Pods get ready again."""
        path = f"/api/v1/namespaces/{self.namespace}/configmaps"
        client = self._plane.client
        self._plane.call(client.request("DELETE", path, {"labelSelector": RULES_LABEL}))


@contextmanager
def simulated_workloads(plane: ServedPlane) -> Iterator[Workloads]:
    """A namespace of a plane that runs the operator `OPERATOR`."""
    with plane.namespace() as found:
        yield Workloads(plane, *found)
