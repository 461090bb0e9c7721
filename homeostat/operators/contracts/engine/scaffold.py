"""The files of a new bundle. Pure."""

from __future__ import annotations

from typing import Final

from homeostat.operators.contracts.engine.files import CONTRACT_FILE

_CONTRACT: Final = """\
pactoVersion: "1.2"

service:
  name: {name}
  version: 0.1.0
  owner:
    team: my-team

interfaces:
  - name: api
    type: http
    port: 8080
    visibility: internal
    contract: interfaces/openapi.yaml

configurations:
  - name: app
    schema: configuration/schema.json

# dependencies:
#   - name: other-service
#     ref: oci://registry.example.org/contracts/other-service
#     required: true
#     compatibility: "^1.0.0"

runtime:
  workload: service
  state:
    type: stateless
    persistence: {{scope: local, durability: ephemeral}}
    dataCriticality: low
  lifecycle:
    upgradeStrategy: rolling
    gracefulShutdownSeconds: 30
  health:
    interface: api
    path: /health

scaling: {{min: 1, max: 3}}
"""
_OPENAPI: Final = """\
openapi: 3.0.3
info:
  title: {name}
  version: 0.1.0
paths:
  /health:
    get:
      summary: Whether the service can serve requests
      responses:
        "200":
          description: It can.
"""
_SCHEMA: Final = """\
{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "properties": {
    "LOG_LEVEL": {"type": "string", "enum": ["debug", "info", "warning", "error"], "default": "info"}
  },
  "additionalProperties": false
}
"""


def new_bundle(name: str) -> dict[str, bytes]:
    """Return the files of a valid bundle for a service."""
    return {
        CONTRACT_FILE: _CONTRACT.format(name=name).encode(),
        "interfaces/openapi.yaml": _OPENAPI.format(name=name).encode(),
        "configuration/schema.json": _SCHEMA.encode(),
    }
