"""For all tests: a limit on memory, no default ports, and what a run says of the tests that it skipped.

A process that runs away in memory fails by itself and does not take the machine with it. A test that needs a program
which is missing raises `MissingProgramError` and is skipped; the last line of a run counts the skipped by reason, and
each reason names the command that brings what is missing.
"""

from __future__ import annotations

import gc
import os
import resource
import signal
from collections import Counter
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

import tests.guard.sitecustomize  # noqa: F401  refuses default ports in this process
from tests.examples import FAST, THOROUGH, USUAL
from tests.missing import missing_program
from tests.order import GroupedFiles, is_whole, longest_first
from tests.processes import fork_commands
from tests.unopened import (
    UnopenedFile,
    collector_paused,
    is_by_file,
    leave_package_as_it_is,
    module_of,
    show_progress_by_file,
)
from tools.build_cluster import is_built

leave_package_as_it_is()
pytest_plugins = ("tests.cluster.fixtures",)

# No deadlines: on a busy machine an example may take any time, and so may data for the next one.
for _name, _most in (("usual", USUAL), ("thorough", THOROUGH), ("fast", FAST)):
    settings.register_profile(_name, max_examples=_most, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("usual")

_MOST_BYTES = 8 << 30
_NO_CLUSTER = pytest.mark.skip(reason="no kube-apiserver and etcd: make cluster, with Go")


def pytest_configure(config: pytest.Config) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    most = _MOST_BYTES if hard == resource.RLIM_INFINITY else min(_MOST_BYTES, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (most, hard))
    # A shell starts background jobs with SIGINT ignored, and the commands that tests interrupt would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # kube-apiserver, etcd, kubectl and the registry collect garbage less often: memory for CPU time.
    os.environ.setdefault("GOGC", "400")
    guard = str(Path(__file__).parent / "guard")
    path = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    os.environ["PYTHONPATH"] = os.pathsep.join([guard, *(each for each in path if each not in {"", guard})])
    fork_commands()
    if os.environ.get("CI"):
        config.option.reportchars += "s"


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    gc.set_threshold(20_000, 20, 20)
    if is_by_file(session.config):
        show_progress_by_file(session.config)
    with collector_paused():
        return (yield)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> GroupedFiles | None:
    """Groups in a run of everything; where somebody names files, all workers take them."""
    return GroupedFiles(config, log) if is_whole(config) and is_by_file(config) else None


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    node.workerinput["is_by_file"] = is_by_file(node.config)
    node.workerinput["is_whole"] = is_whole(node.config)


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module | None:
    return module_of(module_path, parent)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    if not isinstance(item, UnopenedFile):
        return None
    item.run_tests(nextitem)
    return True


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Generator[None]:
    """What uses the cluster is marked so, whether it says so or not, and skipped by name where there is none."""
    unopened = [item for item in items if isinstance(item, UnopenedFile)]
    # Whether a test is chosen by -k or -m is seen when its file is opened.
    items[:] = [item for item in items if not isinstance(item, UnopenedFile)]
    for item in items:
        if "cluster" in getattr(item, "fixturenames", ()):
            item.add_marker("cluster")
        if item.get_closest_marker("cluster") is not None and not is_built():
            item.add_marker(_NO_CLUSTER)
    yield
    items += unopened
    longest_first(items)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    missing = missing_program(call.excinfo.value) if call.excinfo is not None else None
    if missing is not None:
        report.outcome = "skipped"
        report.longrepr = (str(item.path), (item.location[1] or 0) + 1, f"Skipped: {missing}")
    return report


def pytest_unconfigure(config: pytest.Config) -> None:
    """The last line: how many were skipped, why, and what brings them."""
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    skipped = terminal.stats.get("skipped", []) if terminal is not None else []
    reasons = Counter(each.longrepr[2].removeprefix("Skipped: ") for each in skipped if each.longrepr)
    if terminal is not None and reasons:
        counted = "; ".join(f"{count} {reason}" for reason, count in reasons.most_common())
        terminal.write_line(f"{reasons.total()} skipped: {counted}", yellow=True)
