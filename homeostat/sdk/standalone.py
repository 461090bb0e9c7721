"""The stable public API for programs of your own that connect to a cluster and run operators there.

`homeostat run` and `homeostat up` are such programs; an operator needs nothing of this.
"""

from homeostat.client.connect import open_client
from homeostat.client.endpoint.in_cluster import load_in_cluster
from homeostat.client.endpoint.kubeconfig import load_endpoint
from homeostat.runtime.installation import install
from homeostat.runtime.manager import Manager
from homeostat.runtime.telemetry.health import serve_health
from homeostat.runtime.telemetry.settings import telemetry

__all__ = [
    "Manager",
    "install",
    "load_endpoint",
    "load_in_cluster",
    "open_client",
    "serve_health",
    "telemetry",
]
