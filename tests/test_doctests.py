"""What `from planner import …` offers, by the examples in its docstrings."""

import doctest
import re
import sys

import pytest

import planner
from tests.browser import ROOT

# A Plan is what `plan` gives.
OFFERED = sorted(set(planner.__all__) - {"__version__", "Plan"})


@pytest.mark.parametrize("name", ["planner", *OFFERED])
def test_each_name_has_an_example_that_runs(name):
    thing = planner if name == "planner" else getattr(planner, name)
    module = sys.modules[getattr(thing, "__module__", name)]
    # Of the docstring of the name alone; an example imports what it needs.
    found = doctest.DocTestFinder(recurse=False).find(thing, name, module, globs={})
    assert any(each.examples for each in found)
    for each in found:
        assert doctest.DocTestRunner().run(each).failed == 0


def test_the_surface_is_what_the_readme_says():
    readme = (ROOT / "README.md").read_text("utf-8")
    listed = readme.partition("`from planner import …` offers")[2].partition(". ")[0]
    assert sorted(re.findall(r"`(\w+)`", listed)) == sorted({*OFFERED, "Plan"})
