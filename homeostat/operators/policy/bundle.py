"""Named sets of rules that ship with the operator, one YAML file each in `bundles/`.

    load_bundle("Baseline").spec

Names are case-insensitive. `policy_of` makes a DevOpsPolicy of a bundle.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Final

import msgspec

from homeostat.objects import yaml
from homeostat.objects.json import JsonObject
from homeostat.operators.policy.api import DEVOPS_POLICY, GROUP
from homeostat.operators.policy.spec import PolicySpec

NAMES: Final = ("baseline", "permissive", "restricted", "hardened")


class Bundle(msgspec.Struct, frozen=True):
    name: str
    description: str
    spec: PolicySpec


class UnknownBundleError(LookupError):
    """Lists the known bundles."""

    def __init__(self, name: str) -> None:
        super().__init__(f'unknown bundle "{name}"; known bundles: {", ".join(sorted(NAMES))}')


def load_bundle(name: str) -> Bundle:
    known = name.strip().lower()
    if known not in NAMES:
        raise UnknownBundleError(name)
    return _load(known)


@cache
def _load(name: str) -> Bundle:
    return msgspec.convert(yaml.load(files(__package__).joinpath("bundles", f"{name}.yaml").read_bytes()), Bundle)


def policy_of(bundle: Bundle, *, namespace: str = "default", name: str = "devops-policy") -> JsonObject:
    return {
        "apiVersion": DEVOPS_POLICY.kind.api_version,
        "kind": DEVOPS_POLICY.kind.kind,
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": {f"{GROUP}/bundle": bundle.name, "app.kubernetes.io/managed-by": "kube-devops"},
        },
        "spec": msgspec.to_builtins(bundle.spec),
    }
