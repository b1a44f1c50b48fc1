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
    """A kind of tower: how to count it, and the names and defaults of its fields.

    part: the object of the file that describes it. usual: whether every such model has one.
    """

    count: Callable
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    defaults: Mapping[str, int] = field(default_factory=dict)
    part: str = "vision_config"
    usual: bool = True

    def parameters(self, around, hidden):
        """Parameters of the part in `around`; 0 without one."""
        table = around.table(self.part)
        if table is None:
            if self.usual:
                tower = self.part.removesuffix("_config")
                around.notes.append(f"The file has no {self.part}, so no {tower} tower is counted.")
            return 0
        fields = Fields(table, self, f"{self.part}.", around.used, around.notes)
        return self.count(fields, hidden)


def siglip(fields, hidden):
    """Gemma 3: every matrix with a bias, learned positions, one projection."""
    layers, width, inner = sizes(fields)
    patch, image = fields.count("patch_size"), fields.count("image_size")
    block = 4 * width * (width + 1) + 2 * width * inner + inner + width + 4 * width
    patches = COLOURS * patch**2 * width + width + (image // patch) ** 2 * width
    return layers * block + patches + 2 * width + width * hidden + width


def qwen(fields, hidden, gated=False):
    """Qwen-VL: four neighbouring patches merged into one token, also at the deep-stack layers."""
    layers, width, inner = sizes(fields)
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
    layers, width, inner = sizes(fields)
    patch, image = fields.count("patch_size"), fields.count("image_size")
    adapter, out = fields.count("projector_input_dim"), fields.count("projector_output_dim")
    block = 4 * width * (width + 1) + 2 * width * inner + inner + width + 4 * width
    patches = COLOURS * patch**2 * width + ((image // patch) ** 2 + 2) * width
    return layers * block + patches + 4 * width + 4 * width * adapter + adapter * out + out * hidden


def pixtral(fields, hidden):
    """Pixtral in Mistral 3: gated feed-forward, four patches merged, two projections."""
    layers, width, inner = sizes(fields)
    patch = fields.count("patch_size")
    block = 4 * width**2 + 3 * width * inner + 2 * width
    joined = 4 * width * width + width * hidden + hidden * hidden
    return layers * block + COLOURS * patch**2 * width + 2 * width + joined


def moonvit(fields, hidden):
    """MoonViT in Kimi: learned two-dimensional positions, four patches merged."""
    layers, width, inner = sizes(fields)
    rows, columns = fields.count("rows"), fields.count("columns")
    block = 4 * width * (width + 1) + 2 * width * inner + inner + width + 4 * width
    patches = COLOURS * fields.count("patch_size") ** 2 * width + width + rows * columns * width
    merge = 4 * width
    return layers * block + patches + 4 * width + merge * (merge + 1) + merge * hidden + hidden


def gemma4(fields, hidden):
    """Gemma 4: gated feed-forward, learned positions for rows and columns, one projection."""
    layers, width, inner = sizes(fields)
    block = 4 * width**2 + 3 * width * inner + 4 * width
    positions = 2 * fields.count("position_embedding_size") * width
    patches = COLOURS * fields.count("patch_size") ** 2 * width
    return layers * block + positions + patches + width * hidden


def glm(fields, hidden):
    """GLM-4.5V: feed-forward of the output's width, a convolution and a gated block to join."""
    layers, width, inner = sizes(fields)
    patch, image = fields.count("patch_size"), fields.count("image_size")
    cells = COLOURS * fields.count("temporal_patch_size") * patch**2
    block = 4 * width**2 + 3 * width * hidden + 2 * width
    patches = cells * width + (image // patch) ** 2 * width
    join = fields.count("spatial_merge_size") ** 2 * width * hidden
    return layers * block + patches + join + hidden**2 + 3 * hidden * inner


def qwen2_vl(fields, hidden):
    """Qwen2-VL: plain blocks four times as wide inside, four patches merged into one."""
    layers, width = fields.count("layers"), fields.count("embed_dim")
    hidden = fields.number("hidden", hidden)  # what comes out; the tower's own is embed_dim
    merge = fields.number("spatial_merge_size", 2) ** 2 * width
    cells = COLOURS * fields.number("temporal_patch_size", 2) * fields.count("patch_size") ** 2
    block = plain_block(width, int(width * fields.share("mlp_ratio", 4)))
    return layers * block + cells * width + 2 * width + merge * (merge + 1) + (merge + 1) * hidden


def clip(fields, hidden):
    """CLIP in LLaVA: a class token, learned positions, two projections."""
    layers, width, inner = sizes(fields)
    patch, image = fields.count("patch_size"), fields.count("image_size")
    patches = COLOURS * patch**2 * width + ((image // patch) ** 2 + 1) * width
    return layers * plain_block(width, inner) + patches + 5 * width + two_matrices(width, hidden)


def internvit(fields, hidden):
    """InternViT: scaled residuals, bias on queries, keys and values by a flag, pixels shuffled."""
    layers, width, inner = sizes(fields)
    patch, image = fields.count("patch_size"), fields.count("image_size")
    block = plain_block(width, inner) + 2 * width - (0 if fields.flag("qkv_bias") else 3 * width)
    patches = COLOURS * patch**2 * width + ((image // patch) ** 2 + 3) * width
    return layers * block + patches + 8 * width + two_matrices(4 * width, hidden)


def minimax(fields, hidden):
    """MiniMax-M3: CLIP's blocks on patches of two frames, four patches merged."""
    layers, width, inner = sizes(fields)
    cells = COLOURS * 2 * fields.count("patch_size") ** 2
    joined = two_matrices(width, hidden) + two_matrices(4 * hidden, hidden)
    return layers * plain_block(width, inner) + cells * width + 2 * width + joined


def step(fields, hidden):
    """Step 3: scaled residuals, and two convolutions that halve the picture each."""
    layers, width, inner = sizes(fields)
    patch, image = fields.count("patch_size"), fields.count("image_size")
    patches = COLOURS * patch**2 * width + (image // patch) ** 2 * width + 2 * width
    halving = 9 * (2 * width**2 + 8 * width**2) + 6 * width
    return (
        layers * (plain_block(width, inner) + 2 * width) + patches + halving + (4 * width * hidden)
    )


def glm_gated(fields, hidden):
    """GLM-OCR and GLM-5.3-Flash: gated blocks with biases and normed heads, no positions."""
    layers, width, inner = sizes(fields)
    out = fields.count("out_hidden_size")
    block = plain_block(width, inner) + width * inner + inner - 2 * width
    block += 2 * (width // fields.count("num_heads"))
    cells = COLOURS * fields.count("temporal_patch_size") * fields.count("patch_size") ** 2
    join = fields.count("spatial_merge_size") ** 2 * width * out + out
    join += out**2 + 2 * out + 3 * out * fields.number("projection_intermediate_size", 3 * out)
    return layers * block + cells * width + 2 * width + join


def moonvit3(fields, hidden):
    """MoonViT in Kimi K3: no biases, heads wider than the hidden state, learned positions."""
    layers, width, inner = sizes(fields)
    rows, columns = fields.count("rows"), fields.count("columns")
    block = 4 * width * fields.count("qkv_hidden_size") + 2 * width * inner + 2 * width
    patches = COLOURS * fields.count("patch_size") ** 2 * width + rows * columns * width
    merge = 4 * width
    return layers * block + patches + 2 * width + merge * (merge + hidden)


def deepseek(fields, hidden):
    """DeepSeek-V4.1: gated blocks without biases, nine patches merged."""
    layers, width, inner = sizes(fields)
    block = 4 * width**2 + 3 * width * inner + 2 * width
    merged = fields.count("downsample_ratio") ** 2 * width
    patches = COLOURS * fields.count("patch_size") ** 2 * width
    return layers * block + patches + 2 * width + merged * hidden + hidden


def mobilenet(fields, hidden):
    """MobileNet-V5 in Gemma 3n, of one size: what checkpoints hold beside text and sound."""
    width = fields.number("hidden", 2048)
    return 325_588_032 + width * (hidden + 129)


def muse(fields, hidden):
    """Muse Glimmer: plain blocks, learned positions, four patches merged, three matrices."""
    layers, width, inner = sizes(fields)
    cells = COLOURS * fields.number("patch_temporal", 2) * fields.count("patch_size") ** 2
    rows, join = fields.number("max_position_embeddings", 1024), fields.number("adapter", 4096)
    merged = fields.number("merge_size", 2) ** 2 * width
    adapter = merged * join + join**2 + join * hidden
    return layers * plain_block(width, inner) + (cells + rows + 4) * width + adapter


def patches_alone(fields, hidden):
    """Gemma 4 12B: no tower; patches are embedded by one matrix and projected by another."""
    side = fields.count("patch_size") * fields.number("pooling_kernel_size", 3)
    cells, width = COLOURS * side**2, fields.count("mm_embed_dim")
    rows = 2 * fields.number("mm_posemb_size", 1120)
    return rows * width + 2 * cells + width * (cells + 5) + width * hidden


def small(fields, hidden):
    """Inkling: a stack of matrices over patches, too small and too little known to be counted."""
    fields.notes.append("The vision tower is not counted.")
    return 0


def sizes(fields):
    return fields.count("layers"), fields.count("hidden"), fields.count("intermediate")


def plain_block(width, inner):
    """A transformer block with a bias on every matrix and on both norms."""
    return 4 * width * (width + 1) + 2 * width * inner + inner + width + 4 * width


def two_matrices(width, hidden):
    """Two matrices with their biases, as projectors have them."""
    return width * hidden + hidden + hidden**2 + hidden


_DEPTH = {"layers": ("depth",)}
_QWEN3 = Tower(qwen, _DEPTH)
_KIMI = {
    "layers": ("vt_num_hidden_layers", "num_hidden_layers"),
    "hidden": ("vt_hidden_size", "hidden_size"),
    "intermediate": ("vt_intermediate_size", "intermediate_size"),
    "rows": ("init_pos_emb_height", "pos_emb_height"),
    "columns": ("init_pos_emb_width", "pos_emb_width"),
}

# The model_type of the whole file -> what turns its pictures into tokens.
PICTURES = {
    "deepseek_v41": Tower(deepseek),
    "gemma3": Tower(siglip),
    "gemma3n": Tower(mobilenet),
    "gemma4": Tower(gemma4),
    "gemma4_unified": Tower(patches_alone),
    "glm4v": Tower(glm, _DEPTH),
    "glm4v_moe": Tower(glm, _DEPTH),
    "glm5_next": Tower(glm_gated, _DEPTH),
    "glm_ocr": Tower(glm_gated, _DEPTH),
    "inkling_mm_model": Tower(small),
    "internvl": Tower(internvit),
    "internvl_chat": Tower(internvit),
    "kimi_k25": Tower(moonvit, _KIMI),
    "kimi_k3": Tower(moonvit3, _KIMI),
    "kimi_vl": Tower(moonvit, _KIMI),
    "llama4": Tower(llama4),
    "llava": Tower(clip),
    "llava_next": Tower(clip),
    "minimax_m3_vl": Tower(minimax),
    "ministral3": Tower(pixtral),
    "mistral3": Tower(pixtral),
    "muse_glimmer": Tower(muse),
    "qwen2_vl": Tower(qwen2_vl, _DEPTH),
    "qwen2_5_vl": Tower(qwen_gated, _DEPTH),
    "qwen2_5_omni": Tower(qwen_gated, _DEPTH),
    "qwen3_vl": _QWEN3,
    "qwen3_vl_moe": _QWEN3,
    "qwen3_omni_moe": _QWEN3,
    "qwen3_5": _QWEN3,
    "qwen3_5_moe": _QWEN3,
    "qwen4_exp": _QWEN3,
    "step3p7": Tower(step),
}
