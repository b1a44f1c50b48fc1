"""The data files that ship with the planner, in presets/: where they are, and their rows."""

import csv
import tomllib
from pathlib import Path

PRESETS = Path(__file__).resolve().parent.parent / "presets"


def rows(name: str) -> list[dict[str, str]]:
    """A CSV file of presets/ by its path below it, a dict of texts a row."""
    with open(PRESETS / name, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def toml(name: str) -> dict:
    """A TOML file of presets/ by its path below it."""
    with open(PRESETS / name, "rb") as file:
        return tomllib.load(file)


def text(name: str) -> str:
    """A text file of presets/ by its path below it."""
    return (PRESETS / name).read_text("utf-8")
