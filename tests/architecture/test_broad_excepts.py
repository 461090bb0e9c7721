"""Code catches what it handles. A place that catches any error and goes on is listed here, with the reason."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

PACKAGE: Final = Path(__file__).parents[2] / "homeostat"
STEP: Final = "the outermost step of a request, a connection, a stream or a task: it answers, logs and serves the next"
WORK: Final = "a loop that outlives its work: one failure is logged or recorded, and tried again"
CARRIED: Final = "the error is carried to a caller in another thread or process, who gets it raised"
FOREIGN: Final = "code of others: a plugin of a package, a subscriber, arguments of any library"
ONE_OF_MANY: Final = "one unusual item must not keep the others from being served"
ALLOWED: Final = {
    "cli/console/logs.py": FOREIGN,
    "edge/connection/connection.py": STEP,
    "edge/connection/service.py": STEP,
    "edge/stream.py": STEP,
    "edge/threads.py": CARRIED,
    "external/child.py": CARRIED,
    "operators/actions/inputs/feeds.py": FOREIGN,
    "operators/actions/inputs/observe.py": FOREIGN,
    "operators/actions/plugins/catalog.py": FOREIGN,
    "operators/actions/runs/jobs.py": FOREIGN,
    "operators/housekeeping/__init__.py": WORK,
    "operators/images/batching/scheduler.py": WORK,
    "runtime/control/controller.py": WORK,
    "runtime/control/workers.py": WORK,
    "runtime/faces/on_demand.py": WORK,
    "runtime/manager.py": CARRIED,
    "runtime/supervisor.py": WORK,
    "server/app.py": STEP,
    "server/audit/log.py": ONE_OF_MANY,
    "server/kinds/custom/serving.py": ONE_OF_MANY,
    "server/request/eager.py": CARRIED,
    "server/request/offload.py": CARRIED,
    "server/verbs/backlog.py": STEP,
    "store/broadcast.py": FOREIGN,
    "store/thread.py": CARRIED,
    "testing/eventually.py": FOREIGN,
    "testing/served.py": CARRIED,
    "web/actions/events/pages.py": STEP,
    "web/actions/plugins.py": FOREIGN,
    "web/kit/answering.py": STEP,
}
_may_be_broad = re.compile(r"except(\*? \(?(.*, )?(Base)?Exception\b|:)").search


def broad(source: str) -> Iterator[int]:
    """Lines of handlers that catch any error, and raise none."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ExceptHandler):
            caught = {each.id for each in ast.walk(node.type) if isinstance(each, ast.Name)} if node.type else set()
            is_broad = node.type is None or not caught.isdisjoint({"Exception", "BaseException"})
            if is_broad and not any(isinstance(each, ast.Raise) for each in ast.walk(node)):
                yield node.lineno


def test_any_error_is_caught_where_a_reason_is_given_and_nowhere_else() -> None:
    found = {
        file.relative_to(PACKAGE).as_posix()
        for file in PACKAGE.rglob("*.py")
        if _may_be_broad(source := file.read_text()) and list(broad(source))
    }
    assert sorted(found) == sorted(ALLOWED)


def test_a_broad_handler_would_be_found() -> None:
    kinds = ("", " Exception", " BaseException as error", " (OSError, Exception)", "* Exception")
    for kind in kinds:
        source = f"try:\n    f()\nexcept{kind}:\n    pass\n"
        assert _may_be_broad(source)
        assert list(broad(source)) == [3]
    assert list(broad("try:\n    f()\nexcept Exception:\n    raise\n")) == []
    assert list(broad("try:\n    f()\nexcept ValueError:\n    pass\n")) == []
