"""The floors: imports go down only, and each library stays where it may be used.

The floors are those of the README's table under “The house”, so that the two cannot differ.
"""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FILES = sorted((ROOT / "planner").rglob("*.py"))
# Where each library may be imported, a path or its beginning; the rest of the planner needs NumPy
# and the standard library alone. pyarrow is what Streamlit draws from.
PLACES = {
    "streamlit": ("pages/",),
    "pyarrow": ("pages/",),
    "altair": ("charts/", "evidence/charts.py", "lesson/charts", "sizing/charts"),
    "pandas": ("charts/", "compare/", "evidence/", "lesson/", "maintain/kernel", "pages/"),
    "starlette": ("web/",),
    "anyio": ("web/",),
    "vl_convert": ("reports/renderer.py",),
    "huggingface_hub": ("models/hub.py",),
    "segno": ("pages/network.py",),
}


def floors():
    """Floor by the place it is named for: a folder of planner/ or a file in it."""
    readme = (ROOT / "README.md").read_text("utf-8")
    table = readme.partition("## The house")[2].partition("\n## ")[0]
    found = {}
    for number, places in re.findall(r"^\| (\d+) \| (.+?) \|", table, re.MULTILINE):
        for place in re.findall(r"`(.+?)`", places):
            found[place.removeprefix("planner/").strip("/").removesuffix(".py")] = int(number)
    return found


FLOORS = floors()


def inside(path):
    return path.relative_to(ROOT / "planner")


def place(path):
    return inside(path).parts[0].removesuffix(".py")


def imported(path):
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: write imports in full"
            yield node.module
            yield from (f"{node.module}.{name.name}" for name in node.names)


def test_the_readme_names_every_place_once():
    here = {place(path) for path in FILES if place(path) not in ("__init__", "__pycache__")}
    assert set(FLOORS) - {"app"} == here


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(inside(path)))
def test_imports_go_down_only(path):
    own = place(path)
    if own == "__init__":
        return
    for name in imported(path):
        parts = name.split(".")
        if parts[0] == "planner" and len(parts) > 1 and parts[1] in FLOORS and parts[1] != own:
            assert FLOORS[parts[1]] < FLOORS[own], f"{inside(path)} imports {name}"


def test_no_folder_has_a_circle():
    graph = {path: set() for path in FILES}
    modules = {".".join(inside(path).with_suffix("").parts): path for path in FILES}
    for path in FILES:
        for name in imported(path):
            found = modules.get(name.removeprefix("planner."))
            if found not in (None, path) and path.name != "__init__.py":
                graph[path].add(found)
    while leaves := [path for path, needs in graph.items() if not needs]:
        for leaf in leaves:
            del graph[leaf]
        for needs in graph.values():
            needs.difference_update(leaves)
    assert not graph, sorted(map(str, map(inside, graph)))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(inside(path)))
def test_each_library_has_its_place(path):
    for name in imported(path):
        for start in PLACES.get(name.split(".")[0], [""]):
            if inside(path).as_posix().startswith(start):
                break
        else:
            pytest.fail(f"{inside(path)} imports {name}")


def test_what_maintainers_run_is_imported_by_nothing_else():
    users = [inside(p) for p in FILES if any(n.startswith("planner.maintain") for n in imported(p))]
    assert {path.parts[0] for path in users} == {"maintain"}


@pytest.mark.parametrize(
    "module", ["planner", "planner.answer", "planner.logs.from_log", "planner.models.config"]
)
def test_plans_need_numpy_alone(module):
    libraries = {name for name in PLACES if name != "vl_convert"}
    code = f"import {module}, sys; print(*({libraries} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert (done.stdout.strip(), done.stderr) == ("", "")


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(inside(path)))
def test_files_can_be_read_at_one_sitting(path):
    assert len(path.read_text("utf-8").splitlines()) <= 400
