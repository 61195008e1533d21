"""What a public function raises stands in its docstring."""

from __future__ import annotations

import ast
import textwrap

import pytest

from tests.docs.raising import public, raised, silent


def test_every_public_function_that_raises_says_so() -> None:
    assert list(silent()) == []


@pytest.mark.parametrize(
    ("body", "errors"),
    [
        ("raise Rejected('no')", {"Rejected"}),
        ("raise errors.Rejected('no') from None", {"Rejected"}),
        ("if x:\n    raise Rejected", {"Rejected"}),
        ("try:\n    raise Rejected\nexcept Rejected:\n    return", set()),
        ("try:\n    pass\nexcept KeyError as error:\n    raise Rejected from error", {"Rejected"}),
        ("raise error", set()),
        ("raise _Again", set()),
        ("def inner():\n    raise Rejected\nreturn inner", set()),
    ],
)
def test_exceptions_that_leave_a_function_are_found(body: str, errors: set[str]) -> None:
    source = f"def f(x):\n{textwrap.indent(body, '    ')}"
    ((_, function),) = public(ast.parse(source))
    assert raised(function) == errors
