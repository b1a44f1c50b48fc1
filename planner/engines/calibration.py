"""How long local, older and ideal engines take: a row of presets/calibration.csv on plain numbers.

These engines have no kernels measured apart, so their constants are fitted on whole steps: a part
of the bandwidth, a part of the peak, one after the other, and a fixed time for each layer. The
ideal engine is one more row: efficiency 1, no overhead, arithmetic that costs nothing beside the
reading. Every argument may be a number or an array; arrays broadcast. Seconds, bytes, FLOPs.
"""

from dataclasses import dataclass, fields, replace
from functools import cache

import numpy as np

from planner import formulas
from planner.engines.passes import (
    HOST_SHARE,
    LEAST_COPIED,
    REFERENCE_VECTOR_FLOPS,
    PrefillTime,
    Work,
)
from planner.files import rows

# Sums of 16-bit products at 16 bits too: GeForce cards do them at twice the data sheet's rate.
PEAKS = {"16 bit": "peak16", "own format": "peak", "16-bit sums": "half_sum_peak"}


@dataclass(frozen=True)
class StepTime:
    """One decode step, seconds, as the sum of its parts (arrays where the inputs were)."""

    weights_s: float
    cache_s: float
    compute_s: float
    overhead_s: float
    tensor_s: float  # synchronising the devices of a tensor-parallel group

    @property
    def total_s(self):
        """Length of the step: time between two tokens of one request."""
        read = self.weights_s + self.cache_s
        return read + self.compute_s + self.overhead_s + self.tensor_s

    def parts(self) -> list[tuple[str, float]]:
        """The parts by the names that charts give them, in drawing order; seconds."""
        return [
            ("weights", self.weights_s),
            ("cache", self.cache_s),
            ("compute", self.compute_s),
            ("overhead", self.overhead_s + self.tensor_s),
        ]


@dataclass(frozen=True)
class Timing:
    """One row of presets/calibration.csv: what an engine loses against the ideal formula.

    engine: its id; group: the engines it was fitted with (or "ideal").
    bandwidth_efficiency: part of the bandwidth reached. vector_flops_per_byte: FP32 work for each
    byte read, 0 for engines that use matrix units. compute_efficiency: part of the 16-bit peak
    reached in a decode step, with its share of prompts; infinite where arithmetic is left out.
    layer_us: overhead a layer; device_layer_us: the same, stated for REFERENCE_VECTOR_FLOPS and
    growing with the root of a device's slowness; expert_layer_us: more where layers hold experts;
    batch_expert_layer_us: more still above one request; covered_power: the experts that B requests
    read are those that B to this power would, were they independent; tensor_layer_us: more where
    devices split every layer. pass_layer_ms: fixed cost a layer of a pass that carries prompts.
    prefill_efficiency, link_efficiency: part of the peak and of the link reached in a prefill by
    itself; prefill_floor_steps: its fixed cost, in decode steps of one token without arithmetic.
    prefill_peak: of which peak it is a part, one of `PEAKS`. expert_prefill_factor: how many times
    as long a prompt's arithmetic takes in a model with experts, where the part of the peak comes
    of dense models alone.
    pieces_under_way: pieces of a prompt that go through the stages of a layer split at once.
    *_low, *_high: an interval of measured / predicted that holds 80 % of the measurements when
    their source is left out of the fit. *_band_from: whose measurements these are.
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
    batch_expert_layer_us: float = 0.0
    covered_power: float = 1.0
    tensor_layer_us: float = 0.0
    pass_layer_ms: float = 0.0
    prefill_efficiency: float = 1.0
    prefill_floor_steps: float = 0.0
    prefill_peak: str = "16 bit"
    expert_prefill_factor: float = 1.0
    link_efficiency: float = np.inf
    pieces_under_way: int = 1
    decode_low: float = 1.0
    decode_high: float = 1.0
    decode_band_from: str = ""
    prefill_low: float = 1.0
    prefill_high: float = 1.0
    prefill_band_from: str = ""
    step_rows: int = 0
    step_sources: int = 0
    prefill_rows: int = 0
    prefill_sources: int = 0
    fitted_on: str = ""

    @property
    def sums_at_16_bit(self):
        """Whether a prefill may go beyond the data sheet's rate, which is of sums at 32 bits."""
        return self.prefill_peak == "16-bit sums"

    def decode(self, work: Work, requests, each=1) -> StepTime:
        """One token of each of so many requests; `each` where guesses are checked."""
        requests = np.asarray(requests, float)
        tokens = requests * each
        step = self._step(
            work,
            requests=requests,
            weights_bytes=work.read_bytes(tokens**self.covered_power),
            cache_bytes=requests * work.cache_bytes,
            flops=tokens * (2 * work.parameters + work.attention_flops),
        )
        weights = self._host_s(work, work.host_weights_bytes(tokens**self.covered_power))
        caches = self._host_s(work, requests * work.host_cache_bytes)
        return replace(step, weights_s=step.weights_s + weights, cache_s=step.cache_s + caches)

    def guess(self, work: Work, requests) -> StepTime:
        """One guess for each of so many requests."""
        return self.decode(work, requests)

    def _host_s(self, work, read_bytes):
        """Reading so much of host memory; the ideal engine does it at full bandwidth."""
        seconds = work.host_read_s(read_bytes)
        return seconds * HOST_SHARE if self.group == "ideal" else seconds

    def copied_s(self, work, tokens):
        """What host memory holds of the weights, for one pass over so many tokens of prompts.

        A pass of many tokens has it copied to a device, a short one leaves it to the processor.
        """
        held = work.host_weights_bytes(tokens)
        copied = formulas.read_seconds(held, work.host_link)
        return np.where(np.greater_equal(tokens, LEAST_COPIED), copied, self._host_s(work, held))

    def _step(self, work, requests, weights_bytes, cache_bytes, flops):
        def read(amount):
            return formulas.limited_read_seconds(
                amount,
                work.bandwidth,
                self.bandwidth_efficiency,
                work.vector_flops,
                self.vector_flops_per_byte,
            )

        has_experts = np.greater(work.experts, 0)
        per_layer_us = (
            self.layer_us
            + formulas.device_scaled_seconds(
                self.device_layer_us, work.vector_flops, REFERENCE_VECTOR_FLOPS
            )
            + self.expert_layer_us * has_experts
            + self.batch_expert_layer_us * (has_experts & np.greater(requests, 1))
        )
        tensor_us = self.tensor_layer_us * np.greater(work.devices, 1)
        return StepTime(
            weights_s=read(weights_bytes),
            cache_s=read(cache_bytes),
            compute_s=self._compute_s(work, flops),
            overhead_s=formulas.layer_overhead_seconds(work.layers, per_layer_us * 1e-6),
            tensor_s=formulas.layer_overhead_seconds(work.layers, tensor_us * 1e-6),
        )

    def _compute_s(self, work, flops):
        return formulas.compute_seconds(flops, self.compute_efficiency * work.peak16)

    def shared_s(self, work: Work, alone: StepTime, requests, piece):
        """A step in which `piece` tokens of prompts are read as well, seconds."""
        part = piece / work.prompt_tokens
        arithmetic = self._compute_s(work, work.prefill_flops * part)
        fixed = formulas.layer_overhead_seconds(work.layers, self.pass_layer_ms * 1e-3)
        return alone.total_s + arithmetic + fixed + self.copied_s(work, piece)

    def prompt(self, work: Work, pass_tokens) -> PrefillTime:
        """One prompt alone, in pieces of at most so many tokens, to its first token."""
        pieces = np.clip(np.ceil(work.prompt_tokens / pass_tokens), 1, self.pieces_under_way)
        busy = formulas.pipelined_devices(work.stages, pieces)
        peak = getattr(work, PEAKS[self.prefill_peak])
        efficient = self.prefill_efficiency * peak * busy
        one = self._step(work, 1, work.read_bytes(1), 0.0, 0.0)
        sent = formulas.all_reduce_bytes(work.layers, work.width, work.prompt_tokens, work.devices)
        passes = np.maximum(np.ceil(work.prompt_tokens / pass_tokens), 1)
        copied = passes * self.copied_s(work, work.prompt_tokens / passes)
        routed = np.where(np.greater(work.experts, 0), self.expert_prefill_factor, 1.0)
        return PrefillTime(
            compute_s=routed * formulas.compute_seconds(work.prefill_flops, efficient),
            floor_s=self.prefill_floor_steps * one.total_s,
            link_s=formulas.read_seconds(sent, self.link_efficiency * work.link) + copied,
        )

    def changed(self, figures: dict[str, float]):
        """The same engine with figures that a person set, by their names in a link."""
        return replace(self, **figures) if figures else self


@cache
def timings() -> dict[str, Timing]:
    """Every row of presets/calibration.csv by its engine, in the order of the file."""
    kinds = {field.name: field.type for field in fields(Timing)}
    read = rows("calibration.csv")
    made = [Timing(**{name: kinds[name](value) for name, value in row.items()}) for row in read]
    return {row.engine: row for row in made}


IDEAL = Timing(engine="ideal", group="ideal", fitted_on="the lesson's formula, not fitted")
