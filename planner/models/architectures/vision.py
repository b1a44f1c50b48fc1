"""Parameters of the towers that turn pictures into tokens: resident, but no part of writing text.

Each function gets the fields of a vision_config and the text model's width, and gives the tower's
parameters with the projector that joins the two.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from planner.models.architectures.fields import Fields

COLOURS = 3


@dataclass(frozen=True)
class Tower:
    """A kind of tower: how to count it, and the names and defaults of its fields."""

    count: Callable
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    defaults: Mapping[str, int] = field(default_factory=dict)

    def parameters(self, around, hidden):
        """Parameters of the vision_config in `around`; 0 without one."""
        table = around.table("vision_config")
        if table is None:
            around.notes.append("The file has no vision_config, so no vision tower is counted.")
            return 0
        fields = Fields(table, self, "vision_config.", around.used, around.notes)
        return self.count(fields, hidden)


def _sizes(fields):
    return fields.count("layers"), fields.count("hidden"), fields.count("intermediate")


def siglip(fields, hidden):
    """Gemma 3: every matrix with a bias, learned positions, one projection."""
    layers, width, inner = _sizes(fields)
    patch, image = fields.count("patch_size"), fields.count("image_size")
    block = 4 * width * (width + 1) + 2 * width * inner + inner + width + 4 * width
    patches = COLOURS * patch**2 * width + width + (image // patch) ** 2 * width
    return layers * block + patches + 2 * width + width * hidden + width


def qwen(fields, hidden, gated=False):
    """Qwen-VL: four neighbouring patches merged into one token, also at the deep-stack layers."""
    layers, width, inner = _sizes(fields)
    merge = fields.count("spatial_merge_size") ** 2 * width
    matrices = 3 if gated else 2
    block = 4 * width * (width + 1) + matrices * width * inner + (matrices - 1) * inner + width
    mergers = 1 + len(fields.entries("deepstack_visual_indexes", int) or ())
    cells = COLOURS * fields.count("temporal_patch_size") * fields.count("patch_size") ** 2
    parameters = layers * (block + (2 if gated else 4) * width) + cells * width
    if gated:
        parameters += width
    else:  # a bias on the patches, learned positions, and norms of the merged width
        parameters += (1 + fields.count("num_position_embeddings") + 2) * width
        parameters += (mergers - 1) * 2 * merge
    return parameters + mergers * (merge * (merge + 1) + merge * hidden + hidden)


def qwen_gated(fields, hidden):
    return qwen(fields, hidden, gated=True)


def llama4(fields, hidden):
    """Llama 4: pixels shuffled four to one, a two-layer adapter, one projection."""
    layers, width, inner = _sizes(fields)
    patch, image = fields.count("patch_size"), fields.count("image_size")
    adapter, out = fields.count("projector_input_dim"), fields.count("projector_output_dim")
    block = 4 * width * (width + 1) + 2 * width * inner + inner + width + 4 * width
    patches = COLOURS * patch**2 * width + ((image // patch) ** 2 + 2) * width
    return layers * block + patches + 4 * width + 4 * width * adapter + adapter * out + out * hidden


def pixtral(fields, hidden):
    """Pixtral in Mistral 3: gated feed-forward, four patches merged, two projections."""
    layers, width, inner = _sizes(fields)
    patch = fields.count("patch_size")
    block = 4 * width**2 + 3 * width * inner + 2 * width
    joined = 4 * width * width + width * hidden + hidden * hidden
    return layers * block + COLOURS * patch**2 * width + 2 * width + joined


def moonvit(fields, hidden):
    """MoonViT in Kimi: learned two-dimensional positions, four patches merged."""
    layers, width, inner = _sizes(fields)
    rows, columns = fields.count("init_pos_emb_height"), fields.count("init_pos_emb_width")
    block = 4 * width * (width + 1) + 2 * width * inner + inner + width + 4 * width
    patches = COLOURS * fields.count("patch_size") ** 2 * width + width + rows * columns * width
    merge = 4 * width
    return layers * block + patches + 4 * width + merge * (merge + 1) + merge * hidden + hidden


def gemma4(fields, hidden):
    """Gemma 4: gated feed-forward, learned positions for rows and columns, one projection."""
    layers, width, inner = _sizes(fields)
    block = 4 * width**2 + 3 * width * inner + 4 * width
    positions = 2 * fields.count("position_embedding_size") * width
    patches = COLOURS * fields.count("patch_size") ** 2 * width
    return layers * block + positions + patches + width * hidden


def glm(fields, hidden):
    """GLM-4.5V: feed-forward of the output's width, a convolution and a gated block to join."""
    layers, width, inner = _sizes(fields)
    patch, image = fields.count("patch_size"), fields.count("image_size")
    cells = COLOURS * fields.count("temporal_patch_size") * patch**2
    block = 4 * width**2 + 3 * width * hidden + 2 * width
    patches = cells * width + (image // patch) ** 2 * width
    join = fields.count("spatial_merge_size") ** 2 * width * hidden
    return layers * block + patches + join + hidden**2 + 3 * hidden * inner


_DEPTH = {"layers": ("depth",)}
_QWEN3 = Tower(qwen, _DEPTH)
_KIMI = {
    "layers": ("vt_num_hidden_layers",),
    "hidden": ("vt_hidden_size",),
    "intermediate": ("vt_intermediate_size",),
}

# The model_type of the whole file -> its tower.
TOWERS = {
    "gemma3": Tower(siglip),
    "gemma4": Tower(gemma4),
    "glm4v_moe": Tower(glm, _DEPTH),
    "kimi_k25": Tower(moonvit, _KIMI),
    "llama4": Tower(llama4),
    "ministral3": Tower(pixtral),
    "mistral3": Tower(pixtral),
    "qwen2_5_vl": Tower(qwen_gated, _DEPTH),
    "qwen3_vl": _QWEN3,
    "qwen3_vl_moe": _QWEN3,
    "qwen3_5": _QWEN3,
    "qwen3_5_moe": _QWEN3,
}
