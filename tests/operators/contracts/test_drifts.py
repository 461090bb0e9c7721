"""Which OpenAPI documents are requested, and for how long."""

from __future__ import annotations

import json

import msgspec

from homeostat.objects.json import JsonObject
from homeostat.operators.contracts.api import Pacto
from homeostat.operators.contracts.engine.checks.endpoint import Outcome
from homeostat.operators.contracts.engine.validate import load
from homeostat.operators.contracts.live.drifts import Drifts
from homeostat.operators.contracts.probes.prober import Prober

_CONTRACT = """
pactoVersion: "1.2"
service: {name: quay, version: 1.0.0}
interfaces: [{name: web, type: http, port: 8080, contract: api.json}]
"""


class _Counted(dict[str, bytes]):
    """Counts how often the OpenAPI document is read."""

    reads = 0

    def get(self, key: str, default: bytes | None = None) -> bytes | None:  # type: ignore[override]
        self.reads += key == "api.json"
        return super().get(key, default)


def _pacto(checks: JsonObject | None) -> Pacto:
    spec = {"contractRef": {"oci": "registry.example.org/port/quay"}, "checks": checks}
    metadata = {"name": "quay", "namespace": "port", "generation": 1}
    return msgspec.json.decode(json.dumps({"metadata": metadata, "spec": spec}), type=Pacto)


async def _never(url: str) -> Outcome:
    raise AssertionError(url)


async def test_a_check_that_is_switched_off_is_no_longer_due() -> None:
    now = 100.0
    drifts = Drifts(Prober(_never, lambda _: None, lambda: now))
    files = _Counted({"pacto.yaml": _CONTRACT.encode(), "api.json": b'{"paths": {}}'})
    contract = load(files).contract
    on, off = _pacto({"openapi": [{"interface": "web"}]}), _pacto(None)
    assert (await drifts.read(on, contract, files, "quay"))[0].is_pending
    assert drifts.due_in_s(on) is not None
    reads = files.reads
    await drifts.read(on, contract, files, "quay")
    assert files.reads == reads, "the document of a bundle is parsed once"
    assert await drifts.read(off, contract, files, "quay") == ()
    now += 1000.0
    assert drifts.due_in_s(off) is None
