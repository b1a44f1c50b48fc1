"""A Hugging Face config.json -> Model, with what was read and what was assumed; or a refusal.

An architecture is known by its row in `families.FAMILIES`. One that has no row is refused by name:
a guess would look like an answer.
"""

import json
from collections import Counter
from dataclasses import dataclass, replace

from planner.models.architectures import stacks
from planner.models.architectures.families import FAMILIES
from planner.models.architectures.fields import Fields, Refusal
from planner.models.architectures.storage import weight_format
from planner.models.architectures.vision import TOWERS
from planner.models.model import MAX_NAME, Model
from planner.models.notation import model_to_text, shorten
from planner.units import GIGA

__all__ = ["Reading", "Refusal", "read_config"]

MAX_BYTES = 4_000_000
NESTED = ("text_config", "llm_config", "language_config")


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


def read_config(text: str | bytes, name: str = "", file_bytes: int | None = None) -> Reading:
    """Read the text of a config.json. Raises Refusal, a ValueError, and nothing else.

    name: what to call the model; without one it is called by its architecture and size.
    file_bytes: size of the published weights where it is known.
    """
    outer = _parse(text)
    nested = next((key for key in NESTED if isinstance(outer.get(key), dict)), None)
    inner = outer[nested] if nested else outer
    outer_type, family_type = _type(outer), _type(inner) or _type(outer)
    if not family_type or not outer_type:
        named = outer.get("architectures")
        what = f"; architectures says {shorten(repr(named))}" if named else ""
        raise Refusal(f"This file has no model_type, so its architecture is unknown{what}.")
    family, tower = FAMILIES.get(family_type), TOWERS.get(outer_type)
    if not family and not nested and tower:
        raise Refusal(f"{family_type}: text_config is missing, and it says what the layers are.")
    if not family:
        raise Refusal(
            f"The architecture “{shorten(family_type)}” is not known here. What is missing is how "
            "its layers store keys and values; the layers can be filled in by hand."
        )
    if nested and not tower:
        raise Refusal(
            f"The architecture “{shorten(outer_type)}” is not known here as one that holds a "
            "text_config. What is missing is what it adds to the text model."
        )
    fields = Fields(inner, family, prefix=f"{nested}." if nested else "")
    around = Fields(outer, family, used=fields.used, notes=fields.notes) if nested else fields
    try:
        model = _model(
            fields, around, family, tower if nested or "vision_config" in outer else None
        )
        model = replace(model, file_bytes=file_bytes)
        title = name or f"{family_type} {model.parameters / GIGA:.3g}B"
        model = replace(model, name=shorten(title, MAX_NAME))
    except Refusal:
        raise
    except ValueError as problem:  # the limits that a model and its layers check themselves
        raise Refusal(f"{family_type}: {problem}.") from None
    model = replace(model, id=model_to_text(model))
    ignored = fields.left_over() + (around.left_over() if nested else ())
    ignored = tuple(key for key in ignored if key != nested)
    fields.notes.extend(
        f"{key} is not counted: the tower it describes is not known here."
        for key in ("vision_config", "audio_config")
        if key in ignored and outer[key]
    )
    return Reading(model, dict(fields.used), ignored, tuple(dict.fromkeys(fields.notes)))


def _parse(text):
    if len(text) > MAX_BYTES:
        raise Refusal(f"This is {len(text):,} bytes; a config.json has at most {MAX_BYTES:,}.")
    try:
        found = json.loads(text.removeprefix("\ufeff") if isinstance(text, str) else text)
    except RecursionError:
        raise Refusal("This is nested too deeply for a config.json.") from None
    except ValueError as problem:
        raise Refusal(f"This is not JSON: {shorten(str(problem), 100)}.") from None
    if not isinstance(found, dict):
        raise Refusal("This is JSON, but not an object with named fields.")
    return found


def _type(config):
    kind = config.get("model_type")
    return kind if isinstance(kind, str) else ""


def _model(fields, around, family, vision):
    """Add up the layers and everything beside them."""
    hidden = fields.number("hidden")
    vocabulary = fields.number("vocabulary")
    stack = family.stack(fields)
    kinds = Counter(kind for kind, _ in stack)
    norm = hidden * (2 if family.norms_with_bias else 1)
    groups, parameters = Counter(), norm  # the last one
    for kind, many in kinds.items():
        group, count = family.mixer(kind)(fields, kind)
        groups[group] += many
        parameters += many * count
    feeds = Counter(feed for _, feed in stack)
    dense, routed, experts, per_token = stacks.feed_forward(fields, feeds)
    parameters += dense + routed + family.norms * norm * len(stack)

    matrix = vocabulary * hidden
    tied = fields.flag("tie_word_embeddings", around.flag("tie_word_embeddings", family.tied))
    positions = fields.number("context") + family.positions if family.positions is not None else 0
    seen = vision.parameters(around, hidden) if vision else 0
    draft = fields.number("draft_layers", 0)
    if draft:
        fields.notes.append(
            f"{draft} draft layer{'s' if draft > 1 else ''} (multi-token prediction) left out: "
            "only speculative decoding loads and caches them."
        )
    return Model(
        id="config",
        name="config",
        groups=tuple(replace(group, layers=count) for group, count in groups.items()),
        parameters=parameters + (1 if tied else 2) * matrix + positions * hidden + seen,
        embedding_parameters=0 if tied else matrix,
        head_parameters=matrix,
        vision_parameters=seen,
        expert_parameters=routed,
        experts=experts,
        experts_per_token=per_token,
        draft_layers=draft,
        width=hidden,
        max_context=fields.number("context", None),
        dtype=weight_format(fields, around, experts > 0),
    )
