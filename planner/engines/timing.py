"""How long a serving engine's steps and first tokens take, made of its passes.

A step of a steady load is a mixture of passes with and without prompts; a first token waits for the
pass under way, for prompts ahead and for its own. The constants are read here: what kernels reach
(presets/kernel_shares.csv), what was fitted on whole steps (timing.csv) and how engines differ
(serving_engines.csv). Local and older engines take the same work by `engines.calibration`.
"""

from dataclasses import dataclass, fields, replace
from functools import cache

import numpy as np

from planner import formulas
from planner.engines.passes import Host, Kernel, Kernels, PassTime, PrefillTime, Work, pass_time
from planner.files import rows


@dataclass(frozen=True)
class LoadedStep:
    """A decode step of a steady load. alone: a pass without prompts; part: of passes that carry
    some; prompts_s: what these add to the mean step."""

    alone: PassTime
    part: float
    prompts_s: float

    @property
    def total_s(self):
        """Mean time between two tokens of one request."""
        return self.alone.total_s + self.prompts_s

    @property
    def cache_s(self):
        """Reading the caches."""
        return self.alone.cache_s

    def parts(self) -> list[tuple[str, float]]:
        """The parts of the mean step by the names that charts give them."""
        return [*self.alone.parts(), ("prompts", self.prompts_s)]


def loaded_step(timing, work: Work, requests, output_tokens, pass_tokens) -> LoadedStep:
    """The mean step of a steady load where each request that ends is replaced by a new prompt.

    timing: `KernelTiming`, or the `calibration.Timing` of a local engine. requests: of each
    data-parallel group. output_tokens: of each request; ∞: a fixed batch.
    """
    part, piece = formulas.prompt_passes(requests, output_tokens, work.prompt_tokens, pass_tokens)
    alone = timing.decode(work, requests)
    shared = timing.shared_s(work, alone, requests, piece)
    mean = formulas.mean_step_seconds(part, alone.total_s, shared)
    return LoadedStep(alone, part, np.where(part > 0, mean - alone.total_s, 0.0)[()])


@dataclass(frozen=True)
class KernelTiming:
    """A serving engine with one plan's kernels; see presets/serving_engines.csv.

    family: the engine whatever its version. mixes: prompts share passes with decoding; else they
    have passes of their own, for which decoding waits. whole_requests: admits a request only where
    its last token fits too. steps_seen: of decoding, until a first token is seen. prompt_peak_share
    and prompt_floor_steps: of a prompt alone, where a person has set them.
    """

    engine: str
    family: str
    kernels: Kernels
    host: Host
    mixes: bool = True
    whole_requests: bool = False
    steps_seen: float = 1.0
    interface_ms: float = 0.0
    own_passes: float = 1.0
    ahead: float = 0.0
    prompt_peak_share: float | None = None
    prompt_floor_steps: float | None = None

    group = "serving"
    covered_power = 1.0  # experts are drawn independently
    sums_at_16_bit = False
    pieces_under_way = 1

    @property
    def fitted_on(self):
        """What stands behind the constants, in words."""
        return f"single kernels, and {fitted_on()}"

    def decode(self, work: Work, requests) -> PassTime:
        """One token of each of so many requests."""
        return pass_time(work, self.kernels, self.host, requests, requests, 0.0)

    def shared_s(self, work: Work, alone: PassTime, requests, piece):
        """A step in which `piece` tokens of prompts are read as well, seconds."""
        beside = np.where(self.mixes, requests, 0.0)
        own = pass_time(
            work, self.kernels, self.host, beside + piece, beside, piece / work.prompt_tokens
        )
        carried = np.maximum(own.total_s, self.floor_s(work))
        return np.where(self.mixes, carried, alone.total_s + carried)

    def floor_s(self, work: Work):
        """Least time of a pass with prompts."""
        return formulas.layer_overhead_seconds(work.layers, self.host.pass_layer_us * 1e-6)

    def prompt_floor_s(self, work: Work):
        """The same of a prompt alone, where a person may have set it."""
        if self.prompt_floor_steps is None:
            return self.floor_s(work)
        return self.prompt_floor_steps * self.decode(work, 1).total_s

    @property
    def prompt_kernels(self) -> Kernels:
        """The kernels of a prompt alone, whose part of the peak a person may have set."""
        if self.prompt_peak_share is None:
            return self.kernels
        return _with_shares(self.kernels, peak_share=self.prompt_peak_share)

    def prompt(self, work: Work, pass_tokens) -> PrefillTime:
        """One prompt alone, in passes of at most so many tokens, to its first token."""
        pieces, own = self._pieces(work, pass_tokens, beside=0.0)
        fixed = own.launches_s + own.host_s + own.cache_s
        multiplied = own.weights_s + own.experts_s + own.prompts_s
        waited = np.maximum(self.prompt_floor_s(work) - own.total_s, 0.0)
        passes = pieces * self.own_passes
        return PrefillTime(
            compute_s=passes * multiplied,
            floor_s=passes * (fixed + waited) + self.interface_ms * 1e-3,
            link_s=passes * own.sums_s,
        )

    def _pieces(self, work, pass_tokens, beside):
        """The passes of a prompt, requests decoding beside it: how many, and one of them."""
        pieces = np.maximum(np.ceil(work.prompt_tokens / pass_tokens), 1)
        tokens = beside + work.prompt_tokens / pieces
        return pieces, pass_time(work, self.prompt_kernels, self.host, tokens, beside, 1 / pieces)

    def first_token_parts(self, work: Work, requests, pass_tokens):
        """Seconds that a first token waits in a closed loop: a step, the passes of its own prompt,
        and of each prompt ahead where as many share a pass as its tokens allow."""
        beside = np.where(self.mixes, requests, 0.0)
        pieces, own = self._pieces(work, pass_tokens, beside)
        own_s = pieces * np.maximum(own.total_s, self.floor_s(work))
        together = np.minimum(pass_tokens, requests * work.prompt_tokens)
        prompts = together / work.prompt_tokens
        batch = pass_time(work, self.kernels, self.host, beside + together, beside, prompts)
        each = np.maximum(batch.total_s, self.floor_s(work)) / prompts
        return self.decode(work, requests).total_s, own_s, each

    def first_token_s(self, work: Work, requests, pass_tokens):
        """(usual, least) time to first token in a closed loop of so many requests, seconds.

        least: of an engine that streams every token, where prompts never come together.
        """
        step, own, each = self.first_token_parts(work, requests, pass_tokens)
        interface = self.interface_ms * 1e-3
        return tuple(
            formulas.first_token_seconds(
                interface, steps, step, self.own_passes * own, ahead, requests, each
            )
            for steps, ahead in ((self.steps_seen, self.ahead), (0.5, 0.0))
        )

    def changed(self, figures: dict[str, float]):
        """The same engine with figures that a person set, by their names in a link."""
        shares = {"bandwidth_share": figures.get("bandwidth_efficiency")}
        kernels = (
            _with_shares(self.kernels, **shares) if shares["bandwidth_share"] else self.kernels
        )
        if "compute_efficiency" in figures:
            kernels = _with_shares(kernels, peak_share=figures["compute_efficiency"])
        own = {each.name for each in fields(Host)}
        return replace(
            self,
            kernels=kernels,
            host=replace(self.host, **{k: v for k, v in figures.items() if k in own}),
            prompt_peak_share=figures.get("prefill_efficiency"),
            prompt_floor_steps=figures.get("prefill_floor_steps"),
        )


def _with_shares(kernels, **shares):
    """The kernels with another part of the bandwidth, or of the peak in products."""
    names = ("matrix", "head", "experts", *(["cache"] if "bandwidth_share" in shares else []))
    return replace(kernels, **{n: replace(getattr(kernels, n), **shares) for n in names})


def by_kernels(engine: str, kernels: Kernels) -> KernelTiming:
    """A serving engine by its id, with a plan's kernels and the fitted constants."""
    row, fitted = serving_engines()[engine], constants()
    host = {each.name: fitted[each.name] for each in fields(Host) if each.name in fitted}
    return KernelTiming(
        engine=engine,
        family=row["family"],
        kernels=kernels,
        host=Host(**host),
        mixes=row["mixes"] == "yes",
        whole_requests=row["whole_requests"] == "yes",
        steps_seen=fitted[f"steps_seen {row['first_token_as']}"],
        interface_ms=fitted["interface_ms"],
        own_passes=fitted["own_passes"],
        ahead=fitted["ahead"],
    )


# --- constants ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Shares:
    """A row of presets/kernel_shares.csv: a kernel, and which devices it is for.

    peak: whose part peak_share is, fp16, fp8 or fp4; the 16-bit one where a device has no such.
    needs: the peak that a device must have; otherwise: the format that takes its place elsewhere.
    """

    kernel: Kernel
    peak: str
    needs: str
    otherwise: str


@cache
def kernel_shares() -> dict[tuple[str, str], Shares]:
    """Every row of presets/kernel_shares.csv by its operation and format."""
    numbers = [each.name for each in fields(Kernel)]
    return {
        (row["operation"], row["format"]): Shares(
            Kernel(*(float(row[name]) for name in numbers)),
            row["peak"],
            row["needs"],
            row["otherwise"],
        )
        for row in rows("kernel_shares.csv")
    }


@cache
def constants() -> dict[str, float]:
    """Every constant of presets/timing.csv, fitted on whole steps, by its name."""
    return {row["constant"]: float(row["value"]) for row in rows("timing.csv")}


@cache
def fitted_on() -> str:
    """What the constants of a step were fitted on, in words."""
    return next(row["fitted_on"] for row in rows("timing.csv") if row["constant"] == "step_us")


@cache
def serving_engines() -> dict[str, dict[str, str]]:
    """Every row of presets/serving_engines.csv by its engine: who is timed by kernels, and how."""
    return {row["engine"]: row for row in rows("serving_engines.csv")}
