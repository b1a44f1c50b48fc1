"""How many bits a weight and a cached element take, and what the weights weigh.

A format of weights does not store everything at one width: scales come on top of the bits in its
name, and the embedding, the output head and the norms mostly stay wider. Each row of
presets/precisions.csv says so for four kinds of matrices.
"""

from dataclasses import dataclass

import numpy as np

CHECKPOINT = "size of the checkpoint, by its files or what its config says of each part"


@dataclass(frozen=True)
class WeightFormat:
    """One way to store weights, in bits per weight with its scales; a row of the presets.

    expert_bits: matrices of routed experts. body_bits: every other one of the layers, the norms
    with them (too small to count apart). embedding_bits: the input embedding where it is a matrix
    of its own. head_bits: the output head; a head tied to the embedding is stored as a head.
    kernel, expert_kernel: the format of presets/kernel_shares.csv by which the layers' matrices and
    the experts are multiplied. note: what it consists of and what stays wide. confidence: high,
    medium or low.
    """

    id: str
    name: str
    body_bits: float
    expert_bits: float
    embedding_bits: float
    head_bits: float
    kernel: str
    expert_kernel: str
    note: str
    confidence: str
    source: str


@dataclass(frozen=True)
class CacheFormat:
    """One way to store keys or values, in bits per element with its scales; a row of the presets.

    Keys and values may take different ones. index_bits: of an element of a sparse-attention
    indexer's key, which goes by the format of keys. latent_dim: of which width the latents are that
    it stores, 0 for any keys and values.
    """

    id: str
    name: str
    bits: float
    index_bits: float
    latent_dim: float
    note: str
    confidence: str
    source: str

    @property
    def bytes(self):
        """Bytes per element, for formulas.kv_bytes_per_token."""
        return self.bits / 8

    @property
    def index_bytes(self):
        """Bytes per element of an indexer's key."""
        return self.index_bits / 8


@dataclass(frozen=True)
class Weights:
    """Bytes of the weights by kind of matrix. The five kinds on devices add up to the total.

    host: beside the total, tables that engines keep in host memory.

    `measured`: the total is the size of the real file; the kinds are then the estimate's, scaled to
    it. `estimate` is what the format gives, in either case.
    """

    body: float
    experts: float
    embedding: float
    head: float
    vision: float
    total: float
    estimate: float
    measured: bool
    host: float = 0.0

    @property
    def basis(self):
        """What the total is, in words for the screen."""
        return CHECKPOINT if self.measured else "estimated from the format"


def stored_bytes(parameters, bits):
    """Bytes of weights stored at so many bits each, scales included: P · bits / 8."""
    return parameters * bits / 8


def weight_bytes(
    parameters,
    weight_format: WeightFormat,
    *,
    embedding_parameters=0,
    head_parameters=0,
    expert_parameters=0,
    vision_parameters=0,
    host_parameters=0,
    file_bytes=None,
) -> Weights:
    """Bytes of a model's weights in a format; numbers or arrays that broadcast.

    parameters: all of them, the parts included. embedding_parameters: the input embedding
    where it is a matrix of its own, else 0. head_parameters: the output head, also where it is tied
    to the embedding. expert_parameters: all routed experts of all layers. vision_parameters: what
    reads pictures, stored like the layers. host_parameters: tables on no device, stored like the
    layers. file_bytes: size of the real checkpoint in this very format, where known, or what its
    config says of each part; it wins over the estimate, since files hold what a parameter count
    does not show (draft layers, a second copy of a tied head, norms at 32 bits). Raises ValueError
    where the parts are more than the whole.
    """
    parts = (
        embedding_parameters,
        head_parameters,
        expert_parameters,
        vision_parameters,
        host_parameters,
    )
    body = parameters - sum(parts)
    if np.any(np.less(body, 0)):
        raise ValueError("the parts hold more parameters than the whole model")
    parts = {
        "body": stored_bytes(body, weight_format.body_bits),
        "experts": stored_bytes(expert_parameters, weight_format.expert_bits),
        "embedding": stored_bytes(embedding_parameters, weight_format.embedding_bits),
        "head": stored_bytes(head_parameters, weight_format.head_bits),
        "vision": stored_bytes(vision_parameters, weight_format.body_bits),
    }
    estimate = sum(parts.values())
    host = stored_bytes(host_parameters, weight_format.body_bits)
    if file_bytes is None:
        return Weights(**parts, total=estimate, estimate=estimate, measured=False, host=host)
    ratio = file_bytes / (estimate + host)
    scaled = {name: part * ratio for name, part in parts.items()}
    return Weights(
        **scaled,
        total=file_bytes - host * ratio,
        estimate=estimate,
        measured=True,
        host=host * ratio,
    )
