"""Groups of rows come in the order of the rows. In another order each time, sums of real numbers differ in their last digit."""

import ast
from pathlib import Path

import tailback

PACKAGE = Path(tailback.__file__).parent


def unordered(source: str) -> list[int]:
    """The lines in which rows are grouped in no order."""
    calls = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call))
    return [
        call.lineno
        for call in calls
        if isinstance(call.func, ast.Attribute)
        and call.func.attr == "group_by"
        and "maintain_order" not in {keyword.arg for keyword in call.keywords}
    ]


def test_groups_keep_the_order_of_rows() -> None:
    assert unordered('table.group_by("flow").agg(x)\ntable.group_by("flow", maintain_order=True)') == [1]
    found = {str(file.relative_to(PACKAGE)): unordered(file.read_text()) for file in PACKAGE.rglob("*.py")}
    assert {file: lines for file, lines in found.items() if lines} == {}
