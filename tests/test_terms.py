"""The field's terms: words that were replaced come back in no text that a reader meets."""

import ast
import csv
import re

import pytest

from tests.browser import ROOT

TABLES = ("engines", "scenarios", "comparisons", "log_examples", "engine_vendors")
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef)


def replaced():
    with open(ROOT / "tests/data/words.csv", newline="", encoding="utf-8") as file:
        return [(row["never"], row["instead"]) for row in csv.DictReader(file)]


def literals(source):
    """The text literals of a Python source, less its docstrings."""
    tree = ast.parse(source)
    bodies = [node.body for node in ast.walk(tree) if isinstance(node, DOCUMENTED)]
    documents = {id(body[0].value) for body in bodies if body and isinstance(body[0], ast.Expr)}
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and id(node) not in documents
    ]


def texts():
    """Every text that a reader meets, by where it is: on screen, in reports, in the README."""
    found = {"README.md": (ROOT / "README.md").read_text("utf-8")}
    for path in sorted((ROOT / "planner").rglob("*.py")):
        found[str(path)] = " ¦ ".join(literals(path.read_text("utf-8")))
    shipped = [ROOT / "presets" / f"{name}.csv" for name in TABLES]
    shipped += (ROOT / "presets").rglob("*.toml")
    shipped += (ROOT / "planner/pages/components").glob("*.[hj]*")
    return found | {str(path): path.read_text("utf-8") for path in shipped}


TEXTS = {where: re.sub(r"\s+", " ", text) for where, text in texts().items()}


@pytest.mark.parametrize(("never", "instead"), replaced())
def test_replaced_words_do_not_come_back(never, instead):
    word = re.compile(rf"\b{re.escape(never)}(?!\w)", re.IGNORECASE)
    found = [
        f"{where}: …{text[max(0, hit.start() - 30) : hit.end() + 30]}…"
        for where, text in TEXTS.items()
        for hit in word.finditer(text)
    ]
    assert not found, f"“{never}” is now “{instead}”"


def test_texts_are_read_and_docstrings_are_not():
    assert literals('"""Doc."""\ndef f(x):\n    """Doc."""\n    return f"one {x} two"') == [
        "one ",
        " two",
    ]
    assert len(TEXTS) > 150
