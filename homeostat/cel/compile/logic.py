"""`&&`, `||` and `?:`, which do not evaluate all operands.

`&&` and `||` are commutative over errors: an error on one side is ignored if the other side alone decides the
result. If both fail, the left error is raised.
"""

from __future__ import annotations

from typing import Any

from homeostat.cel.compile.frame import Code, Frame
from homeostat.cel.compile.scope import Compiling
from homeostat.cel.errors import ABSORBING_COST, EvaluationError, NoSuchOverloadError
from homeostat.cel.meter import spend
from homeostat.cel.syntax.tree import Call, Node
from homeostat.cel.types import BOOL

LAZY = frozenset({"_&&_", "_||_", "_?_:_"})


def lazy(compiler: Compiling, node: Call) -> Code:
    if node.function == "_?_:_":
        condition = boolean(compiler, node.args[0])
        return _choice(condition, compiler.code(node.args[1]), compiler.code(node.args[2]))
    left, right = (boolean(compiler, each) for each in node.args)
    return _both(left, right) if node.function == "_&&_" else _either(left, right)


def boolean(compiler: Compiling, node: Node) -> Code:
    """Code that returns a bool or raises; if the type is known, that is the code of the node itself."""
    code = compiler.code(node)
    if node.type == BOOL:
        return code

    def run(frame: Frame) -> Any:
        value = code(frame)
        if value is True or value is False:
            return value
        raise NoSuchOverloadError()

    return run


def _choice(condition: Code, yes: Code, no: Code) -> Code:
    return lambda frame: yes(frame) if condition(frame) else no(frame)


def _both(left: Code, right: Code) -> Code:
    def run(frame: Frame) -> Any:
        try:
            if not left(frame):
                return False
        except EvaluationError as error:
            return _decided(right, frame, False, error)
        return right(frame)

    return run


def _either(left: Code, right: Code) -> Code:
    def run(frame: Frame) -> Any:
        try:
            if left(frame):
                return True
        except EvaluationError as error:
            return _decided(right, frame, True, error)
        return right(frame)

    return run


def _decided(other: Code, frame: Frame, decisive: bool, error: EvaluationError) -> bool:
    """The decisive value if the other side gives it, else the error of the first side."""
    spend(frame, ABSORBING_COST)
    try:
        if other(frame) is decisive:
            return bool(decisive)
    except EvaluationError:
        pass
    raise error
