"""In a run by file on several workers (`--dist loadfile`), the worker that runs a file imports and collects it, alone.

pytest-xdist lets every worker collect everything, so that a number names the same test on each. A worker here collects
one item for a file, without opening it; that item collects the tests of the file when its turn comes, and runs them.
Runs of single tests (`file.py::test`), of those that failed last and `--collect-only` collect as pytest always does.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from _pytest.assertion.rewrite import AssertionRewritingHook


class UnopenedFile(pytest.Item):
    """All tests of a file. Each reports under its own name, to its own time limit."""

    def tests(self) -> list[pytest.Item]:
        module = self.parent
        assert isinstance(module, UnopenedModule)
        module.is_opened = True
        with collector_paused():
            tests = list(self.session.genitems(module))
            self.config.hook.pytest_collection_modifyitems(session=self.session, config=self.config, items=tests)
        return tests

    def runtest(self) -> None:
        raise AssertionError("run_tests comes first")

    def run_tests(self, nextitem: pytest.Item | None) -> None:
        items, tests = self.session.items, self.tests()
        place = items.index(self)
        if not tests:  # Of the test before it, what this file would have used as well is still set up.
            self.session._setupstate.teardown_exact(nextitem)
            return
        try:
            for test, following in zip(tests, [*tests[1:], nextitem], strict=True):
                if self.session.shouldfail or self.session.shouldstop:
                    break
                # xdist compares what a test reports with the item that it asked for.
                items[place] = test
                self.config.hook.pytest_runtest_protocol(item=test, nextitem=following)
        finally:
            items[place] = self


class UnopenedModule(pytest.Module):
    is_opened = False

    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        if self.is_opened:
            return super().collect()
        whole = UnopenedFile.from_parent(self, name="all")
        whole.add_marker(pytest.mark.timeout(0))
        return [whole]


def is_by_file(config: pytest.Config) -> bool:
    """Asked in the process that starts the workers."""
    option = config.option
    needs_all = any(
        getattr(option, name, False) for name in ("collectonly", "lf", "failedfirst", "newfirst", "stepwise")
    )
    return (
        getattr(option, "dist", "no") == "loadfile" and not needs_all and not any("::" in each for each in config.args)
    )


def module_of(path: Path, parent: pytest.Collector) -> pytest.Module | None:
    """The module to collect for a test file, or None where pytest collects it as always."""
    worker: dict[str, object] = getattr(parent.config, "workerinput", {})
    return UnopenedModule.from_parent(parent, path=path) if worker.get("is_by_file") else None


def show_progress_by_file(config: pytest.Config) -> None:
    """How many of the files have begun, since nobody has counted the tests."""
    terminal: Any = config.pluginmanager.get_plugin("terminalreporter")

    def message() -> str:
        begun = len({str(nodeid).partition("::")[0] for nodeid in terminal._progress_nodeids_reported})
        return f" [{begun * 100 // max(terminal._session.testscollected, 1):3d}%]"

    if terminal is not None:
        terminal._get_progress_information_message = message


def leave_package_as_it_is() -> None:
    """Before anything imports it. The package brings a plugin of pytest, so pytest would rewrite all its assertions."""
    for finder in sys.meta_path:
        if isinstance(finder, AssertionRewritingHook):
            finder._must_rewrite.discard("homeostat")
            finder._marked_for_rewrite_cache.clear()


@contextmanager
def collector_paused() -> Iterator[None]:
    """The garbage collector does not visit tests while they are collected, nor later."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
