"""Which public functions raise, and whether their docstrings say so.

Commands need not: their docstring is their help, and what leaves them becomes an exit code. Neither need
tools: their docstring is what the model reads, and `ToolFailed` is its answer.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tests.processes import ROOT

PRODUCT = ("hermes_jobs", "workers", "schedules")
Function = ast.FunctionDef | ast.AsyncFunctionDef
SAYS = re.compile(r"\b[Rr]ais(e|es|ed|ing)\b|\b[Ss]ee `")  # `See` leads to the port that says it
ANSWERS = frozenset({"ToolFailed", "NotImplementedError"})


def silent() -> Iterator[str]:
    """Where each function stands that raises without saying so, and what."""
    for package in PRODUCT:
        for path in sorted((ROOT / package).rglob("*.py")):
            for name, function in public(ast.parse(path.read_text())):
                errors = raised(function) - ANSWERS
                if errors and not is_command(function) and not says(function, errors):
                    yield f"{path.relative_to(ROOT)}:{function.lineno} {name}: {', '.join(sorted(errors))}"


def is_command(function: Function) -> bool:
    """Whether click calls it."""
    return any("command(" in ast.unparse(each) for each in function.decorator_list)


def says(function: Function, errors: set[str]) -> bool:
    """Whether the docstring speaks of raising, or names the error."""
    text = ast.get_docstring(function) or ""
    return SAYS.search(text) is not None or any(f"`{error}`" in text for error in errors)


def public(node: ast.Module | ast.ClassDef, prefix: str = "") -> Iterator[tuple[str, Function]]:
    """The public functions of a module, and the methods of its public classes."""
    for each in node.body:
        if isinstance(each, ast.ClassDef) and not each.name.startswith("_"):
            yield from public(each, f"{prefix}{each.name}.")
        if isinstance(each, Function) and not each.name.startswith("_"):
            yield f"{prefix}{each.name}", each


def raised(function: Function) -> set[str]:
    """The names of the exceptions that leave the function by its own `raise`, apart from private ones."""
    names = {name for statement in function.body for name in _leaving(statement, frozenset())}
    return {name for name in names if not name.startswith("_")}


def _leaving(node: ast.AST, caught: frozenset[str]) -> Iterator[str]:
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() | ast.Lambda():
            return
        case ast.Raise(exc=ast.expr() as error):
            name = _name(error)
            if name and name not in caught:
                yield name
        case ast.Try():
            within = caught | {name for handler in node.handlers for name in _caught(handler)}
            for statement in node.body:
                yield from _leaving(statement, within)
            for child in (*node.handlers, *node.orelse, *node.finalbody):
                yield from _leaving(child, caught)
        case _:
            for child in ast.iter_child_nodes(node):
                yield from _leaving(child, caught)


def _name(error: ast.expr) -> str:
    """`domain.Rejected(…)` is `Rejected`; what a variable or a call returns has no name here."""
    match error:
        case ast.Call(func=function):
            return _name(function)
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name if name.lstrip("_")[:1].isupper() else ""
    return ""


def _caught(handler: ast.ExceptHandler) -> list[str]:
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return [_name(kind) for kind in kinds if kind is not None]
