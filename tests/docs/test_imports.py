"""The imports of the product, those for type checkers counted."""

from __future__ import annotations

from graphlib import TopologicalSorter

import grimp


def test_no_module_imports_itself_by_way_of_others():
    graph = grimp.build_graph("hermes_jobs", "workers", "schedules", cache_dir=None)
    imports = {each: graph.find_modules_directly_imported_by(each) for each in graph.modules}
    TopologicalSorter(imports).prepare()  # raises a `CycleError` that names the modules
