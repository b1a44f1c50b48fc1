"""How long an engine takes: its row of presets/calibration.csv applied to plain numbers.

The ideal engine is one more row: efficiency 1, no overhead, arithmetic that costs nothing beside
the reading. Every argument may be a number or an array; arrays broadcast. Seconds, bytes, FLOPs.
"""

from dataclasses import dataclass, fields, replace
from functools import cache

import numpy as np

from planner import formulas
from planner.files import rows
from planner.units import TERA

# An overhead that depends on the device is stated at this rate of FP32 arithmetic, FLOPs a second.
REFERENCE_VECTOR_FLOPS = 30e12


@dataclass(frozen=True)
class StepTime:
    """One decode step, seconds, as the sum of its parts (arrays where the inputs were)."""

    weights_s: float
    cache_s: float
    compute_s: float
    overhead_s: float
    tensor_s: float  # synchronising the devices of a tensor-parallel group
    prompts_s: float = 0.0  # other requests' prompts that share the step

    @property
    def total_s(self):
        """Length of the step: time between two tokens of one request."""
        return (
            self.weights_s
            + self.cache_s
            + self.compute_s
            + self.overhead_s
            + self.tensor_s
            + self.prompts_s
        )


@dataclass(frozen=True)
class PrefillTime:
    """One prompt, or one batch of them, up to its first token: seconds, as the sum of its parts."""

    compute_s: float
    floor_s: float  # reading every weight and starting every layer
    link_s: float

    @property
    def total_s(self):
        """Time to first token of an idle engine, without network and tokeniser."""
        return self.compute_s + self.floor_s + self.link_s


@dataclass(frozen=True)
class Timing:
    """One row of presets/calibration.csv: what an engine loses against the ideal formula.

    engine: its id; group: the engines it was fitted with (or "ideal").
    bandwidth_efficiency: part of the bandwidth reached. vector_flops_per_byte: FP32 work for each
    byte read, 0 for engines that use matrix units. compute_efficiency: part of the 16-bit peak
    reached in a decode step, with its share of prompts; infinite where arithmetic is left out.
    layer_us: overhead a layer; device_layer_us: the same, stated for REFERENCE_VECTOR_FLOPS and
    growing with the root of a device's slowness; expert_layer_us: more where layers hold experts;
    tensor_layer_us: more where devices split every layer. pass_layer_ms: fixed cost a layer of the
    prefill pass that shares a step.
    prefill_efficiency, link_efficiency: part of the peak and of the link reached in a prefill by
    itself; prefill_floor_steps: its fixed cost, in decode steps of one token without arithmetic.
    *_low, *_high: an interval of measured / predicted that holds 80 % of the measurements when
    their source is left out of the fit. *_band_from: whose measurements these are. Of a mix, dense
    models and those with experts have bands of their own.
    *_rows, *_sources: how many measurements and sources the constants were fitted on.
    """

    engine: str
    group: str
    bandwidth_efficiency: float = 1.0
    vector_flops_per_byte: float = 0.0
    compute_efficiency: float = np.inf
    layer_us: float = 0.0
    device_layer_us: float = 0.0
    expert_layer_us: float = 0.0
    tensor_layer_us: float = 0.0
    pass_layer_ms: float = 0.0
    prefill_efficiency: float = 1.0
    prefill_floor_steps: float = 0.0
    link_efficiency: float = np.inf
    decode_low: float = 1.0
    decode_high: float = 1.0
    decode_band_from: str = ""
    mix_low: float = 1.0
    mix_high: float = 1.0
    mix_band_from: str = ""
    mix_experts_low: float = 1.0
    mix_experts_high: float = 1.0
    mix_experts_band_from: str = ""
    prefill_low: float = 1.0
    prefill_high: float = 1.0
    prefill_band_from: str = ""
    step_rows: int = 0
    step_sources: int = 0
    prefill_rows: int = 0
    prefill_sources: int = 0
    fitted_on: str = ""

    def step(
        self,
        weights_bytes,
        cache_bytes,
        flops,
        layers,
        bandwidth,
        peak_flops,
        vector_flops=np.inf,
        devices=1,
        experts=False,
        tensor_parallel=False,
    ) -> StepTime:
        """One decode step of a whole batch.

        weights_bytes, cache_bytes: read in the step, on all devices together. flops: of the batch.
        bandwidth, peak_flops, vector_flops: of one device; the peak at 16 bit, whatever the weights
        are stored in. devices: how many work at the same time (all of a tensor-parallel group, one
        of a layer split). experts, tensor_parallel: whether layers hold experts, whether devices
        split every layer.
        """

        def read(amount):
            return formulas.limited_read_seconds(
                amount,
                bandwidth * devices,
                self.bandwidth_efficiency,
                vector_flops * devices,
                self.vector_flops_per_byte,
            )

        per_layer_us = (
            self.layer_us
            + formulas.device_scaled_seconds(
                self.device_layer_us, vector_flops, REFERENCE_VECTOR_FLOPS
            )
            + self.expert_layer_us * np.asarray(experts)
        )
        tensor_us = self.tensor_layer_us * np.asarray(tensor_parallel)
        return StepTime(
            weights_s=read(weights_bytes),
            cache_s=read(cache_bytes),
            compute_s=self._compute_s(flops, peak_flops, devices),
            overhead_s=formulas.layer_overhead_seconds(layers, per_layer_us * 1e-6),
            tensor_s=formulas.layer_overhead_seconds(layers, tensor_us * 1e-6),
        )

    def _compute_s(self, flops, peak_flops, devices):
        return formulas.compute_seconds(flops, self.compute_efficiency * peak_flops * devices)

    def mix(self, step, requests, output_tokens, prompt_flops, layers, peak_flops, devices=1):
        """The same step in a steady mix where each request that ends is replaced by a new prompt.

        step: of pure decoding. prompt_flops: of one prompt. output_tokens: of each request.
        """
        shared = formulas.steady_mix_step_seconds(
            0.0,
            formulas.prompts_per_step(requests, output_tokens),
            self._compute_s(prompt_flops, peak_flops, devices),
            formulas.layer_overhead_seconds(layers, self.pass_layer_ms * 1e-3),
        )
        return replace(step, prompts_s=shared)

    def prefill(self, flops, floor, peak_flops, devices=1, link_bytes=0.0, link=np.inf):
        """A prompt, or a batch of prompts, by itself.

        floor: `step` of one token without cache or FLOPs: what starting every layer and reading
        every weight costs. peak_flops: of one device, at 8 bit where 8-bit weights are multiplied
        as such. link_bytes, link: what a device sends, and how fast (one way).
        """
        efficient = self.prefill_efficiency * peak_flops * devices
        return PrefillTime(
            compute_s=formulas.compute_seconds(flops, efficient),
            floor_s=self.prefill_floor_steps * floor.total_s,
            link_s=formulas.read_seconds(link_bytes, self.link_efficiency * link),
        )


@cache
def timings() -> dict[str, Timing]:
    """Every row of presets/calibration.csv by its engine, in the order of the file."""
    kinds = {field.name: field.type for field in fields(Timing)}
    read = rows("calibration.csv")
    made = [Timing(**{name: kinds[name](value) for name, value in row.items()}) for row in read]
    return {row.engine: row for row in made}


@cache
def vector_rates() -> dict[str, float]:
    """FP32 FLOPs a second without matrix units, by accelerator id, where a data sheet has them.

    Only engines with vector_flops_per_byte or device_layer_us ask for it: those of one user.
    """
    return {row["id"]: float(row["vector_tflops"]) * TERA for row in rows("vector_rates.csv")}


IDEAL = Timing(engine="ideal", group="ideal", fitted_on="the lesson's formula, not fitted")
