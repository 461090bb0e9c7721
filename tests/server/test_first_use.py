"""The first request that needs a large library imports it in a thread, and nobody else waits for it."""

from __future__ import annotations

import subprocess
import sys

_SCRIPT = """
import asyncio, sys, tempfile, threading
from pathlib import Path
from homeostat.edge import imports
from homeostat.plane import Settings, open_plane
from tests.api.conftest import Api

LARGE = {"jsonschema_rs", "jwt", "prometheus_client", "yaml"}
importers = []

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name in LARGE:
            importers.append((name, threading.current_thread() is threading.main_thread()))

def forget_jwt():
    imports._complete.discard("jwt")
    for name in [each for each in sys.modules if each.partition(".")[0] == "jwt"]:
        del sys.modules[name]

async def main(data):
    settings = Settings(data=data, port=0, operators=frozenset())
    async with open_plane(settings) as plane:
        api, maps = Api(plane), "/api/v1/namespaces/default/configmaps"
        assert not LARGE & set(sys.modules), LARGE & set(sys.modules)
        sys.meta_path.insert(0, Finder())
        assert (await api("GET", "/metrics")).status == 200
        assert (await api("POST", maps, b"metadata: {name: a}", type="application/yaml")).status == 201
        versions = [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}]
        names = {"plural": "things", "kind": "Thing"}
        spec = {"group": "example.com", "scope": "Cluster", "names": names, "versions": versions}
        definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        made = await api("POST", definitions, {"metadata": {"name": "things.example.com"}, "spec": spec})
        assert made.status == 201, made.body
        thing = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "a"}}
        assert (await api("POST", "/apis/example.com/v1/things", thing)).status == 201
        account = "/api/v1/namespaces/default/serviceaccounts/default"
        await api("POST", account.rpartition("/")[0], {"metadata": {"name": "default"}})
        assert (await api("POST", f"{account}/token", {"spec": {}})).status == 201
        forget_jwt()
        assert (await api("GET", maps, headers={"authorization": "Bearer a.b.c"}, user=None)).status == 401
        forget_jwt()
        reviews = "/apis/authentication.k8s.io/v1/tokenreviews"
        assert (await api("POST", reviews, {"spec": {"token": "a.b.c"}})).status == 201
    print(importers)

with tempfile.TemporaryDirectory() as data:
    asyncio.run(main(Path(data)))
"""


def test_the_event_loop_does_not_wait_for_imports() -> None:
    done = subprocess.run([sys.executable, "-c", _SCRIPT], capture_output=True, text=True, timeout=50)
    # Tokens are signed, verified and reviewed, each as the first use.
    names = ("prometheus_client", "yaml", "jsonschema_rs", "jwt", "jwt", "jwt")
    expected = [(each, False) for each in names]
    assert (done.stdout, done.stderr) == (f"{expected}\n", "")
