"""A Hugging Face config.json -> Model, with what was read and what was assumed; or a refusal.

An architecture is known by its row in `families.FAMILIES`. One that has no row is refused by name,
with what to do next: a guess would look like an answer. So is a known one whose file says something
of its layers that nobody here reads.
"""

import json
from collections import Counter
from dataclasses import dataclass, replace

from planner.models.architectures import encoders, storage
from planner.models.architectures.beside import Beside
from planner.models.architectures.families import FAMILIES
from planner.models.architectures.family import Family
from planner.models.architectures.feeds import feed_forward
from planner.models.architectures.fields import Fields, Refusal
from planner.models.architectures.refused import REASONS, layout_left_over
from planner.models.architectures.sound import SOUNDS
from planner.models.architectures.storage import Part
from planner.models.architectures.towers import PICTURES
from planner.models.model import MAX_NAME, Model
from planner.models.notation import model_to_text, shorten
from planner.units import GIGA

__all__ = ["Reading", "Refusal", "read_config"]

MAX_BYTES = 4_000_000
NESTED = ("text_config", "llm_config", "language_config")
NEXT = "fill the layers in by hand (Another model…), or take the nearest model of the list"


@dataclass(frozen=True)
class Reading:
    """A model and how it was read.

    used: each field that was read, with its value. ignored: the fields that do not bear on size.
    notes: what was assumed where the file is silent, one sentence each.
    """

    model: Model
    used: dict[str, object]
    ignored: tuple[str, ...]
    notes: tuple[str, ...]


def read_config(
    text: str | bytes, name: str = "", file_bytes: int | None = None, quantization: str = ""
) -> Reading:
    """Read the text of a config.json. Raises Refusal, a ValueError, and nothing else.

    name: what to call the model; without one it is called by its architecture and size.
    file_bytes: size of the published weights where it is known. quantization: the text of the
    hf_quant_config.json that stands beside some config.json, which is where its weights are told.
    """
    outer, twice = _parse(text)
    outer = _with_quantization(_writer_of(outer), quantization)
    nested = next((key for key in NESTED if isinstance(outer.get(key), dict)), None)
    inner = outer[nested] if nested else outer
    outer_type, family_type = _type(outer), _type(inner) or _type(outer)
    if family_type in encoders.ENCODERS:
        raise Refusal(encoders.refusal(family_type, Fields(inner, Family())))
    family = _family(outer, outer_type, family_type, nested)
    tables = [inner[name] for name in family.inside if isinstance(inner.get(name), dict)]
    inner = {**inner, **{key: value for table in tables for key, value in table.items()}}
    towers = [found[outer_type] for found in (PICTURES, SOUNDS) if outer_type in found]
    fields = Fields(inner, family, prefix=f"{nested}." if nested else "")
    fields.notes.extend(
        f"“{key}” stands in the file more than once; the last value counts." for key in twice
    )
    around = Fields(outer, family, used=fields.used, notes=fields.notes) if nested else fields
    towered = nested or any(tower.part in outer for tower in towers)
    try:
        model = _model(fields, around, family, towers if towered else ())
        model = replace(model, file_bytes=file_bytes or model.file_bytes)
        title = name or f"{family_type} {model.parameters / GIGA:.3g}B"
        model = replace(model, name=shorten(title, MAX_NAME))
    except Refusal:
        raise
    except ValueError as problem:  # the limits that a model and its layers check themselves
        raise Refusal(f"{family_type}: {problem}.") from None
    model = replace(model, id=model_to_text(model))
    if unread := layout_left_over(fields):
        raise Refusal(
            f"{family_type}: {', '.join(unread)} would change the layers in a way that is not "
            f"known of this architecture; {NEXT}."
        )
    ignored = fields.left_over() + (around.left_over() if nested else ())
    ignored = tuple(key for key in ignored if key != nested)
    fields.notes.extend(
        f"{key} is not counted: the tower it describes is not known here."
        for key in ("vision_config", "audio_config")
        if key in ignored and outer[key]
    )
    return Reading(model, dict(fields.used), ignored, tuple(dict.fromkeys(fields.notes)))


def _parse(text):
    """The object, and the names that stand in one of its objects more than once."""
    if len(text) > MAX_BYTES:
        raise Refusal(f"This is {len(text):,} bytes; a config.json has at most {MAX_BYTES:,}.")
    twice = []

    def unique(pairs):
        counts = Counter(key for key, _ in pairs)
        twice.extend(shorten(key) for key, many in counts.items() if many > 1)
        return dict(pairs)

    try:
        plain = text.removeprefix("\ufeff") if isinstance(text, str) else text
        found = json.loads(plain, object_pairs_hook=unique)
    except RecursionError:
        raise Refusal("This is nested too deeply for a config.json.") from None
    except ValueError as problem:
        raise Refusal(f"This is not JSON: {shorten(str(problem), 100)}.") from None
    if not isinstance(found, dict):
        raise Refusal("This is JSON, but not an object with named fields.")
    return found, tuple(dict.fromkeys(twice))


def _writer_of(outer):
    """The part of an omni model that reads and writes text, which serving engines load alone."""
    thinker = outer.get("thinker_config")
    if not isinstance(thinker, dict):
        return outer
    kept = {key: value for key, value in outer.items() if not key.endswith("_config")}
    return {**kept, **thinker, "model_type": outer.get("model_type"), "omni": True}


def _with_quantization(outer, text):
    """The file with what hf_quant_config.json says, where it says nothing itself."""
    if not text or outer.get("quantization_config"):
        return outer
    try:
        beside, _ = _parse(text)
    except Refusal as refusal:
        raise Refusal(f"hf_quant_config.json: {refusal}") from None
    return {**outer, "quantization_config": beside}


def _family(outer, outer_type, family_type, nested):
    """The row for a file's layers; Refusal, with the next step, where there is none."""
    if not family_type or not outer_type:
        named = outer.get("architectures")
        what = f"; architectures says {shorten(repr(named))}" if named else ""
        raise Refusal(
            f"This file has no model_type, so its architecture is unknown{what}; add the "
            "model_type that the model's page shows."
        )
    for kind in (outer_type, family_type):
        if kind in REASONS:
            raise Refusal(f"{kind}: {REASONS[kind]}")
    family, holds = FAMILIES.get(family_type), outer_type in PICTURES or outer_type in SOUNDS
    if not family and not nested and holds:
        raise Refusal(f"{family_type}: text_config is missing, and it says what the layers are.")
    if not family:
        raise Refusal(
            f"The architecture “{shorten(family_type)}” is not known here. What is missing is how "
            f"its layers store keys and values; {NEXT}."
        )
    if nested and not holds:
        raise Refusal(
            f"The architecture “{shorten(outer_type)}” is not known here as one that holds a "
            "text_config. What is missing is what it adds to the text model; to plan that alone, "
            f"paste what stands in its {nested}."
        )
    return family


def _type(config):
    kind = config.get("model_type")
    return kind if isinstance(kind, str) else ""


def _model(fields, around, family, towers):
    """Add up the layers and everything beside them."""
    hidden = fields.number("hidden")
    vocabulary = fields.number("vocabulary")
    norm = hidden * (2 if family.norms_with_bias else 1)
    groups, feeds, parts = _layers(fields, family, norm)
    more = family.beside(fields) if family.beside else Beside()

    matrix = vocabulary * hidden
    tied = fields.flag("tie_word_embeddings", around.flag("tie_word_embeddings", family.tied))
    positions = fields.number("context") + family.positions if family.positions is not None else 0
    seen = sum(tower.parameters(around, hidden) for tower in towers)
    draft = fields.number("draft_layers", 0)
    if draft:
        fields.notes.append(
            f"{draft} draft layer{'s' if draft > 1 else ''} (multi-token prediction) left out: "
            "only speculative decoding loads and caches them."
        )
    if around.values.get("omni"):
        fields.notes.append(
            "The thinker alone is planned, which writes text; what speaks (talker, code2wav) is "
            "not counted."
        )
    parts += [
        Part("embedding", None, matrix + more.embedding + positions * hidden),
        Part("head", None, 0 if tied else matrix),
        Part("small", None, norm + more.parameters),
        Part("towers", None, seen + more.reading),
    ]
    counted = sum(part.parameters for part in parts)
    dtype, stored_bytes = storage.weight_format(fields, around, parts)
    return Model(
        id="config",
        name="config",
        groups=groups,
        parameters=counted + more.host,
        embedding_parameters=(0 if tied else matrix) + more.embedding,
        head_parameters=matrix,
        vision_parameters=seen + more.reading,
        expert_parameters=sum(part.parameters for part in parts if part.kind == "experts"),
        host_parameters=more.host,
        experts=max((feed.experts for feed in feeds), default=0),
        experts_per_token=max((feed.per_token for feed in feeds), default=0),
        draft_layers=draft,
        width=hidden,
        expert_width=max((feed.inner for feed in feeds), default=0),
        max_context=fields.number("context", None),
        dtype=dtype,
        file_bytes=stored_bytes,
    )


def _layers(fields, family, norm):
    """Groups of alike layers, what each kind of feed-forward holds, and every part."""
    stack = family.stack(fields)
    changes = fields.overrides(len(stack))
    every = family.norms * norm + (family.every(fields) if family.every else 0)
    mixers = {
        (kind, own): family.mixer(kind)(fields.overlaid(own), kind)
        for (kind, _), own in dict.fromkeys(zip(stack, changes, strict=True))
    }
    feeds = {kind: feed_forward(fields, kind) for _, kind in dict.fromkeys(stack)}
    groups, parts = Counter(), []
    for layer, ((kind, feed), own) in enumerate(zip(stack, changes, strict=True)):
        group, count = mixers[kind, own]
        groups[group] += 1
        found = feeds[feed]
        parts += [
            Part("mixer", layer, count),
            Part("dense", layer, found.dense),
            Part("shared", layer, found.shared),
            Part("experts", layer, found.routed),
            Part("small", layer, every + found.small),
        ]
    alike = tuple(replace(group, layers=many) for group, many in groups.items())
    return alike, feeds.values(), [part for part in parts if part.parameters]
