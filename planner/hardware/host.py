"""A part of a model in the memory of the host: whole layers, or the experts of some layers alone.

As llama.cpp has it. Layers are left to the host from the first one on, each with its cache
(--n-gpu-layers counts those on devices, the output head before the last layer); the experts of the
first layers can be left there by themselves (--n-cpu-moe). The host's processor works on what lies
there, so a step waits for it as it waits for a pipeline stage.
Source: https://github.com/ggml-org/llama.cpp/blob/master/src/llama-model.cpp (load_tensors) and
https://github.com/ggml-org/llama.cpp/pull/15077

What is assumed: experts are spread evenly over all layers; the input embedding, which llama.cpp
always leaves to the host, is counted on the first device, as without a host.
"""

from dataclasses import dataclass, replace

import numpy as np

from planner.hardware import parallel
from planner.hardware.parallel import Layout, Stage


@dataclass(frozen=True)
class Placed:
    """What lies in host memory: so many layers, and the experts of so many, from the first on."""

    layers: int = 0
    experts: int = 0

    @property
    def any(self):
        return bool(self.layers or self.experts)

    @property
    def expert_layers(self):
        """Layers whose experts are in host memory, with or without the rest of them."""
        return max(self.layers, self.experts)


NOTHING = Placed()


def refusals(placed: Placed, model, layout: Layout) -> list[tuple[str, str, int]]:
    """What of it cannot be: “layers” or “experts”, why, and the nearest number that can."""
    found = []
    most = model.layers - layout.pipeline
    if placed.layers > most:
        why = f"a device of each stage keeps at least one of {model.layers} layers"
        found.append(("layers", why, max(most, 0)))
    if placed.experts and not model.experts:
        found.append(("experts", "the model has no routed experts", 0))
    elif placed.experts > model.layers:
        found.append(("experts", f"the model has {model.layers} layers", model.layers))
    if placed.any and layout.data > 1:
        why = "a host serves one data-parallel group"
        found = [(name, why, 0) for name in ("layers", "experts") if getattr(placed, name)]
    return found


def split_groups(groups, layers):
    """(groups on the host, groups on devices): the first so many layers, and the rest.

    Kinds of layers are spread evenly over the depth, as pipeline stages have it.
    """
    if not layers:
        return (), tuple(groups)
    counts = np.array([group.layers for group in groups])
    first = np.bincount(parallel.kinds_in_order(counts)[:layers], minlength=len(counts))
    both = (zip(groups, each, strict=True) for each in (first.tolist(), (counts - first).tolist()))
    return tuple(
        tuple(replace(group, layers=count) for group, count in part if count) for part in both
    )


NO_STAGE = Stage(-1, (), 0.0, 0.0, 0.0, 0.0, (), ())


def stages(layout: Layout, groups, weights, placed: Placed, **widths) -> tuple[tuple, Stage]:
    """(the Stage of each pipeline stage, what is in host memory as one Stage more).

    groups, weights, widths: as `parallel.stages` takes them. The host's figures are whole: it is
    one, however many devices share a layer.
    """
    if not placed.any:
        return parallel.stages(layout, groups, weights, **widths), NO_STAGE
    total = sum(group.layers for group in groups)
    ours, rest = split_groups(groups, placed.layers)
    share = placed.layers / total
    on_devices = replace(weights, body=weights.body * (1 - share))
    made, first = [], placed.layers
    for stage in parallel.stages(layout, rest, on_devices, **widths):
        last = first + stage.layers
        kept = last - max(first, min(placed.expert_layers, last))
        experts = weights.experts * kept / total / layout.stage_devices
        whole = stage.weights_bytes - stage.experts_bytes + experts
        made.append(replace(stage, weights_bytes=whole, experts_bytes=experts))
        first = last
    own = [widths[name] for name in ("key_bytes", "value_bytes", "index_bytes") if name in widths]
    stores = [store for group in ours for store in group.stores(*own)]
    body, experts = weights.body * share, weights.experts * placed.expert_layers / total
    host = Stage(
        index=-1,
        groups=ours,
        weights_bytes=body + experts,
        always_read_bytes=body,
        experts_bytes=experts,
        fixed_bytes=sum(group.fixed_bytes for group in ours),
        bytes_per_token=tuple(each for each, _ in stores),
        windows=tuple(most for _, most in stores),
        reads=tuple(read for group in ours for read in group.reads(*own)),
    )
    return tuple(made), host
