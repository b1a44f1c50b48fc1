"""Films and scenes as a browser reads them, for tests."""

import base64
import copy
import json

import numpy as np
import pandas as pd
import pyarrow as pa


def sent(page) -> dict:
    """What the Plan page sends to its stage."""
    (stage,) = [
        each.proto
        for each in page.get("bidi_component")
        if each.proto.component_name == "planner_stage"
    ]
    return json.loads(stage.json)


def shown(page) -> dict:
    """The scene on the stage of the Plan page."""
    return at(sent(page)["film"], 0)


def at(film: dict, stop: int) -> dict:
    """The scene at one stop of a film."""
    scene = copy.deepcopy(film["base"])
    for path, values in film["vary"].items():
        _place(scene, path, values[stop])
    for path, runs in film["runs"].items():
        _place(scene, path, [text for text, times in runs for _ in range(times)])
    for path, column in film["columns"].items():
        numbers = np.frombuffer(base64.b64decode(column["packed"]), "<f4")
        lengths = column["lengths"]
        if isinstance(lengths, list):
            numbers = numbers[sum(lengths[:stop]) : sum(lengths[: stop + 1])]
        _place(scene, path, numbers)
    return scene


def _place(scene, path, value):
    *steps, last = path.split("/")
    for step in steps:
        scene = scene[int(step) if isinstance(scene, list) else step]
    scene[int(last) if isinstance(scene, list) else last] = value


def figures(page) -> dict[str, str]:
    """The figures on the stage by their labels."""
    scene = shown(page)
    return {each["label"]: each["value"] for each in [*scene["cards"], *scene["quiet"]]}


def notes(page) -> dict[str, str]:
    """What each figure on the stage is: its band or its kind, by its id."""
    scene = shown(page)
    return {each["id"]: each["note"] for each in [*scene["cards"], *scene["quiet"]]}


def drawn(page, alt: str) -> dict[str, pd.DataFrame]:
    """The data of one of Streamlit's own charts, as it is sent to the browser, by its words."""
    for element in page.get("vega_lite_chart"):
        sets = {each.name: each.data.data for each in element.proto.datasets}
        if alt == element.proto.alt:
            return {name: pa.ipc.open_stream(d).read_pandas() for name, d in sets.items()}
    raise AssertionError(f"no chart {alt}")


def frames(page, title: str) -> dict[str, pd.DataFrame]:
    """The data of one chart on the stage."""
    told = sent(page)["rest"]["sentences"]
    (chart,) = [each for each in shown(page)["charts"] if each["title"] == title]
    found = {name: pd.DataFrame(columns) for name, columns in chart["data"].items()}
    for name, texts in told[chart["id"]].items():
        found[name]["sentence"] = texts
    return found
