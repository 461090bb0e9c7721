"""What an empty plane with all operators does until it serves, counted in steps: seconds depend on the machine.

If a test here fails, the start became slower for everybody. Import what is not needed until a request or an object
comes where it is used, or measure with `python -m benchmarks start` and raise the number.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

_PROGRAM = """
import json, os, sys
from homeostat.cli.entry import main
import homeostat.cli.plane.up as up

def report(plane):
    counters = plane.store.counters
    found = {"modules": sorted(sys.modules), "commits": counters.batches, "rows": counters.rows}
    print(json.dumps(found), flush=True)
    os._exit(0)

up.welcome = report
main()
"""
# Beside the counts: what a start must not import at all, because something else would come with it.
_NOT_AT_ANY_START = (
    "aiohttp",
    "cryptography",
    "dataclasses",
    "fractions",
    "homeostat.cel",
    "homeostat.objects.crd.custom_kind",
    "homeostat.operators.actions",
    "homeostat.operators.contracts",
    "homeostat.operators.housekeeping",
    "homeostat.operators.images",
    "homeostat.operators.policy",
    "homeostat.operators.sync",
    "homeostat.runtime.cache",
    "homeostat.runtime.manager",
    "homeostat.server.admission.pod_security.checks",
    "homeostat.server.audit",
    "homeostat.server.kinds.builtins.checks.pods",
    "homeostat.server.kinds.builtins.checks.workload",
    "homeostat.web",
    "jsonschema_rs",
    "prometheus_client",
    "shutil",
    "tempfile",
    "yaml",
)


class Start(msgspec.Struct, frozen=True):
    modules: frozenset[str]
    commits: int
    rows: int

    @property
    def own(self) -> set[str]:
        return {each for each in self.modules if each.startswith("homeostat")}


def start(data: Path) -> Start:
    ended = subprocess.run(
        [sys.executable, "-c", _PROGRAM, "up", "--data", str(data), "--port", "0", "--faces-port", "0"],
        capture_output=True,
        timeout=60,
        env={**os.environ, "PYTHONWARNINGS": "ignore"},
    )
    assert ended.returncode == 0, ended.stderr.decode()
    # The report itself imports json.
    return msgspec.json.decode(ended.stdout.splitlines()[-1], type=Start)


@pytest.fixture(scope="module")
def starts(tmp_path_factory: pytest.TempPathFactory) -> tuple[Start, Start]:
    data = tmp_path_factory.mktemp("plane")
    return start(data), start(data)


def _imported_by(module: str) -> set[str]:
    """On Python 3.14 `logging` imports `dataclasses`."""
    code = f"import sys, {module}; print(*sys.modules)"
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())


def test_a_start_imports_no_more_than_it_needs(starts: tuple[Start, Start]) -> None:
    for each in starts:
        assert sorted(each.modules & set(_NOT_AT_ANY_START) - _imported_by("logging")) == []
        assert len(each.own) <= 369, "modules of ours"
        assert len(each.modules) <= 650, "all modules"


def test_a_first_start_writes_all_it_creates_in_few_commits(starts: tuple[Start, Start]) -> None:
    first, restart = starts
    assert first.rows >= 180
    # Four on a quiet machine. Definitions are prepared in threads, so on a busy one each may come alone.
    assert first.commits <= 30
    # The port is another one, and the Service of the API server and its endpoints have it.
    assert max(restart.commits, restart.rows) <= 3
