"""The type of a recurrent state's elements, which engines let a person choose.

vLLM's --mamba-ssm-cache-dtype and SGLang's --mamba-ssm-dtype set it. The last inputs of a layer's
convolution keep their own type.
"""

from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

from planner.models.model import Model

AUTO = "auto"


class StateFormat(NamedTuple):
    """One type. bytes: of an element; 0 for that of the model's own file."""

    id: str
    name: str
    bytes: int


FORMATS = {
    each.id: each
    for each in (
        StateFormat(AUTO, "As the model's file says, else 32 bits", 0),
        StateFormat("float32", "32 bits (float32)", 4),
        StateFormat("bfloat16", "16 bits (bfloat16)", 2),
        StateFormat("float16", "16 bits (float16)", 2),
    )
}


def state_format(id: str) -> StateFormat:
    """The format with this id. ValueError, a plain sentence, where there is none."""
    if id not in FORMATS:
        raise ValueError(f"a state is stored as {', '.join(FORMATS)}")
    return FORMATS[id]


def refusal(model: Model, format: str) -> str:
    """Why a model's states cannot be stored so; “” where they can."""
    if format == AUTO or any(group.state_width for group in model.groups):
        return ""
    if not model.fixed_bytes:
        return "the model has no recurrent state"
    return "the type of this model's state is not one to choose, or its notation does not say it"


@lru_cache(maxsize=256)
def stored(model: Model, format: str) -> Model:
    """The model with its states in that format; of those whose type is fixed, as they are.

    A state of e elements of b bytes and a convolution's tail takes e · b + tail.
    """
    width = state_format(format).bytes
    if not width:
        return model
    return replace(model, groups=tuple(_wide(group, width) for group in model.groups))


def _wide(group, width):
    if not group.state_width:
        return group
    elements = (group.state_bytes - group.conv_bytes) // group.state_width
    return replace(group, state_bytes=elements * width + group.conv_bytes, state_width=width)
