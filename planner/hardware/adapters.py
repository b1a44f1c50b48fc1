"""LoRA adapters beside a model: what a slot for one holds on each device.

An engine sets slots apart when it starts, each for an adapter of the largest rank r on every matrix
of the layers: a matrix from m to n numbers has an r × m and an n × r one beside it, at 16 bits.
Nearly every matrix of a layer has the model's width w on one side, so one of P numbers gets
r · (P / w + w). Devices that split matrices split the longer side alone; the other is whole on each
of them, as vLLM has it where its adapters are not fully sharded:
https://github.com/vllm-project/vllm/blob/v0.34.0/vllm/lora/layers/column_parallel_linear.py

What is assumed: four matrices of attention and three of a feed-forward layer, in every layer; every
routed expert has adapters of its own; none on the embedding or the output head.
"""

MATRICES = 7  # queries, keys, values, output; gate, up, down
EXPERT_MATRICES = 3


def refusal(model, slots):
    """Why there can be no adapters beside a model, a clause; “” where there can."""
    return "the width of the model is not known" if slots and not model.width else ""


def _adapter_bytes(rank, parameters, matrices, width):
    """16 bits of r (P / w + n w): Hu et al. 2021, https://arxiv.org/abs/2106.09685."""
    return 2 * rank * (parameters / width + matrices * width)


def slot_bytes(model, layout, layers, rank):
    """Bytes of one slot on each device of a stage with so many of the model's layers."""
    share = layers / model.layers
    dense = _adapter_bytes(
        rank, model.dense_parameters * share / layout.tensor, MATRICES * layers, model.width
    )
    experts = _adapter_bytes(
        rank,
        model.expert_parameters * share / layout.stage_devices,
        EXPERT_MATRICES * layers * model.experts / layout.expert,
        model.width,
    )
    return dense + experts
