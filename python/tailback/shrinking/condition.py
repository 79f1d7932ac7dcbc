"""Conditions on a run as people write them: ``utilization < 0.5 and jain < 0.9``. Words are the names of a run's metrics;
nothing else of Python's is understood, so that a condition can do nothing but be true or false."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any, Final

from tailback.errors import ArgumentError, unknown

_COMPARE: Final[Mapping[type[ast.AST], Callable[[Any, Any], Any]]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_COMPUTE: Final[Mapping[type[ast.AST], Callable[[Any, Any], Any]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
ALLOWED: Final = "comparisons of metrics and numbers, as in 'utilization < 0.5 and jain < 0.9', or 'failed'"


class Condition:
    """A condition that was read.

    Raises:
        ArgumentError: where it is none.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        try:
            self._tree = ast.parse(text.strip(), mode="eval").body
        except SyntaxError as error:
            raise ArgumentError(f"condition: {text!r} is not allowed; expected {ALLOWED}") from error
        self._check(self._tree)
        if not _is_question(self._tree):
            raise ArgumentError(f"condition: {self.text!r} is a value, not true or false; expected {ALLOWED}")

    def holds(self, values: Mapping[str, Any]) -> bool:
        """Whether it is true of these values; false where one that it needs is missing.

        Raises:
            NotFoundError: for a name that is no metric.
        """
        try:
            return bool(self._value(self._tree, values))
        except (TypeError, ZeroDivisionError):  # A metric that this run does not have.
            return False

    def _check(self, node: ast.AST) -> None:
        known = ast.BoolOp | ast.UnaryOp | ast.Compare | ast.BinOp | ast.Name | ast.Constant
        operators = ast.boolop | ast.unaryop | ast.cmpop | ast.operator | ast.expr_context
        for part in ast.walk(node):
            fine = isinstance(part, known | operators)
            fine &= not isinstance(part, ast.Constant) or isinstance(part.value, int | float)
            fine &= not isinstance(part, ast.cmpop) or type(part) in _COMPARE
            fine &= not isinstance(part, ast.operator) or type(part) in _COMPUTE
            fine &= not isinstance(part, ast.unaryop) or isinstance(part, ast.Not | ast.USub)
            if not fine:
                raise ArgumentError(f"condition: {self.text!r} is not allowed; expected {ALLOWED}")

    def _value(self, node: ast.AST, values: Mapping[str, Any]) -> Any:  # noqa: PLR0911 (one for each kind of node)
        match node:
            case ast.Constant(value=value):
                return value
            case ast.Name(id=name):
                if name not in values:
                    raise unknown("metric", name, values)
                return values[name]
            case ast.UnaryOp(op=op, operand=operand):
                value = self._value(operand, values)
                return not value if isinstance(op, ast.Not) else -value
            case ast.BinOp(left=left, op=op, right=right):
                return _COMPUTE[type(op)](self._value(left, values), self._value(right, values))
            case ast.BoolOp(op=op, values=parts):
                results = (self._value(part, values) for part in parts)
                return all(results) if isinstance(op, ast.And) else any(results)
            case ast.Compare(left=left, ops=ops, comparators=others):
                chain = [self._value(each, values) for each in (left, *others)]
                pairs = zip(ops, chain, chain[1:], strict=False)
                return all(_COMPARE[type(op)](one, other) for op, one, other in pairs)
            case _:  # The check lets nothing else through.
                return False


def _is_question(node: ast.AST) -> bool:
    """Whether it is true or false: a comparison, ``failed``, or such joined by and, or, not."""
    match node:
        case ast.BoolOp(values=values):
            return all(map(_is_question, values))
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return _is_question(operand)
        case ast.Name(id=name):
            return name == "failed"
        case ast.Constant(value=value):
            return isinstance(value, bool)
    return isinstance(node, ast.Compare)
