"""helm with the project's chart: what it renders, as objects."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from homeostat.objects import yaml
from homeostat.objects.json import JsonObject
from tools.build_cluster import KUBERNETES
from tools.build_programs import find_program

CHART = Path(__file__).parents[2] / "deploy" / "chart"


class HelmError(Exception):
    """What helm printed when it refused."""


@dataclass(frozen=True, slots=True)
class Helm:
    program: Path
    home: Path
    kubeconfig: Path | None = None

    def __call__(self, *arguments: str) -> str:
        environment = {**os.environ, "HOME": str(self.home), "KUBECONFIG": str(self.kubeconfig or self.home / "none")}
        command = [str(self.program), *arguments]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=90)
        if done.returncode != 0:
            raise HelmError(done.stdout + done.stderr)
        return done.stdout

    def values(self, values: Mapping[str, object]) -> list[str]:
        """The options that set them."""
        path = self.home / "values.json"
        path.write_bytes(msgspec.json.encode(values))
        return ["--values", str(path)]

    def template(
        self, values: Mapping[str, object], *, release: str = "homeostat", namespace: str = "ops"
    ) -> list[JsonObject]:
        arguments = ["--namespace", namespace, "--kube-version", KUBERNETES, *self.values(values)]
        text = self("template", release, str(CHART), *arguments)
        return [each for each in yaml.load_all(text.encode()) if each]


def open_helm(home: Path, kubeconfig: Path | None = None) -> Helm:
    return Helm(find_program("helm"), home, kubeconfig)


def one(found: list[JsonObject], kind: str, name: str = "") -> JsonObject:
    (match,) = [each for each in found if each["kind"] == kind and name in ("", each["metadata"]["name"])]
    return match


def all_of(found: list[JsonObject], *kinds: str) -> list[JsonObject]:
    return [each for each in found if each["kind"] in kinds]
