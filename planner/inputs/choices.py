"""What can be chosen for an input, under every name that people type for it: a list for a search.

A search compares names by their letters, digits and dots alone, so that “llama-3.3-70b”,
“Llama 3.3 70B” and “meta-llama/Llama-3.3-70B-Instruct” are found alike. The list is ranked by use:
models by downloads (the order of presets/models.csv), devices by how often they were measured.
"""

import re
from collections import Counter
from functools import cache

from planner import files
from planner.inputs import presets
from planner.units import GIGA

PUBLISHED = re.compile(r"(?:config\.json of |https://huggingface\.co/)([\w.-]+/[\w.-]+)")


def packed(name: str) -> str:
    """A name as it is compared: lower-case letters, digits and dots alone."""
    return re.sub(r"[^a-z0-9.]", "", name.lower())


def published(source: str) -> str:
    """The hub's id of the model that a source of figures speaks of; “” where it names none."""
    found = PUBLISHED.match(source)
    return found[1] if found else ""


def _models():
    for id, model in presets.models().items():
        hub = published(model.source)
        size = f"{model.parameters / GIGA:,.3g}B"
        yield id, model.name, size, (hub, hub.rpartition("/")[2])


def _devices():
    measured = Counter(row["device"] for row in files.rows("measurements/steps.csv"))
    devices = sorted(presets.accelerators().items(), key=lambda each: -measured[each[0]])
    for id, device in devices:
        size = f"{device.label_gb or device.memory_gb:g} GB, {device.bandwidth_gb_s:,.0f} GB/s"
        yield id, device.name, size, ()


def _weights():
    for id, stored in presets.weight_formats().items():
        yield id, stored.name, f"{stored.body_bits:.3g} bits", ()


KINDS = {"model": _models, "device": _devices, "weights": _weights}


@cache
def choices(kind: str) -> tuple[dict, ...]:
    """What can be chosen for `kind`, the most used first. KeyError for an unknown kind.

    Each is a dict: `id`; `name`, as it is shown; `note`, its size; `keys`, its own names as they
    are compared; `also`, names of others that stand for the same, as [name, name compared].
    """
    others = {}
    for id, name in _other_names(kind):
        others.setdefault(id, []).append(name)
    found = []
    for id, name, note, names in KINDS[kind]():
        keys = dict.fromkeys(packed(each) for each in (id, name, *names) if each)
        also = [[each, packed(each)] for each in others.get(id, ()) if packed(each) not in keys]
        found.append({"id": id, "name": name, "note": note, "keys": list(keys), "also": also})
    return tuple(found)


def _other_names(kind):
    if kind == "model":
        return [(row["model"], row["name"]) for row in files.rows("model_aliases.csv")]
    return [(r["id"], r["name"]) for r in files.rows("other_names.csv") if r["kind"] == kind]
