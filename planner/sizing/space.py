"""Where a search looks: every deployment that could be had, as rows of a table of choices."""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from planner.hardware import context, host, parallel
from planner.hardware.host import Placed
from planner.hardware.parallel import Layout
from planner.inputs import presets, support
from planner.inputs.scenario import Scenario
from planner.models import drafting, states
from planner.models.model import Model

ENGINES = ("vllm-0.34", "sglang", "tensorrt-llm")  # the newest of each that serves many
COUNTS = (1, 2, 4, 8, 16, 32, 64)  # devices of one replica
# Formats that a published model is often quantised to, and the units that make them worth it.
QUANTISED = {"fp8": "fp8_tflops", "nvfp4": "fp4_tflops", "int4-g128": None}
SMALL_CACHE, CACHE_NEEDS = "fp8", "fp8_tflops"
LEAST_BITS = 4  # weights of fewer bits are not looked for
# Inputs of a scenario that are the same in every row.
BESIDE = ("dcp", "host_layers", "host_experts", "host_bandwidth", "host_link", "draft", "drafted",
          "accepted", "set", "state_format")  # fmt: skip


@dataclass(frozen=True)
class Space:
    """What may be chosen. Empty devices, weights, caches, engines or layouts: all that make sense.

    least_bits: of weights in their mean, where no format is named. most_devices: of one replica.
    beside: (name, value) of inputs of a scenario that all rows share, of `BESIDE`.
    """

    model: str
    devices: tuple[str, ...] = ()
    weights: tuple[str, ...] = ()
    caches: tuple[str, ...] = ()
    engines: tuple[str, ...] = ()
    layouts: tuple[Layout, ...] = ()
    least_bits: float = 8
    most_devices: int = 8
    beside: tuple[tuple[str, object], ...] = ()

    @property
    def the_model(self) -> Model:
        stored = dict(self.beside).get("state_format", states.AUTO)
        return states.stored(presets.model(self.model), stored)

    def tried_weights(self) -> tuple[str, ...]:
        """The model's own format, and those that make it smaller."""
        if self.weights:
            return self.weights
        own = presets.weight_format(self.the_model.dtype)
        smaller = (presets.weight_format(each) for each in QUANTISED)
        most = own.expert_bits - 1  # a format of about as many bits would bring nothing
        kept = [each.id for each in smaller if self.least_bits <= each.body_bits <= most]
        return (own.id, *kept)

    def tried_layouts(self) -> tuple[Layout, ...]:
        """Every layout of 1, 2, 4, … devices; groups of data-parallel attention for experts alone,
        since without them they are replicas. None that cannot have what is beside it."""
        model = self.the_model
        counts = [each for each in COUNTS if each <= self.most_devices]
        found = (layout for count in counts for layout in parallel.layouts(model, count))
        usual = (each for each in found if model.experts or each.data == 1)
        return tuple(each for each in self.layouts or usual if self._goes(each))

    def _goes(self, layout):
        """Whether a drafter, host memory and shared-out tokens can be had with a layout."""
        own, model = dict(self.beside), self.the_model
        placed = Placed(own.get("host_layers", 0), own.get("host_experts", 0))
        return not (
            context.refusal(model.groups, layout.tensor, own.get("dcp", 1))
            or host.refusals(placed, model, layout)
            or drafting.refusal(model, own.get("draft", ""), layout.pipeline)
        )


@dataclass(frozen=True)
class Choices:
    """The tables that rows point into, and the rows: five indices, an array each."""

    space: Space
    devices: tuple[str, ...]
    weights: tuple[str, ...]
    caches: tuple[str, ...]
    engines: tuple[str, ...]
    layouts: tuple[Layout, ...]
    device: np.ndarray = field(repr=False)
    weight: np.ndarray = field(repr=False)
    cache: np.ndarray = field(repr=False)
    engine: np.ndarray = field(repr=False)
    layout: np.ndarray = field(repr=False)

    def __len__(self):
        return len(self.device)

    def only(self, here) -> "Choices":
        """The rows of an index or a mask."""
        names = ("device", "weight", "cache", "engine", "layout")
        rows = {name: getattr(self, name)[here] for name in names}
        tables = {name: getattr(self, name) for name in (f"{each}s" for each in names)}
        return Choices(self.space, **tables, **rows)

    @cached_property
    def layout_devices(self):
        """Devices of one replica, for every row."""
        return np.array([each.devices for each in self.layouts])[self.layout]

    @cached_property
    def groups(self):
        """Data-parallel groups, for every row."""
        return np.array([each.data for each in self.layouts])[self.layout]

    def scenario(self, row: int) -> Scenario:
        """One row as a scenario."""
        layout = self.layouts[self.layout[row]]
        cache = self.caches[self.cache[row]]
        return Scenario(
            model=self.space.model,
            weights=self.weights[self.weight[row]],
            cache_k=cache,
            cache_v=cache,
            device=self.devices[self.device[row]],
            tp=layout.tensor,
            pp=layout.pipeline,
            dp=layout.data,
            ep=layout.expert,
            engine=self.engines[self.engine[row]],
            **dict(self.space.beside),
        )


def choices(space: Space) -> Choices:
    """Every row of a space that its engine and its device can run, by their documents."""
    devices = space.devices or tuple(presets.accelerators())
    engines = space.engines or ENGINES
    weights = space.tried_weights()
    caches = space.caches or ("fp16", SMALL_CACHE)
    layouts = space.tried_layouts()
    runs = np.array([[not support.refusal(e, d) for e in engines] for d in devices], bool)
    stores = np.array(
        [[_able(d, QUANTISED.get(w), space.weights) for w in weights] for d in devices]
    )
    keeps = np.array(
        [[_able(d, CACHE_NEEDS if c == SMALL_CACHE else None, space.caches) for c in caches]
         for d in devices]
    )  # fmt: skip
    able = (
        runs[:, None, None, :, None]
        & stores[:, :, None, None, None]
        & keeps[:, None, :, None, None]
    )
    able = np.broadcast_to(
        able, (len(devices), len(weights), len(caches), len(engines), len(layouts))
    )
    device, weight, cache, engine, layout = np.nonzero(able)
    return Choices(
        space=space,
        devices=devices,
        weights=weights,
        caches=caches,
        engines=engines,
        layouts=layouts,
        device=device,
        weight=weight,
        cache=cache,
        engine=engine,
        layout=layout,
    )


def _able(device, needs, named):
    """Whether a device has the units that a format is chosen for; one that is named is taken."""
    return bool(named) or needs is None or bool(getattr(presets.accelerator(device), needs))
