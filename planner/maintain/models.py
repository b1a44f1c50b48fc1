"""Makes presets/models.csv from the config.json files in configs/.

    python -m planner.maintain.models

writes it, and outcomes.csv, what became of each of those files. configs.csv names the files that
become presets, with where each was read, its parameters as built and as published, the size of its
published weights where known, and what was added to a file whose copy lacks a field. variants.csv
names models that differ from one of those files in a few numbers, with the total that proves the
numbers and, where that is not on the model's own page, where it was read. The list on screen is
ranked: the lesson's models, then by how often the models that a preset stands for were downloaded
(`popular`).
"""

import csv
import io
import json

from planner.files import PRESETS
from planner.maintain import popular
from planner.models.config import Refusal, read_config
from planner.models.model import LayerGroup, Model
from planner.models.notation import model_to_text
from planner.units import GIGA

HERE = popular.HERE


def lesson_models():
    """The two 7B models of the lesson: its round figures, not any file's."""
    for kind, kv_heads in (("GQA", 8), ("MHA", 32)):
        yield Model(
            id=f"lesson-7b-{kind.lower()}",
            name=f"Lesson 7B, {kind}",
            groups=(LayerGroup(32, 32, kv_heads, 128, 128),),
            parameters=7 * GIGA,
            width=4096,
            source=f"the lesson: 14 GB of weights at 16 bits; {kv_heads} key-value heads",
        )


rows = popular.rows


def changed(row, changes):
    """The model of a row's file with some fields added or replaced."""
    values = json.loads((HERE / "configs" / row["file"]).read_bytes()) | changes
    size = int(row["file_bytes"]) if row.get("file_bytes") else None
    return read_config(json.dumps(values), row["preset_name"], size).model


def table() -> str:
    """The text of presets/models.csv."""
    first = [("id", "name", "model", "source")]
    for model in lesson_models():
        first.append((model.id, model.name, model_to_text(model), model.source))
    lines = []
    for row in rows("configs.csv"):
        if row["preset_id"]:
            missing = json.loads(row["completion"] or "{}")
            source = f"config.json of {row['model_id']}: {row['source']}"
            source += f"; {', '.join(missing)} added" if missing else ""
            text = model_to_text(changed(row, missing))
            lines.append((row["preset_id"], row["preset_name"], text, source))
    for row in rows("variants.csv"):
        total = row["total"] or "its total as published"
        source = f"https://huggingface.co/{row['model_id']}: the shape, {total}"
        text = model_to_text(changed(row, json.loads(row["changes"])))
        lines.append((row["preset_id"], row["preset_name"], text, source))
    asked = popular.by_preset({id: source for id, _, _, source in lines})
    return written(first + sorted(lines, key=lambda line: -asked[line[0]]))


def outcomes() -> str:
    """The text of outcomes.csv: what becomes of each file as it stands."""
    lines = [("file", "outcome", "model", "percent_off", "remark")]
    for row in rows("configs.csv"):
        text = (HERE / "configs" / row["file"]).read_bytes()
        try:
            model = read_config(text, row["model_id"]).model
        except Refusal as refusal:
            lines.append((row["file"], "refused", "", "", str(refusal)))
            continue
        built = int(row["built_parameters"] or 0)
        off = f"{100 * (model.parameters / built - 1):.4f}" if built else ""
        lines.append((row["file"], "read", model.id, off, row["remark"]))
    return written(lines)


def written(lines) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(lines)
    return text.getvalue()


if __name__ == "__main__":
    (PRESETS / "models.csv").write_text(table(), encoding="utf-8")
    (HERE / "outcomes.csv").write_text(outcomes(), encoding="utf-8")
