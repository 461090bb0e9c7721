"""Each import contract catches the violation that it is for.

All violations are seeded into one copy of the package, and `lint-imports`, which `make check` runs, has to name each of
them under the contract that it breaks.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

ROOT = Path(__file__).parents[2]
LAYERS: Final = "Layers: a line may import the lines below it"
CONTROLLERS: Final = "The controller half never reaches the server half"
SERVERS: Final = "The server half never reaches the controller half"
OPERATORS: Final = "Operators import no other operator"
KIT: Final = "The kit of faces, their certificates and identity know no operator and no face"
DASHBOARD: Final = "The dashboard knows its sections, and no operator"
FACES: Final = "Faces and sections import no other face"
PURE: Final = "Pure: no I/O, no clock, no random numbers, no logging"
CYCLES: Final = "No import cycle, neither between modules nor between packages"
CONTRACTS: Final = {LAYERS, CONTROLLERS, SERVERS, KIT, DASHBOARD, FACES, OPERATORS, PURE, CYCLES}

# The contract, the module that gets the line, the line, and what it uses.
SEEDS: Final = [
    (LAYERS, "cel.syntax.lexer", "import homeostat.objects.json", "homeostat.objects.json"),
    (LAYERS, "cel.syntax.lexer", "import homeostat.edge.reply", "homeostat.edge.reply"),
    (LAYERS, "edge.reply", "import homeostat.objects.json", "homeostat.objects.json"),
    (LAYERS, "objects.time.age", "import homeostat.client.base", "homeostat.client.base"),
    (LAYERS, "client.base", "import homeostat.external.process", "homeostat.external.process"),
    (LAYERS, "runtime.guard", "import homeostat.operators.policy", "homeostat.operators.policy"),
    (LAYERS, "operators.access", "import homeostat.web.kit.routing", "homeostat.web.kit.routing"),
    (LAYERS, "web.kit.routing", "import homeostat.plane.plane", "homeostat.plane.plane"),
    (LAYERS, "plane.plane", "import homeostat.cli.main", "homeostat.cli.main"),
    (LAYERS, "testing.clock", "import homeostat.cli.main", "homeostat.cli.main"),
    (CONTROLLERS, "operators.access", "import homeostat.server.app", "homeostat.server.app"),
    (CONTROLLERS, "client.base", "import homeostat.store.base", "homeostat.store.base"),
    (CONTROLLERS, "runtime.guard", "import homeostat.store.log", "homeostat.store.log"),
    (SERVERS, "server.uid", "import homeostat.client.base", "homeostat.client.base"),
    (SERVERS, "store.log", "import homeostat.external.process", "homeostat.external.process"),
    (OPERATORS, "operators.policy.api", "import homeostat.operators.actions.api", "homeostat.operators.actions.api"),
    (OPERATORS, "operators.actions.api", "import homeostat.operators.policy.api", "homeostat.operators.policy.api"),
    (OPERATORS, "operators.actions.api", "import homeostat.operators.housekeeping", "homeostat.operators.housekeeping"),
    (OPERATORS, "operators.contracts.api", "import homeostat.operators.images.api", "homeostat.operators.images.api"),
    (
        OPERATORS,
        "operators.images.api",
        "import homeostat.operators.sync.settings",
        "homeostat.operators.sync.settings",
    ),
    (OPERATORS, "operators.sync.watches", "import homeostat.operators.contracts", "homeostat.operators.contracts"),
    (OPERATORS, "operators.sync.run.plan", "import homeostat.operators.policy", "homeostat.operators.policy"),
    (KIT, "web.kit.routing", "import homeostat.operators.catalog", "homeostat.operators.catalog"),
    (KIT, "web.kit.routing", "import homeostat.web.actions.face", "homeostat.web.actions.face"),
    (KIT, "web.identity.api", "import homeostat.web.dashboard.html.markup", "homeostat.web.dashboard.html.markup"),
    (DASHBOARD, "web.dashboard.visit", "import homeostat.web.actions.face", "homeostat.web.actions.face"),
    (KIT, "web.kit.routing", "import homeostat.web.contracts.app", "homeostat.web.contracts.app"),
    (KIT, "web.identity.api", "import homeostat.web.images.app", "homeostat.web.images.app"),
    (DASHBOARD, "web.dashboard.visit", "import homeostat.operators.policy.api", "homeostat.operators.policy.api"),
    (DASHBOARD, "web.dashboard.visit", "import homeostat.web.images.app", "homeostat.web.images.app"),
    (DASHBOARD, "web.dashboard.visit", "import homeostat.web.sync.admission", "homeostat.web.sync.admission"),
    (FACES, "web.policy.dashboard.policy", "import homeostat.web.contracts.app", "homeostat.web.contracts.app"),
    (FACES, "web.actions.dashboard.section", "import homeostat.web.policy", "homeostat.web.policy"),
    (PURE, "objects.names", "import asyncio", "asyncio"),
    (PURE, "objects.names", "from os import environ", "os.environ"),
    (PURE, "objects.names", "import homeostat.edge.reply", "homeostat.edge.reply"),
    (PURE, "cel.names", "import urllib.request", "urllib.request"),
    (PURE, "cel.names", "import aiohttp", "aiohttp"),
    (PURE, "operators.policy.decide", "import asyncio", "asyncio"),
    (PURE, "operators.policy.decide", "import socket", "socket"),
    (PURE, "operators.policy.decide", "def f():\n    import logging", "logging"),
    (PURE, "operators.policy.decide", "open('x')", "open"),
    (PURE, "operators.actions.decide", "from datetime import datetime as d\nd.now()", "datetime.datetime.now"),
    (PURE, "operators.actions.decide", "import datetime\ndatetime.date.today()", "datetime.date.today"),
    (PURE, "operators.actions.decide", "from pathlib import Path", "pathlib.Path"),
    (PURE, "operators.actions.types.decide", "import time", "time"),
    (PURE, "operators.actions.inputs.decide", "import random", "random"),
    (PURE, "operators.housekeeping.garbage.decide", "import subprocess", "subprocess"),
    (PURE, "operators.housekeeping.garbage.graph", "import ssl", "ssl"),
    (PURE, "operators.policy.engine.score", "import secrets", "secrets"),
    (PURE, "operators.actions.plugins.template", "import tempfile", "tempfile"),
    (PURE, "operators.contracts.decide", "import asyncio", "asyncio"),
    (PURE, "operators.contracts.engine.readiness", "from datetime import date as d\nd.today()", "datetime.date.today"),
    (PURE, "operators.contracts.engine.checks.evaluate", "import logging", "logging"),
    (PURE, "operators.images.decide", "import asyncio", "asyncio"),
    (PURE, "operators.images.engine.policy", "import time", "time"),
    (PURE, "operators.images.engine.build", "import datetime\ndatetime.datetime.now()", "datetime.datetime.now"),
    (PURE, "operators.sync.policies.decide", "import asyncio", "asyncio"),
    (PURE, "operators.sync.dependencies.decide", "import subprocess", "subprocess"),
    (PURE, "operators.sync.engine.plan.ownership", "import time", "time"),
    (PURE, "operators.sync.engine.payload.codec", "open('x')", "open"),
    (PURE, "operators.sync.run.order", "import random", "random"),
    (PURE, "operators.images.engine.build", "import threading\nthreading.Timer(1, f)", "threading.Timer"),
    (PURE, "operators.workloads.jobs.decide", "from threading import Event", "threading.Event"),
    (PURE, "operators.workloads.pods.decide", "import sys\nsys.modules['time']", "sys.modules"),
    (PURE, "operators.policy.engine.glob", "async def f(client):\n    await client.get('x')", "async def"),
    (PURE, "objects.kind", "import pkgutil\npkgutil.resolve_name('time:time')", "pkgutil.resolve_name"),
    (PURE, "objects.quantity", "def f(open):\n    pass\ndef g():\n    open('x')", "open"),
    (
        OPERATORS,
        "operators.images.act",
        "def f():\n    import homeostat.operators.policy",
        "homeostat.operators.policy",
    ),
    (
        SERVERS,
        "server.namespaces",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import homeostat.runtime.setup",
        "homeostat.runtime.setup",
    ),
]
INDIRECT: Final = ("operators.actions.decide", "import homeostat.external.git.access")
CYCLE: Final = ("cel.compile.logic", "import homeostat.cel.compile.compiler")
NEW: Final = {LAYERS: "attic", OPERATORS: "operators.spare", FACES: "web.spare"}


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What is said of each broken contract, in one line each."""
    root = tmp_path_factory.mktemp("seeded")
    for each in ("homeostat", "tools"):
        shutil.copytree(ROOT / each, root / each, ignore=shutil.ignore_patterns("__pycache__", "static", "*.types"))
    shutil.copy(ROOT / "pyproject.toml", root)
    for module, line in (*((module, line) for _, module, line, _ in SEEDS), INDIRECT, CYCLE):
        with _path(root, module).with_suffix(".py").open("r+") as source:
            source.seek(0, 2)
            source.write(f"\n{line}\n")
    for package in NEW.values():
        _path(root, package).mkdir()
        _path(root, package).joinpath("__init__.py").touch()
    linter = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([linter, "--no-cache"], cwd=root, capture_output=True, text=True, timeout=170)
    assert done.returncode == 1, done.stdout + done.stderr
    _, _, broken = done.stdout.partition("Broken contracts")
    found: dict[str, str] = {}
    contract = ""
    for line in broken.splitlines():
        contract = line if line in CONTRACTS else contract
        found[contract] = f"{found.get(contract, '')} {line.strip()}"
    return found


def _path(root: Path, module: str) -> Path:
    return root.joinpath("homeostat", *module.split("."))


@pytest.mark.parametrize(
    ("contract", "module", "line", "used"), SEEDS, ids=[f"{module}: {line}" for _, module, line, _ in SEEDS]
)
def test_a_violation_is_caught(report: dict[str, str], contract: str, module: str, line: str, used: str) -> None:
    verb = "is not allowed to use" if contract == PURE else "->"
    assert f"homeostat.{module} {verb} {used} (l." in report[contract], line


def test_what_a_decision_imports_indirectly_is_caught(report: dict[str, str]) -> None:
    assert "because homeostat.operators.actions.decide -> homeostat.external.git.access" in report[PURE]


def test_a_cycle_is_caught(report: dict[str, str]) -> None:
    assert "No cycles are allowed in homeostat.cel.compile." in report[CYCLES]


@pytest.mark.parametrize(("contract", "package"), NEW.items(), ids=NEW.values())
def test_a_package_that_no_contract_places_is_caught(report: dict[str, str], contract: str, package: str) -> None:
    assert f"homeostat.{package} " in report[contract]
