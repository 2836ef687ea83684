"""No module builds a query when it is imported.

A manager limits its rows to what the present request reaches. Django imports modules in the first request, so a query
of a module would keep the limits of that request for everybody.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]


def at_import(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes that run when the module is imported: not the bodies of functions and lambdas."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Lambda):
            continue
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            for part in (*child.decorator_list, *child.args.defaults, *filter(None, child.args.kw_defaults)):
                yield from (part, *at_import(part))
            continue
        yield child
        yield from at_import(child)


def queries_of(source: str) -> list[int]:
    """Return the lines that use a manager when the module is imported."""
    names = ("objects", "_default_manager")
    return [
        node.lineno for node in at_import(ast.parse(source)) if isinstance(node, ast.Attribute) and node.attr in names
    ]


def test_no_module_queries_when_it_is_imported() -> None:
    paths = [path for path in sorted(ROOT.joinpath("dlqadmin").rglob("*.py")) if "migrations" not in path.parts]
    assert len(paths) > 100
    assert {str(path.relative_to(ROOT)): found for path in paths if (found := queries_of(path.read_text()))} == {}


def test_a_query_of_a_module_is_found() -> None:
    assert queries_of("A = Row.objects.filter()\nclass B:\n    c = Row.objects\ndef f(x=Row.objects): ...") == [1, 3, 4]
    assert queries_of("def f():\n    return Row.objects\nB = lambda: Row.objects") == []
