"""One model over several devices: what each holds, what each reads, and which sizes divide.

Devices form `pipeline` stages, one after the other; a stage has `data` groups of `tensor` devices:

- tensor: every matrix is cut over the devices of a group (Shoeybi et al. 2019, Megatron-LM), the
  cache by key-value heads. Past the number of key-value heads, heads are stored again, not cut.
- pipeline: each stage holds some of the layers. Embedding and what reads pictures are on the first
  stage, the head is on the last.
- data: data-parallel attention. Each group has its own requests and its own copy of everything but
  the routed experts, which the whole stage shares out. For a model without experts these are
  replicas.
- expert: whole experts are dealt out over so many devices of a stage and cut over what is left of
  it, so that each device holds E / (tensor · data) experts' worth for every choice.

What is assumed: kinds of layers are spread evenly over the model, whose layers are then dealt to
the stages in order, whole ones only; norms, routers and biases, too small to count, are cut like
the rest where engines replicate them; embedding and head are cut by vocabulary, as vLLM and SGLang
do; latent (MLA) caches and indexer keys are whole on every device.
"""

import math
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from planner import formulas
from planner.hardware.context import shared

MOST_DEVICES = 64
SERVER_DEVICES = 8  # that one server has, with fast links between them


@dataclass(frozen=True)
class Layout:
    """How many ways each kind of parallelism goes; the devices are tensor · pipeline · data."""

    tensor: int = 1
    pipeline: int = 1
    data: int = 1
    expert: int = 1

    @property
    def devices(self):
        return self.tensor * self.pipeline * self.data

    @property
    def stage_devices(self):
        return self.tensor * self.data


ONE_DEVICE = Layout()


# --- equations, on numbers or arrays ------------------------------------------------------------


def kv_heads_per_device(kv_heads, tensor):
    """Key-value heads on each of t devices: ⌈H_kv / t⌉, so at least one, and none of none.

    vLLM and SGLang replicate heads once there are more devices than heads.
    """
    return -(-kv_heads // tensor)


def state_share(heads, tensor):
    """Part of a recurrent state on each of t devices, cut by heads: ⌈H / t⌉ / H; 1 where H = 0."""
    heads = np.asarray(heads)
    return np.where(heads > 0, -(-heads // tensor) / np.maximum(heads, 1), 1.0)[()]


def requests_per_group(concurrency, data):
    """Requests whose cache the fullest of d data-parallel groups holds: ⌈B / d⌉."""
    return np.ceil(np.asarray(concurrency) / data)[()]


def stage_layers(layers, pipeline):
    """Layers of each pipeline stage, as vLLM deals them: what is left over goes to the stages
    before the last, one each, since the last one also holds the head. Ends in ⌈L / p⌉ at most.
    """
    each, over = divmod(layers, pipeline)
    return tuple(each + (pipeline - 1 - over <= stage < pipeline - 1) for stage in range(pipeline))


def kinds_in_order(kinds):
    """The kind of each layer, from the first to the last, by its place in `kinds`.

    kinds: the model's layers of each. Layer i of a kind's n stands at (i + ½) / n of the depth.
    """
    depth = np.concatenate([(np.arange(count) + 0.5) / count for count in kinds])
    return np.repeat(np.arange(len(kinds)), kinds)[np.argsort(depth, kind="stable")]


def stage_kinds(kinds, pipeline):
    """Layers of each kind on each pipeline stage: a tuple of counts for every stage.

    kinds: the model's layers of each kind. They are dealt in order, `stage_layers` to a stage, so
    that a stage's counts add up to its layers, and a kind's to all that the model has.
    """
    kind = kinds_in_order(kinds)
    ends = np.cumsum(stage_layers(len(kind), pipeline))[:-1]
    counted = (np.bincount(own, minlength=len(kinds)) for own in np.split(kind, ends))
    return tuple(tuple(counts.tolist()) for counts in counted)


# --- what a stage holds and reads ---------------------------------------------------------------


@dataclass(frozen=True)
class Stage:
    """Devices with the same layers. All figures are of one device, in bytes.

    groups: its layers by kind, each with the device's own key-value heads. always_read_bytes: what
    every step reads of the weights; experts_bytes: the routed experts, of which it reads a part.
    fixed_bytes: the part of one request's cache that does not grow. bytes_per_token and windows:
    what grows and how far, as formulas.max_context takes them (∞ where there is no window). reads:
    in pairs of the two, what a new token reads of it; all of it for most models.
    """

    index: int
    groups: tuple
    weights_bytes: float
    always_read_bytes: float
    experts_bytes: float
    fixed_bytes: float
    bytes_per_token: tuple[float, ...]
    windows: tuple[float, ...]
    reads: tuple[tuple[float, float], ...] = ()

    @property
    def layers(self):
        return sum(group.layers for group in self.groups)

    def read_bytes(self, experts_read=1.0):
        """What a step reads of the weights, with such a part of the routed experts."""
        return self.always_read_bytes + self.experts_bytes * experts_read

    def request_bytes(self, context_tokens):
        """Cache of one request on one device of this stage."""
        return formulas.layered_cache_bytes(
            self.fixed_bytes, self.bytes_per_token, self.windows, context_tokens
        )

    def request_read_bytes(self, context_tokens):
        """What of it a new token reads."""
        return formulas.layered_cache_bytes(
            self.fixed_bytes,
            [each for each, _ in self.reads],
            [most for _, most in self.reads],
            context_tokens,
        )


def stages(layout, groups, weights, *, key_bytes=2, value_bytes=2, index_bytes=2, shared_by=1):
    """A tuple with the Stage of each pipeline stage.

    groups: a Model's groups of layers. weights: a precision.Weights of the whole model. key_bytes
    and value_bytes: per cached element, index_bytes: per element of an indexer's key. shared_by:
    devices of a tensor group that keep the tokens of a request between them; see `context`.
    """
    total = sum(group.layers for group in groups)
    made = []
    for index, own in enumerate(stage_groups(tuple(groups), layout.tensor, layout.pipeline)):
        share = sum(group.layers for group in own) / total
        body = weights.body * share / layout.tensor
        seen = weights.vision / layout.tensor if index == 0 else 0
        experts = weights.experts * share / layout.stage_devices
        head = weights.head / layout.tensor if index == layout.pipeline - 1 else 0
        first = weights.embedding / layout.tensor if index == 0 else 0
        if index == 0 and layout.pipeline > 1 and np.all(np.equal(weights.embedding, 0)):
            first = weights.head / layout.tensor  # a tied matrix is needed at both ends
        widths = (key_bytes, value_bytes, index_bytes)
        stores = shared([pair for group in own for pair in group.stores(*widths)], shared_by)
        made.append(
            Stage(
                index=index,
                groups=own,
                weights_bytes=body + experts + first + head + seen,
                always_read_bytes=body + head,
                experts_bytes=experts,
                fixed_bytes=sum(group.layers * state_bytes(group, layout.tensor) for group in own),
                bytes_per_token=tuple(each for each, _ in stores),
                windows=tuple(most for _, most in stores),
                reads=shared([pair for group in own for pair in group.reads(*widths)], shared_by),
            )
        )
    return tuple(made)


@lru_cache(maxsize=512)
def stage_groups(groups, tensor, pipeline):
    """The groups of layers that a device of each stage holds: a tuple for every stage.

    A kind of which a stage holds no layer is left out.
    """
    return tuple(
        tuple(
            device_group(replace(group, layers=count), tensor)
            for group, count in zip(groups, counts, strict=True)
            if count
        )
        for counts in stage_kinds([group.layers for group in groups], pipeline)
    )


def device_group(group, tensor):
    """A group of layers as one device of a tensor group stores it: with its share of the heads."""
    return replace(group, kv_heads=kv_heads_per_device(group.kv_heads, tensor))


def state_bytes(group, tensor):
    """One layer's recurrent state of one request on a device of a tensor group; 0 for none."""
    return group.state_bytes * state_share(group.query_heads, tensor)


def weights_read_bytes(made, experts_read=1.0):
    """What a step reads of the weights on one device of each stage, stage after stage."""
    return sum(stage.read_bytes(experts_read) for stage in made)


def where_greatest(values, amounts):
    """The value of the stage with the greatest amount, at each place where amounts are arrays.

    values, amounts: one for each stage, numbers or arrays that broadcast.
    """
    if len(values) == 1:
        return values[0]
    both = np.broadcast_arrays(*values, *amounts)
    values, amounts = np.stack(both[: len(values)]), np.stack(both[len(values) :])
    return np.take_along_axis(values, amounts.argmax(axis=0)[None], axis=0)[0]


def max_concurrency(layout, made, memory_bytes, context_tokens):
    """Most requests that fit: what the fullest stage takes, times the data-parallel groups.

    made: the layout's stages. memory_bytes: of one device.
    """
    fits = [
        formulas.max_concurrency(
            memory_bytes, stage.weights_bytes, stage.request_bytes(context_tokens)
        )
        for stage in made
    ]
    return layout.data * np.minimum.reduce(np.broadcast_arrays(*fits))[()]


def max_context(layout, made, memory_bytes, concurrency):
    """Longest context at which so many requests fit on every stage; arguments as above."""
    fits = [
        formulas.max_context(
            memory_bytes,
            stage.weights_bytes,
            requests_per_group(concurrency, layout.data),
            stage.fixed_bytes,
            stage.bytes_per_token,
            stage.windows,
        )
        for stage in made
    ]
    return np.minimum.reduce(np.broadcast_arrays(*fits))[()]


def step_read_bytes(layout, made, concurrency, context_tokens, experts_read=1.0):
    """(weights, cache) bytes whose reading one step waits for, at the bandwidth of one device.

    The devices of a stage read their shares at once, so a share is all that counts; the stages read
    one after the other, so they add up: tensor parallelism adds bandwidth, a pipeline does not. (A
    pipeline that is kept full with several batches gains in tokens a second, never in this time.)
    """
    requests = requests_per_group(concurrency, layout.data)
    cache = sum(requests * stage.request_read_bytes(context_tokens) for stage in made)
    return weights_read_bytes(made, experts_read), cache


@dataclass(frozen=True)
class DeviceMemory:
    """What one device holds, to be drawn: numbered through stages, groups and tensor ranks."""

    device: int
    stage: int
    group: int
    layers: int
    requests: int
    weights_bytes: float
    cache_bytes: float


def device_memory(layout, made, concurrency, context_tokens):
    """One DeviceMemory for each device; groups differ by at most one request. Plain numbers."""
    found = []
    for stage in made:
        each = stage.request_bytes(context_tokens)
        for group in range(layout.data):
            requests = concurrency // layout.data + (group < concurrency % layout.data)
            for _ in range(layout.tensor):
                found.append(
                    DeviceMemory(
                        device=len(found),
                        stage=stage.index,
                        group=group,
                        layers=stage.layers,
                        requests=requests,
                        weights_bytes=stage.weights_bytes,
                        cache_bytes=formulas.load_cache_bytes(each, requests),
                    )
                )
    return tuple(found)


# --- which sizes divide -------------------------------------------------------------------------


@dataclass(frozen=True)
class Refusal:
    """A size that cannot be, by its name, and a sentence with the sizes that can."""

    name: str
    text: str


def refusals(layout, model, devices):
    """What of a layout cannot be, as a tuple of Refusal; empty where all divides.

    model: `groups` and `experts` (routed experts of a layer, 0 without any) are looked at.
    """
    for name in ("tensor", "pipeline", "data", "expert"):
        if getattr(layout, name) < 1:
            return (Refusal(name, f"{name.capitalize()} parallelism must be 1 or more."),)
    if not 1 <= devices <= MOST_DEVICES:
        return (Refusal("devices", f"{devices:,} devices: there can be 1 to {MOST_DEVICES}."),)

    found = []
    heads = math.gcd(*(group.query_heads for group in model.groups)) or 1  # tensor must divide it
    layers = sum(group.layers for group in model.groups)
    tensor_sizes = _divisors(heads)
    if layout.tensor not in tensor_sizes:
        text = f"{heads} query heads cannot be cut into {layout.tensor}"
        found.append(Refusal("tensor", f"{text}; tensor can be {_either(tensor_sizes)}."))
    if layout.pipeline > layers:
        text = f"{layers} layers cannot fill {layout.pipeline} stages"
        found.append(Refusal("pipeline", f"{text}; pipeline can be 1 to {layers}."))
    expert_sizes = _expert_sizes(model, layout)
    if layout.expert not in expert_sizes:
        text = f"{model.experts} experts on {layout.stage_devices} devices of a stage"
        text = text if model.experts else "The model has no routed experts"
        found.append(Refusal("expert", f"{text}; expert can be {_either(expert_sizes)}."))
    if layout.devices != devices:
        found.append(_wrong_product(layout, model, devices))
    return tuple(found)


@lru_cache(maxsize=512)
def layouts(model, devices):
    """Every layout of so many devices that divides, the usual one first.

    Usual is to split layers within a server and to make a pipeline of servers.
    """
    every = (
        Layout(tensor, pipeline, devices // (tensor * pipeline), expert)
        for tensor in _divisors(devices)
        for pipeline in _divisors(devices // tensor)
        for expert in _divisors(devices // pipeline)
    )
    found = [each for each in every if not refusals(each, model, devices)]
    found.sort(key=lambda own: (own.tensor > SERVER_DEVICES, -own.tensor, own.data, own.expert))
    return tuple(found)


def _wrong_product(layout, model, devices):
    """The refusal of a layout that does not use the devices there are, with what would."""
    made = f"Tensor {layout.tensor} × pipeline {layout.pipeline} × data {layout.data}"
    text = f"{made} makes {layout.devices} devices, not {devices}"
    fit = sorted({(each.tensor, each.pipeline, each.data) for each in layouts(model, devices)})
    tensor = [t for t, p, d in fit if (p, d) == (layout.pipeline, layout.data)]
    if tensor:
        hint = f"with this pipeline and data, tensor can be {_either(tensor)}"
        return Refusal("tensor", f"{text}; {hint}.")
    pairs = [f"{t} × {p}" for t, p, d in reversed(fit) if d == layout.data]
    if pairs:
        hint = f"with this data, tensor × pipeline can be {_either(pairs)}"
        return Refusal("devices", f"{text}; {hint}.")
    return Refusal("data", f"{text}; data can be {_either(sorted({d for _, _, d in fit}))}.")


def _expert_sizes(model, layout):
    return _divisors(math.gcd(model.experts, layout.stage_devices)) if model.experts else [1]


def _divisors(number):
    return [size for size in range(1, min(number, MOST_DEVICES) + 1) if number % size == 0]


def _either(sizes):
    words = [str(size) for size in sizes]
    return " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
