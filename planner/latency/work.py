"""What a plan asks of its devices, in the terms of the time model: one `Work`, and its kernels.

A plan and every measurement on the Accuracy page are timed by what these two functions make of a
model, its formats, a layout, a device and a load.
"""

from dataclasses import dataclass

from planner import formulas
from planner.engines.passes import LAUNCH_VECTOR_FLOPS, Kernels, Work
from planner.engines.timing import Shares, kernel_shares
from planner.hardware import parallel
from planner.hardware.accelerator import Accelerator
from planner.hardware.parallel import Layout
from planner.models.model import LayerGroup, Model
from planner.models.precision import CacheFormat, WeightFormat, Weights
from planner.units import GB, TERA

HEAD_WIDTHS = (64, 128, 256)  # for which attention was measured
PCIE_GB_S = 64  # a link up to here is PCIe
LEAST_LINK_GB_S = 32  # PCIe 4.0 of 16 lanes, where no source has a device's link
MOST_SUMMED = 8  # devices, for which sums were measured
LATENT_ROTATED = 64  # part of a latent key that no value is read from, in all published models
# Where no source has a device's FP32 rate: GeForce and Radeon cards do half of their 16-bit peak
# with sums in 32 bits, and these are whom engines that ask for it run on.
VECTOR_SHARE = 1 / 2
ANOTHER_VENDOR = ("AMD", "Intel", "Apple", "AWS", "Google")


@dataclass(frozen=True)
class Formats:
    """How weights and cache are stored: bytes of the weights, and the formats themselves."""

    weights: Weights
    stored: WeightFormat
    cache_k: CacheFormat
    cache_v: CacheFormat


@dataclass(frozen=True)
class Rates:
    """A device with the rates that a plan gives it: bytes/s, and FLOP/s at 16 bits."""

    device: Accelerator
    bandwidth: float
    peak: float

    def peak_of(self, unit):
        """FLOP/s in a format, fp16, fp8 or fp4; at 16 bits where the device has no such units."""
        own = getattr(self.device, f"{unit}_tflops")
        return self.peak * own / self.device.fp16_tflops if own else self.peak

    @property
    def half_sum(self):
        """FLOP/s at 16 bits with sums in 16 bits, which some cards do faster."""
        own = self.device.fp16_sum_tflops or self.device.fp16_tflops
        return self.peak * own / self.device.fp16_tflops

    @property
    def vector(self):
        """FLOP/s at 32 bits without matrix units."""
        known = self.device.vector_tflops
        return known * TERA if known else VECTOR_SHARE * self.peak

    @property
    def launch_scale(self):
        """How much longer a launch takes than on an H100; 1 where the device's rate is unknown."""
        if not self.device.vector_tflops:
            return 1.0
        return formulas.device_scaled_seconds(1.0, self.vector, LAUNCH_VECTOR_FLOPS)


@dataclass(frozen=True)
class Load:
    """Tokens of each request, of its prompt, and of those the ones that no cached prefix spares."""

    context: float
    prompt: float
    new: float


def work(model: Model, formats: Formats, layout: Layout, rates: Rates, load: Load) -> Work:
    """What the model asks of one device; arrays where the rates or the load have arrays."""
    tensor, weights = layout.tensor, formats.weights
    inner = (
        model.parameters
        - model.embedding_parameters
        - model.head_parameters
        - model.vision_parameters
        - model.host_parameters
        - model.expert_parameters
    )
    mixing = [group for group in model.groups if group.kind != "none"]
    idle = model.layers - sum(group.layers for group in mixing)
    latent = any(group.kind == "latent" for group in model.groups)
    return Work(
        layers=model.layers,
        mixers=sum(group.layers for group in mixing),
        mixer_matrices=5 if latent else 2,  # latent: two down, one absorbed more
        feeds=idle or model.layers,
        width=model.width,
        dense_bytes=weights.body / tensor,
        dense_parameters=inner / tensor,
        head_bytes=weights.head / tensor,
        head_parameters=model.head_parameters / tensor,
        expert_bytes=weights.experts / layout.stage_devices,
        expert_parameters=model.expert_parameters / layout.stage_devices,
        experts=model.experts,
        taken=model.experts_per_token,
        groups=layout.data,
        cache_bytes=_cache_bytes(model, formats, tensor, load.context),
        attention_flops=model.attention_flops(lambda g: g.attended(load.context)) / tensor,
        latent_flops=_latent_flops(model, load.context) / tensor,
        prompt_tokens=load.new,
        prompt_flops=model.attention_flops(
            lambda g: g.attended_pairs(load.prompt) - g.attended_pairs(load.prompt - load.new)
        )
        / tensor,
        devices=tensor,
        stages=layout.pipeline,
        **of_device(rates, formats),
    )


def of_device(rates: Rates, formats: Formats) -> dict[str, float]:
    """The fields of `Work` that are the device's own, whatever the model and the load."""
    device = rates.device
    matrix, experts = (_shares(device, each, formats) for each in ("matrix", "experts"))
    return {
        "bandwidth": rates.bandwidth,
        "peak": rates.peak_of(matrix.peak),
        "expert_peak": rates.peak_of(experts.peak),
        "peak16": rates.peak,
        "half_sum_peak": rates.half_sum,
        "link": (device.link_gb_s or LEAST_LINK_GB_S) * GB,
        "vector_flops": rates.vector,
        "launch_scale": rates.launch_scale,
        "other_vendor": device.vendor in ANOTHER_VENDOR,
    }


def _cache_bytes(model, formats, tensor, context):
    """Cache of one request on one device of each stage, added up."""
    found = 0.0
    for group in model.groups:
        own = parallel.device_group(group, tensor)
        for each, most in own.stores(formats.cache_k.bytes, formats.cache_v.bytes):
            found = found + each * formulas.cached_tokens(context, most)
        found = found + group.layers * float(parallel.state_bytes(group, tensor))
    return found


def _latent_flops(model, context):
    """FLOPs of one token's latent attention, on the latent itself as decoding has it."""
    return sum(
        formulas.attention_flops(
            group.layers,
            group.query_heads,
            group.key_dim,
            group.key_dim - LATENT_ROTATED,
            formulas.cached_tokens(context, group.span),
        )
        for group in model.groups
        if group.kind == "latent"
    )


def kernels(model: Model, formats: Formats, layout: Layout, device: Accelerator) -> Kernels:
    """The rows of presets/kernel_shares.csv that speak for a plan."""
    shares = kernel_shares()
    wide = max(formats.cache_k.bits, formats.cache_v.bits)
    stored = "8" if wide <= 8 else "16"  # kernels of smaller formats were not measured
    width = _head_width(model.groups)
    latent = any(group.kind == "latent" for group in model.groups)
    together = layout.tensor * (layout.data if model.experts else 1)
    summed = min(MOST_SUMMED, max(2, 1 << (together - 1).bit_length()))
    slow = "-pcie" if (device.link_gb_s or LEAST_LINK_GB_S) <= PCIE_GB_S else ""
    return Kernels(
        matrix=_shares(device, "matrix", formats).kernel,
        head=shares["matrix", "16"].kernel,
        experts=_shares(device, "experts", formats).kernel,
        cache=shares["latent-decode" if latent else f"attention-decode-{width}", stored].kernel,
        prompt=shares[f"attention-prompt-{width}", "16"].kernel,
        total=shares[f"all-reduce-{summed}{slow}", "16"].kernel,
    )


def _head_width(groups: tuple[LayerGroup, ...]):
    """The measured width of a head next to the model's widest."""
    widest = max((g.key_dim for g in groups if g.kind in ("full", "window")), default=128)
    return min(HEAD_WIDTHS, key=lambda each: abs(each - widest))


def _shares(device, operation, formats) -> Shares:
    """The kernel of the weights' products or experts, or what takes its place on this device."""
    name = formats.stored.kernel if operation == "matrix" else formats.stored.expert_kernel
    found = kernel_shares()[operation, name]
    if found.needs and not getattr(device, f"{found.needs}_tflops"):
        return kernel_shares()[operation, found.otherwise]
    return found
