"""The lists that searches look through: every name leads to one choice, and none leads nowhere."""

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from planner import files
from planner.inputs import choices, presets
from planner.inputs.choices import packed
from planner.logs import identify
from planner.web import api

KNOWN = {
    "model": presets.models,
    "device": presets.accelerators,
    "weights": presets.weight_formats,
}


@pytest.mark.parametrize("kind", KNOWN)
def test_everything_can_be_chosen_and_no_own_name_means_two(kind):
    found = choices.choices(kind)
    assert {each["id"] for each in found} == {*KNOWN[kind]()}
    names = [(key, each["id"]) for each in found for key in each["keys"]]
    assert len({key for key, _ in names}) == len(names)
    for each in found:
        assert packed(each["id"]) in each["keys"]
        assert packed(each["name"]) in each["keys"]
        assert each["note"]


def test_no_other_name_leads_nowhere_or_to_two():
    rows = files.rows("other_names.csv")
    assert all(row["id"] in KNOWN[row["kind"]]() for row in rows)
    assert len({(row["kind"], packed(row["name"])) for row in rows}) == len(rows)


def test_the_most_used_come_first():
    devices = [each["id"] for each in choices.choices("device")]
    assert devices.index("h100-sxm") < devices.index("h100-nvl")
    assert devices.index("rtx-4090") < devices.index("m40-24")
    models = [each["id"] for each in choices.choices("model")]
    assert models == list(presets.models())


@pytest.mark.parametrize("kind", [*KNOWN])
def test_the_list_is_answered_over_http(kind):
    client = TestClient(Starlette(routes=api.routes()))
    answered = client.get(f"/api/choices/{kind}")
    assert answered.json() == [*choices.choices(kind)]
    assert client.get("/api/choices/nothing").status_code == 404


def test_models_of_one_shape_have_their_own_published_name():
    for id, hub in (
        ("llama-3.3-70b", "meta-llama/Llama-3.3-70B-Instruct"),
        ("llama-3.1-70b", "meta-llama/Llama-3.1-70B"),
        ("deepseek-r1", "deepseek-ai/DeepSeek-R1"),
    ):
        assert choices.published(presets.model(id).source) == hub
        assert identify.model_names()[identify.plain(hub)] == id
