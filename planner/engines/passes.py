"""One pass of a serving engine: a short sum of operations, each with constants of its kernel.

One *pass* sends m tokens through the model, one of each of N requests that decode and perhaps some
of prompts that arrive. Its parts are

    matrices + experts + cache + attention within prompts + sums between devices + launches + host;

an operation reads while it multiplies (`Kernel.seconds`). What kernels lose against the data sheet
was measured on single kernels (presets/kernel_shares.csv); fitted on whole steps are the few
numbers of `Host`, one set for all serving engines. Seconds, bytes, FLOPs; every figure may be a
number or an array, arrays broadcast. `engines.timing` makes steps and first tokens of passes.
"""

from dataclasses import dataclass, replace

import numpy as np

from planner import formulas

LAUNCH_VECTOR_FLOPS = 67e12  # FP32 rate of an H100, at which launches are stated
# An overhead that a person states for the device is stated at this FP32 rate.
REFERENCE_VECTOR_FLOPS = 30e12
# The part of its memory's bandwidth that a host's processor reaches, and by what factor it may be
# off. Assumed, no source states it: gpt-oss 120B with the experts of all 36 layers on hosts of 96
# and 205 GB/s decodes 25 tokens a second (https://github.com/ikawrakow/ik_llama.cpp/pull/829,
# https://github.com/ggml-org/llama.cpp/pull/15157), which comes to 0.3 and 0.6.
HOST_SHARE, HOST_BAND = 0.55, 1.8
# Tokens of a pass from which llama.cpp copies weights to a device instead of leaving the products
# to the processor. Source: https://github.com/ggml-org/llama.cpp, ggml-cuda.cu, offload_op
LEAST_COPIED = 32


@dataclass(frozen=True)
class Work:
    """What a model and a load ask of one device of a tensor group; pipeline stages add up.

    layers: all of them; mixers: those with attention or a recurrence, each of mixer_matrices
    products; feeds: those with a feed-forward part. dense_: matrices of all layers but routed
    experts; head_: the output head; expert_: all routed experts here, of which a token takes
    `taken` of `experts`. groups: data-parallel groups, whose tokens meet at the experts; a part of
    one where not all have as many requests.
    cache_bytes: of one request at its context; attention_flops: of one token over it;
    latent_flops: those that its kernel cannot hide, of latent attention. prompt_tokens: that no
    cached prefix spares; prompt_flops: attention within one prompt. devices: of the tensor group;
    stages: of the pipeline. peak, expert_peak: of the formats multiplied; peak16: at 16 bits;
    half_sum_peak: where sums are kept at 16 bits too. link: one way, bytes/s. vector_flops: FP32
    without matrix units; launch_scale: how much longer a launch takes than on an H100.
    other_vendor: whether not NVIDIA's. host_: what is in host memory, where the processor reads it
    at host_bandwidth and from where host_link leads to the devices, bytes/s.
    """

    layers: float
    mixers: float
    mixer_matrices: float
    feeds: float
    width: float
    dense_bytes: float
    dense_parameters: float
    head_bytes: float
    head_parameters: float
    expert_bytes: float
    expert_parameters: float
    experts: float
    taken: float
    groups: float
    cache_bytes: float
    attention_flops: float
    latent_flops: float
    prompt_tokens: float
    prompt_flops: float
    devices: float
    stages: float
    bandwidth: float
    peak: float
    expert_peak: float
    peak16: float
    half_sum_peak: float
    link: float
    vector_flops: float
    launch_scale: float
    other_vendor: float
    host_dense_bytes: float = 0.0
    host_expert_bytes: float = 0.0
    host_cache_bytes: float = 0.0
    host_bandwidth: float = np.inf
    host_link: float = np.inf

    @property
    def taken_share(self):
        """The part of the routed experts that one token takes."""
        return self.taken / np.maximum(self.experts, 1)

    @property
    def parameters(self):
        """Those that multiply each token of text, of this device's part."""
        routed = self.expert_parameters * self.groups * self.taken_share
        return self.dense_parameters + self.head_parameters + routed

    @property
    def prefill_flops(self):
        """FLOPs of a whole prompt here; only its last token meets the head."""
        body = self.parameters - self.head_parameters
        return 2 * body * self.prompt_tokens + 2 * self.head_parameters + self.prompt_flops

    def expert_read_bytes(self, tokens):
        """Bytes of the routed experts that so many tokens of each group read between them."""
        covered = 1 - (1 - self.taken_share) ** (tokens * self.groups)
        return self.expert_bytes * covered

    def host_weights_bytes(self, tokens):
        """Bytes of the weights in host memory that so many tokens read between them."""
        if not np.any(self.host_expert_bytes):
            return self.host_dense_bytes  # the power below is what a search would spend most on
        covered = 1 - (1 - self.taken_share) ** (tokens * self.groups)
        return self.host_dense_bytes + self.host_expert_bytes * covered

    def host_read_s(self, read_bytes):
        """Reading so much of host memory at its part of the bandwidth, seconds."""
        return formulas.read_seconds(read_bytes, HOST_SHARE * self.host_bandwidth)

    def read_bytes(self, tokens):
        """Bytes of the weights that a pass over so many tokens of each group reads."""
        return self.dense_bytes + self.head_bytes + self.expert_read_bytes(tokens)

    def together(self, prompts):
        """The same work with so many prompts read as one batch."""
        tokens, flops = self.prompt_tokens * prompts, self.prompt_flops * prompts
        return replace(self, prompt_tokens=tokens, prompt_flops=flops)

    def ideal_step_s(self, requests, covered_power=1.0, each=1):
        """The lesson's formula: every weight and cache read once, at full bandwidth.

        covered_power: by which tokens count where experts are drawn, `each` of every request.
        """
        tokens = np.asarray(requests * each, float) ** covered_power
        step = formulas.decode_step_seconds(
            self.read_bytes(tokens), requests * self.cache_bytes, self.bandwidth
        )
        left = self.host_weights_bytes(tokens) + requests * self.host_cache_bytes
        return step + formulas.read_seconds(left, self.host_bandwidth)


@dataclass(frozen=True)
class Kernel:
    """What an operation reaches; a row of presets/kernel_shares.csv.

    launch_us: least time of one launch. bandwidth_share, peak_share: parts of the data sheet's
    bandwidth and of the format's own peak. overlap: the p of `formulas.joined_seconds`.
    """

    launch_us: float
    bandwidth_share: float
    peak_share: float
    overlap: float

    def reading_s(self, read_bytes, bandwidth):
        """Reading at its part of the bandwidth."""
        return formulas.read_seconds(read_bytes, self.bandwidth_share * bandwidth)

    def seconds(self, read_bytes, flops, bandwidth, peak):
        """Reading joined with arithmetic, each at its part; launches are counted apart."""
        arithmetic = formulas.compute_seconds(flops, self.peak_share * peak)
        return formulas.joined_seconds(
            self.reading_s(read_bytes, bandwidth), arithmetic, self.overlap
        )


@dataclass(frozen=True)
class Kernels:
    """The operations of one plan: products in the weights' format, the head and routers at 16 bits,
    experts, attention of one token over the cache, attention within prompts; and the sum over the
    devices: its latency and the part of the link it reaches."""

    matrix: Kernel
    head: Kernel
    experts: Kernel
    cache: Kernel
    prompt: Kernel
    total: Kernel


@dataclass(frozen=True)
class Host:
    """What whole steps take beside their kernels, fitted (presets/timing.csv).

    launch_factor: launches of a layer in those that its kernels show by themselves (norms,
    rotations, routing and quantising run between the products). step_us: once a step. request_us:
    each request (sampling, scheduling, detokenising). expert_layer_us: more in a layer with experts
    (choosing them, shared ones, adding up). pass_layer_us: least time a layer of a pass with
    prompts, which no captured graph fits. vendor_factor: how much longer the kernels of another
    vendor than NVIDIA take, whose kernels were measured.
    layer_us, tensor_layer_us: a layer's launches and its sums where a person has set them;
    device_layer_us: what is added to a layer on a device of REFERENCE_VECTOR_FLOPS.
    """

    launch_factor: float
    step_us: float
    request_us: float
    expert_layer_us: float
    pass_layer_us: float
    vendor_factor: float = 1.0
    layer_us: float | None = None
    tensor_layer_us: float | None = None
    device_layer_us: float = 0.0


@dataclass(frozen=True)
class PassTime:
    """One pass, seconds, as the sum of its parts (arrays where the inputs were).

    weights_s, experts_s: reading joined with arithmetic, of which reading_s is what reading alone
    would take. prompts_s: attention within the prompts of this pass.
    """

    weights_s: float
    experts_s: float
    cache_s: float
    prompts_s: float
    sums_s: float
    launches_s: float
    host_s: float
    reading_s: float

    @property
    def total_s(self):
        """Length of the pass: time between two tokens of one request."""
        multiplied = self.weights_s + self.experts_s + self.prompts_s
        return multiplied + self.cache_s + self.sums_s + self.launches_s + self.host_s

    def parts(self) -> list[tuple[str, float]]:
        """The parts by the names that charts give them, in drawing order; seconds."""
        multiplied = self.weights_s + self.experts_s + self.prompts_s
        return [
            ("weights", self.reading_s),
            ("cache", self.cache_s),
            ("compute", multiplied - self.reading_s),
            ("overhead", self.launches_s + self.host_s + self.sums_s),
        ]


@dataclass(frozen=True)
class PrefillTime:
    """One prompt, or one batch of them, up to its first token: seconds, as the sum of its parts."""

    compute_s: float
    floor_s: float  # what does not grow with the prompt: reading, launches, the interface
    link_s: float

    @property
    def total_s(self):
        """Time to first token of an idle engine."""
        return self.compute_s + self.floor_s + self.link_s


def pass_time(
    work: Work, kernels: Kernels, host: Host, tokens, decoding, prompts, each=1
) -> PassTime:
    """A pass over `tokens` tokens: `each` of every of `decoding` requests, the rest of prompts.

    prompts: how many, or a part of one: 0.25 is a quarter of its attention. each: more than one
    where guesses are checked.
    """
    times = np.where(work.other_vendor, host.vendor_factor, 1.0)
    has_experts = np.greater(work.experts, 0)
    bandwidth, routed_bytes = work.bandwidth, work.expert_read_bytes(tokens)
    routed = work.expert_parameters * work.taken_share * work.groups
    body = kernels.matrix.seconds(
        work.dense_bytes, 2 * work.dense_parameters * tokens, bandwidth, work.peak
    )
    last = decoding * each + prompts  # only the last token of a prompt meets the head
    head = kernels.head.seconds(
        work.head_bytes, 2 * work.head_parameters * last, bandwidth, work.peak16
    )
    experts = kernels.experts.seconds(
        routed_bytes, 2 * routed * tokens, bandwidth, work.expert_peak
    )
    left_s = work.host_read_s(work.host_weights_bytes(tokens))
    reading = (
        kernels.matrix.reading_s(work.dense_bytes, bandwidth)
        + kernels.head.reading_s(work.head_bytes, bandwidth)
        + kernels.experts.reading_s(routed_bytes, bandwidth)
    )
    cache = kernels.cache.seconds(
        decoding * work.cache_bytes, decoding * each * work.latent_flops, bandwidth, work.peak16
    )
    attended = formulas.compute_seconds(
        prompts * work.prompt_flops, kernels.prompt.peak_share * work.peak16
    )
    return PassTime(
        weights_s=times * (body + head) + left_s,
        experts_s=times * np.where(has_experts, experts, 0.0),
        cache_s=times * cache + work.host_read_s(decoding * work.host_cache_bytes),
        prompts_s=times * attended,
        sums_s=times * _sums_s(work, kernels, host, tokens),
        launches_s=times * _launches_s(work, kernels, host),
        host_s=(host.step_us + host.request_us * decoding) * 1e-6,
        reading_s=times * reading + left_s,
    )


def _sums_s(work, kernels, host, tokens):
    """After attention over the tensor group; after the feed-forward part over all who share it.

    That is the tensor group too, but where data-parallel groups share experts: then the tokens of
    all groups are gathered and their sums scattered, which sends what one sum over all would.
    """
    shared = np.where(np.greater(work.experts, 0), work.groups, 1)
    if host.tensor_layer_us is not None:
        each = np.where(np.greater(work.devices * shared, 1), host.tensor_layer_us * 1e-6, 0.0)
        return formulas.layer_overhead_seconds(work.layers, each)
    latency = kernels.total.launch_us * 1e-6 * work.launch_scale
    link = kernels.total.bandwidth_share * work.link
    half = 0.5 * work.layers  # one of the two sums of a layer each
    return sum(
        formulas.tensor_sums_seconds(
            half, work.width, tokens * groups, work.devices * groups, latency, link
        )
        for groups in (1, shared)
    )


def _launches_s(work, kernels, host):
    """Least times of a layer's launches, on a device of this speed."""
    has_experts = np.greater(work.experts, 0)
    mixer = work.mixer_matrices * kernels.matrix.launch_us + kernels.cache.launch_us
    routed = kernels.head.launch_us + kernels.experts.launch_us
    feed = np.where(has_experts, routed, 2 * kernels.matrix.launch_us)
    launches_us = host.launch_factor * (work.mixers * mixer + work.feeds * feed)
    launches_us = launches_us + work.feeds * np.where(has_experts, host.expert_layer_us, 0.0)
    launches_us = work.launch_scale * launches_us
    if host.layer_us is not None:
        set_us = host.layer_us + np.where(has_experts, host.expert_layer_us, 0.0)
        launches_us = work.layers * set_us
    added_us = formulas.device_scaled_seconds(
        host.device_layer_us, work.vector_flops, REFERENCE_VECTOR_FLOPS
    )
    return (launches_us + work.layers * added_us) * 1e-6
