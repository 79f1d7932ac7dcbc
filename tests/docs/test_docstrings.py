"""Examples in the docstrings of the package run as written."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import tailback


def modules_with_examples() -> list[str]:
    """Modules whose source holds an example; finding them imports nothing else."""
    found = []
    for module in pkgutil.walk_packages(tailback.__path__, "tailback.", onerror=lambda _: None):
        spec = module.module_finder.find_spec(module.name, None)
        source = getattr(spec.loader, "get_source", lambda _: None)(module.name) if spec and spec.loader else None
        if source and ">>> " in source:
            found.append(module.name)
    return ["tailback", *found]


@pytest.mark.parametrize("name", modules_with_examples())
def test_examples_of_docstrings_run(name: str) -> None:
    tests = doctest.DocTestFinder(exclude_empty=True).find(importlib.import_module(name))
    assert any(test.examples for test in tests)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    for test in tests:
        runner.run(test)
    assert runner.summarize(verbose=False).failed == 0
