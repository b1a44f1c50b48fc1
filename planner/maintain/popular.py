"""Which of the models that people download have no preset, and what to do about each.

    python -m planner.maintain.popular

popular.csv has the most downloaded models that write text, as PyPI package llmfit 1.1.17 listed the
hub in October 2026. A model has a preset where its name, without words on tuning and storage, is a
preset's, that of the config it was read from, or one in presets/model_aliases.csv.
"""

import csv
from collections import Counter
from itertools import islice
from pathlib import Path

from planner.logs.identify import model_names, names_of, plain
from planner.models.architectures.encoders import ENCODERS
from planner.models.architectures.families import FAMILIES
from planner.models.architectures.refused import REASONS
from planner.models.architectures.sound import SOUNDS
from planner.models.architectures.towers import PICTURES

HERE = Path(__file__).resolve().parent
MOST_SHOWN = 100


def rows(name):
    """A CSV file of this folder, a dict of texts a row."""
    with open(HERE / name, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def by_preset(sources) -> Counter:
    """Downloads of all popular models that each preset stands for; sources: preset id -> source."""
    known, found = names_of(sources), Counter()
    for row in rows("popular.csv"):
        if id := known.get(plain(row["model_id"])):
            found[id] += int(row["downloads"])
    return found


def missing():
    """Rows of popular models without a preset, the most downloaded first, each with what to do."""
    known = model_names()
    for row in rows("popular.csv"):
        if plain(row["model_id"]) not in known:
            yield row, _next(row["architecture"])


def _next(kind):
    if kind in REASONS or kind in ENCODERS:
        return "refused: nothing to add"
    if kind in FAMILIES or kind in PICTURES or kind in SOUNDS:
        return "known layout: an alias, or a config"
    return "unknown layout: a family first"


def main():
    for row, todo in islice(missing(), MOST_SHOWN):
        print(f"{int(row['downloads']):>12,}  {row['model_id']}  ({row['architecture']}): {todo}")


if __name__ == "__main__":
    main()
