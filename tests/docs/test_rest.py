"""The example of the REST API works as it is written: ready, changed by hand, repaired."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

from tests.docs.documents import text_of
from tests.web.actions.test_served import Served, up, waiting

_section = re.compile(r"^## A type, a resource, its status$(.*?)^## ", re.MULTILINE | re.DOTALL)
_blocks = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def run(served: Served, block: str) -> None:
    """As written, but for the two ports."""
    found = re.search(r"Kubernetes API at (\S+)", served.welcome)
    assert found is not None
    api = found[1].rpartition(":")[2].rstrip("/")
    rest = served.url.rpartition(":")[2].rstrip("/")
    text = block.replace(":7443", f":{api}").replace(":8000", f":{rest}").replace("curl ", "curl -fsS ")
    done = subprocess.run(["bash", "-ec", text], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_the_example_becomes_ready_drifts_and_is_repaired(tmp_path: Path) -> None:
    section = _section.search(text_of("docs/rest.md"))
    assert section is not None
    create, repair = _blocks.findall(section[1])
    with up(tmp_path / "plane", "--open", "--faces-port", "0") as served:
        run(served, create)
        show = "curl http://localhost:8000/api/v1/resources/1"
        waiting(lambda: served.run(show), lambda each: each["status"] == "ready" and each["conditions"])
        run(served, repair)
        history = "curl http://localhost:8000/api/v1/resources/1/history"
        newest = waiting(lambda: served.run(history)[0], lambda each: each["drift_detected"])
        assert newest["plan_output"] == 'data.path: "/tampered" becomes "/index"'
        assert json.dumps(newest["success"]) == "true"
