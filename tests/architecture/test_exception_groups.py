"""A handler of an exception group (`except*`) neither raises nor waits, so that errors are the same on every Python.

Before 3.11.4, all that leaves such a handler is wrapped into another group: an error that the caller expects by its
type, and a cancellation, which then counts as a failure.
"""

from __future__ import annotations

import ast
from pathlib import Path

import homeostat

_PACKAGE = Path(homeostat.__file__).parent
_LEAVES = (ast.Raise, ast.Await, ast.AsyncFor, ast.AsyncWith)


def faults(source: str) -> list[int]:
    """The lines of what leaves a handler."""
    handlers = [each for node in ast.walk(ast.parse(source)) if isinstance(node, ast.TryStar) for each in node.handlers]
    return [node.lineno for each in handlers for node in ast.walk(each) if isinstance(node, _LEAVES)]


def test_what_leaves_a_handler_is_found() -> None:
    assert faults("try:\n    pass\nexcept* OSError as errors:\n    raise errors.exceptions[0]\n") == [4]
    assert faults("async def f():\n    try:\n        pass\n    except* OSError:\n        await g()\n") == [5]
    assert not faults("try:\n    raise OSError\nexcept* OSError:\n    pass\n")


def test_no_handler_of_a_group_raises_or_waits() -> None:
    found = {
        str(path.relative_to(_PACKAGE)): lines
        for path in sorted(_PACKAGE.rglob("*.py"))
        if "except*" in (source := path.read_text()) and (lines := faults(source))
    }
    assert found == {}
