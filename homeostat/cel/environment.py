"""The variables and functions that expressions may use, and compiled programs.

environment = Environment({"self": ObjectType("Widget", {"replicas": INT})})
program = environment.compile("self.replicas <= 10")
program.evaluate({"self": {"replicas": 3}})
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from homeostat.cel.check.cost import CALL_LIMIT, Budget, fixed_cost
from homeostat.cel.check.estimate import MAX_COST, estimate
from homeostat.cel.errors import CompileError, CostLimitError, EvaluationError, Issue, NoSuchOverloadError
from homeostat.cel.registry import Overload, registry
from homeostat.cel.syntax.tree import Node
from homeostat.cel.types import Structs, Type

if TYPE_CHECKING:
    from homeostat.cel.compile.frame import Code

_CONFUSED = (TypeError, AttributeError, LookupError, ValueError, ArithmeticError, RecursionError)
"""What Python raises for values that are not of their declared types, or nested too deeply."""


class Program:
    """A compiled expression. Holds no state: one program may be evaluated by many threads at once."""

    __slots__ = ("_base_cost", "_code", "_inputs", "_node", "_size", "type", "uses")

    def __init__(self, node: Node, code: Code, slots: Mapping[str, int], size: int, uses: frozenset[str]) -> None:
        self.type = node.type
        self.uses = uses
        self._node = node
        self._code = code
        self._inputs = tuple((name, slots[name]) for name in sorted(uses))
        self._size = size
        self._base_cost = fixed_cost(node)

    @property
    def estimated_cost(self) -> int:
        """The most that an evaluation can cost, given the sizes that the variables' types allow."""
        try:
            return estimate(self._node)
        except RecursionError:
            return MAX_COST

    def evaluate(self, bindings: Mapping[str, Any], budget: Budget | None = None, *, limit: int = CALL_LIMIT) -> Any:
        """The value of the expression. Bindings are JSON values of the declared types, and are not changed.

        Raises `EvaluationError` if it has no value and `CostLimitError` if it would cost more than `limit` or than is
        left of `budget`. The cost is taken from `budget` in any case.
        """
        frame: list[Any] = [None] * self._size
        for name, slot in self._inputs:
            if name not in bindings:
                raise EvaluationError(f"no such attribute: {name}")
            frame[slot] = bindings[name]
        if budget is not None and budget.remaining < limit:
            limit = budget.remaining
        frame[0] = limit - self._base_cost
        try:
            if frame[0] < 0:
                raise CostLimitError
            return self._code(frame)
        except _CONFUSED as error:
            raise NoSuchOverloadError(f"no such overload: {error}") from error
        finally:
            if budget is not None:
                budget.remaining -= limit - frame[0]


class Environment:
    """Declared variables and functions. `functions` come in addition to the standard ones.

    Literals of lists and maps hold one type of items, as Kubernetes demands, unless `homogeneous_literals` is false.
    `structs` returns the type that an expression constructs by a name, or None.
    """

    def __init__(
        self,
        variables: Mapping[str, Type],
        functions: Iterable[Overload] = (),
        *,
        homogeneous_literals: bool = True,
        structs: Structs | None = None,
    ) -> None:
        from homeostat.cel.functions import standard

        self._variables = dict(variables)
        self._functions = dict(standard())
        for name, overloads in registry(functions).items():
            self._functions[name] = self._functions.get(name, ()) + overloads
        self._homogeneous = homogeneous_literals
        self._structs = structs

    def compile(self, text: str) -> Program:
        """The program of an expression; `CompileError` with every issue and its position."""
        # The compiler and the functions are large. A plane without expressions does not import them.
        from homeostat.cel.check.checker import Checker, no_structs
        from homeostat.cel.compile.compiler import Compiler
        from homeostat.cel.compile.scope import Scope
        from homeostat.cel.syntax.parser import parse

        try:
            node = parse(text)
            checker = Checker(
                text,
                self._variables,
                self._functions,
                homogeneous=self._homogeneous,
                structs=self._structs or no_structs,
            )
            checker.check(node)
            uses = frozenset(checker.uses)
            slots = {name: index for index, name in enumerate(sorted(uses), start=1)}
            scope = Scope(slots)
            code = Compiler(scope).code(node)
            return Program(node, code, slots, scope.size, uses)
        except RecursionError:
            raise CompileError(text, [Issue(0, "expression is nested too deeply")]) from None
