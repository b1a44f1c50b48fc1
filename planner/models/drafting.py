"""A drafter: what guesses the next tokens, for the model itself to check them all in one pass.

Three kinds, each made into a Model of what one guess runs through, so that its weights, its cache
and its time are worked out as any model's:

- “mtp”: the multi-token prediction layers that came with the model, like its own layers, with two
  widths of input made one; embedding and head are the model's own
  (DeepSeek-AI 2024, https://arxiv.org/abs/2412.19437, section 2.2);
- “eagle”: an EAGLE-3 head, one layer like the model's own that reads two widths, a matrix that
  makes one width of three, and a head of its own over 32,000 tokens
  (Li et al. 2025, https://arxiv.org/abs/2503.01840); of a model with experts the layer is taken to
  be as large as what one token passes;
- any other model.
"""

from dataclasses import dataclass, replace

from planner.models.model import ENDLESS, Model

MTP, EAGLE = "mtp", "eagle"
NAMES = {"": "none", MTP: "MTP layers", EAGLE: "EAGLE-3 head"}
EAGLE_VOCABULARY = 32_000
EAGLE_FORMAT = "fp16"


@dataclass(frozen=True)
class Drafter:
    """What guesses. model: of one guess. copies: so many of them are resident. shares_head: whether
    its head is the model's own and needs no room."""

    model: Model
    copies: int = 1
    shares_head: bool = False


def drafter(model: Model, kind: str, other: Model | None = None) -> Drafter:
    """The drafter of a kind for a model; `other` is the model that drafts where it is one."""
    if other is not None:
        return Drafter(other)
    body = (
        model.parameters
        - model.embedding_parameters
        - model.head_parameters
        - model.vision_parameters
        - model.host_parameters
        - model.expert_parameters
    )
    width, group = model.width, _like_most(model)
    if kind == MTP:
        experts = round(model.expert_parameters / model.layers)
        own = round(body / model.layers) + 2 * width**2 + model.head_parameters + experts
        made = replace(
            model,
            id=MTP,
            groups=(group,),
            parameters=own,
            embedding_parameters=0,
            vision_parameters=0,
            host_parameters=0,
            expert_parameters=experts,
            draft_layers=0,
            file_bytes=None,
        )
        return Drafter(made, copies=max(model.draft_layers, 1), shares_head=True)
    passed = (model.active_parameters - model.head_parameters) / model.layers
    heads = group.query_heads * group.query_dim + group.kv_heads * (group.key_dim + group.value_dim)
    head = EAGLE_VOCABULARY * width
    made = Model(
        EAGLE,
        "EAGLE-3 head",
        (group,),
        parameters=round(passed) + width * heads + 3 * width**2 + head,
        head_parameters=head,
        width=width,
        dtype=EAGLE_FORMAT,
    )
    return Drafter(made)


def _like_most(model):
    """One layer of the kind that keeps most of a long text."""
    most = max(
        model.groups, key=lambda each: (each.kv_heads > 0, each.span, each.bytes_per_token())
    )
    return replace(most, layers=1)


def refusal(model: Model, kind: str, pipeline: int) -> str:
    """Why a model has no drafter of this kind, a clause; “” where it can have one."""
    if not kind:
        return ""
    if pipeline > 1:
        return "which stage of a pipeline holds a drafter is not known here"
    if kind == MTP and not model.draft_layers:
        return "the model has no multi-token prediction layers"
    if kind == EAGLE and not (model.width and _like_most(model).span == ENDLESS):
        return "the width of the model, or a layer of full attention, is not known"
    return ""
