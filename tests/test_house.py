"""The floors: imports go down only, and each library stays on the floors that may use it."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FLOORS = ["formulas", "accelerator", "model", "notation", "precision", "parallel", "engine",
          "latency", "architectures", "config", "hub", "presets", "logs", "reconcile",
          "measurements", "fit", "calibration", "pool_fit", "link", "settings", "scenario",
          "plan", "serving", "words", "mistakes", "answer", "worked", "log_names", "from_log",
          "sweep", "bars", "accuracy", "memory_accuracy", "evidence", "evidence_words",
          "evidence_drawings", "question", "comparison", "differences", "comparison_drawings",
          "predict", "lesson", "charts", "charts_accuracy", "lesson_charts", "comparison_charts",
          "strict", "report", "comparison_report", "commands", "__main__", "painter", "pictures",
          "report_page", "comparison_page", "preview", "openapi", "api", "pages"]  # fmt: skip
# The lowest module that may import each library; NumPy and the standard library are free to all.
FIRST = {"pandas": "sweep", "altair": "charts", "streamlit": "pages", "starlette": "api"}
FILES = sorted((ROOT / "planner").rglob("*.py"))


def imported(path):
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: write imports in full"
            yield node.module
            yield from (f"{node.module}.{name.name}" for name in node.names)


def floor(path):
    part = path.relative_to(ROOT / "planner").parts[0].removesuffix(".py")
    return FLOORS.index(part)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_go_down_only(path):
    if path.name == "__init__.py":
        return
    for name in imported(path):
        parts = name.split(".")
        if parts[0] == "planner" and len(parts) > 1 and parts[1] in FLOORS:
            assert FLOORS.index(parts[1]) <= floor(path), f"{path.name} imports {name}"
        if parts[0] in FIRST:
            assert floor(path) >= FLOORS.index(FIRST[parts[0]]), f"{path.name} imports {name}"


def test_altair_and_streamlit_have_one_place_each():
    using = {
        library: {path.relative_to(ROOT).parts[1] for path in FILES if library in imported(path)}
        for library in ("altair", "streamlit")
    }
    drawing = {"charts.py", "charts_accuracy.py", "comparison_charts.py", "lesson_charts.py"}
    assert using == {"altair": drawing, "streamlit": {"pages"}}


def test_the_planner_is_imported_without_the_libraries_of_the_upper_floors():
    code = f"import planner, sys; print(*({set(FIRST)} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert (done.stdout.strip(), done.stderr) == ("", "")


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_files_can_be_read_at_one_sitting(path):
    assert len(path.read_text("utf-8").splitlines()) <= 400
