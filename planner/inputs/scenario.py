"""Every input of one plan, checked; and the link that carries it.

The link is the only place where a state is written down, so its words never change their meaning:
a name, once used, stays, and a new one gets as its default what older links meant by its absence.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

from planner.engines import defaults
from planner.engines.memory import Engine
from planner.hardware import adapters, context, host, parallel
from planner.hardware.accelerator import Accelerator
from planner.hardware.host import Placed
from planner.hardware.parallel import Layout
from planner.inputs import overrides, presets, unequal
from planner.inputs.link import Named, Notice, Number, read_values, write
from planner.models import drafting, states
from planner.models.drafting import Drafter
from planner.models.model import Model
from planner.models.notation import shorten
from planner.units import GB

NUMBERS = {
    "concurrency": Number("Concurrency", "requests", 1, 4096, whole=True),
    "context": Number("Context", "tokens", 128, 1_048_576, whole=True),
    "bandwidth": Number("Bandwidth", "GB/s", 1, 100_000),
    "memory": Number("Memory", "GB", 1, 100_000),
    "peak": Number("Compute", "TFLOP/s", 0.1, 100_000),
}
LENGTHS = {  # 0: not given
    "prompt": Number("Prompt", "tokens", 0, 1_048_576, whole=True),
    "prefix": Number("Prefix in cache", "tokens", 0, 1_048_576, whole=True),
    "output": Number("Output", "tokens", 0, 1_048_576, whole=True),
}
PARALLEL = {
    "tp": Number("Tensor parallel", "devices", 1, parallel.MOST_DEVICES, whole=True),
    "pp": Number("Pipeline stages", "devices", 1, parallel.MOST_DEVICES, whole=True),
    "dp": Number("Data-parallel attention", "groups", 1, parallel.MOST_DEVICES, whole=True),
    "ep": Number("Expert parallel", "devices", 1, parallel.MOST_DEVICES, whole=True),
    "dcp": Number("Decode context parallel", "devices", 1, parallel.MOST_DEVICES, whole=True),
}
HOST = {
    "host_layers": Number("Layers in host memory", "layers", 0, 2000, whole=True),
    "host_experts": Number("Layers with experts in host memory", "layers", 0, 2000, whole=True),
    "host_bandwidth": Number("Bandwidth of host memory", "GB/s", 1, 100_000),
    "host_link": Number("Link to host memory", "GB/s", 0.1, 100_000),
}
DRAFT = {
    "drafted": Number("Drafted tokens", "tokens", 1, 16, whole=True),
    "accepted": Number("Acceptance length", "tokens a step", 1, 17),
}
LORA = {
    "loras": Number("LoRA adapters", "adapters", 0, 4096, whole=True),
    "lora_rank": Number("Rank of LoRA adapters", "", 1, 512, whole=True),
}
ALL_NUMBERS = {**NUMBERS, **LENGTHS, **PARALLEL, **HOST, **DRAFT, **LORA}
# Parameters that came after the first links: left out of a link where they have this value, which
# is what a link without them has always meant.
ADDED = {
    "cache_k": "fp16",
    "cache_v": "fp16",
    "tp": 1,
    "pp": 1,
    "dp": 1,
    "ep": 1,
    "engine": "ideal",
    "set": "",
    "prompt": 0,
    "prefix": 0,
    "output": 0,
    "host_layers": 0,
    "host_experts": 0,
    "host_bandwidth": 89.6,  # two channels of DDR5-5600: 2 × 8 bytes × 5.6 GT/s
    "host_link": 32,  # PCIe 4.0 of 16 lanes
    "draft": "",
    "drafted": 3,
    "accepted": 2,
    "dcp": 1,
    "loras": 0,
    "lora_rank": 16,
    "state_format": states.AUTO,
}
FIND = {
    "model": presets.model,
    "state_format": states.state_format,
    "device": presets.accelerator,
    "weights": presets.weight_format,
    "cache_k": presets.cache_format,
    "cache_v": presets.cache_format,
    "engine": presets.engine,
}


def _named(find):
    return Named(find, lambda default: f"{find(default).name} is used instead")


def _device(text):
    """A device by its id; several kinds of them are refused with the nearest that can be."""
    refused = unequal.sentence(text)
    if refused:
        raise ValueError(f"“{shorten(text)}”: {refused}")
    return presets.accelerator(text)


FIND["device"] = _device
PARAMETERS = {
    **{name: _named(find) for name, find in FIND.items()},
    **ALL_NUMBERS,
    "set": Named(overrides.read, lambda _: "the engine's own figures are used instead"),
    "draft": Named(presets.draft_model, lambda _: "nothing is drafted instead"),
}


@dataclass(frozen=True)
class Scenario:
    """One complete set of inputs. What is left out gets its default; a device its own numbers.

    model: the id of a preset, or a model's notation (`notation.model_to_text`). weights: the format
    they are stored in, by default the model's own. cache_k, cache_v: those of keys and values.
    device, and how many: tp tensor-parallel devices in each of pp pipeline stages and dp
    data-parallel groups, experts dealt out over ep. concurrency: requests decoding at once, on all
    devices together. context: tokens of each request, prompt and generated so far. Of each device:
    bandwidth in GB/s, memory in GB (decimal, what can be allocated), peak in dense 16-bit TFLOP/s.
    engine: who serves; set: figures of it that were changed, as `settings.read` reads them. prompt:
    tokens of a request's prompt, 0 where it is the whole context; prefix: how many of them are in
    the cache already; output: tokens that a request writes, 0 where no new prompts arrive.
    host_layers, host_experts: the first so many layers, or only their experts, are in host memory,
    of which host_bandwidth GB/s are read; host_link: GB/s from there to a device. draft: who
    guesses tokens ahead, “mtp”, “eagle” or a model as above, “” for nobody; drafted: how many in a
    step; accepted: tokens that a step yields in the mean, the model's own among them. dcp:
    so many tensor-parallel devices that would store the same share out the tokens of a request.
    loras: adapters that an engine holds room for at once; lora_rank: the largest rank of one.
    state_format: of recurrent states, by its id; “auto” is what the model's file says.
    Raises ValueError, naming the input, on a value that is not allowed.

    >>> from planner import Scenario
    >>> Scenario("llama-3.1-70b", device="h100-sxm", tp=4).bandwidth
    3350
    >>> Scenario(context=100)
    Traceback (most recent call last):
    ValueError: context: 100 is not a whole number from 128 to 1,048,576
    """

    model: str = "lesson-7b-gqa"
    weights: str | None = None
    cache_k: str = "fp16"
    cache_v: str = "fp16"
    device: str = "lesson"
    tp: int = 1
    pp: int = 1
    dp: int = 1
    ep: int = 1
    concurrency: int = 16
    context: int = 8192
    bandwidth: float | None = None
    memory: float | None = None
    peak: float | None = None
    engine: str = "ideal"
    set: str = ""
    prompt: int = 0
    prefix: int = 0
    output: int = 0
    host_layers: int = 0
    host_experts: int = 0
    host_bandwidth: float = 89.6
    host_link: float = 32
    draft: str = ""
    drafted: int = 3
    accepted: float = 2
    dcp: int = 1
    loras: int = 0
    lora_rank: int = 16
    state_format: str = states.AUTO

    def __post_init__(self):
        for name, find in FIND.items():
            value = getattr(self, name)
            if name == "weights" and value is None:
                value = self.the_model.dtype
                object.__setattr__(self, name, value)
            try:
                find(value)
            except ValueError as problem:
                raise ValueError(f"{name}: {problem}") from None
        for name in ("cache_k", "cache_v"):
            if getattr(self, name) not in presets.caches_of(self.the_model):
                raise ValueError(f"{name}: {OF_LATENTS}")
        for name, value in device_numbers(self.device).items():
            if getattr(self, name) is None:
                object.__setattr__(self, name, value)
        for name, number in ALL_NUMBERS.items():
            value = getattr(self, name)
            if not isinstance(value, (int, float)) or isinstance(value, bool):
                raise ValueError(f"{name}: {shorten(repr(value))} is not a number")
            if not math.isfinite(value) or number.nearest(value) != value:
                kind = "a whole number" if number.whole else "a number"
                raise ValueError(
                    f"{name}: {value} is not {kind} from {number.minimum:,} to {number.maximum:,}"
                )
            object.__setattr__(self, name, number.nearest(value))
        for refusal in parallel.refusals(self.layout, self.the_model, self.layout.devices):
            raise ValueError(f"{SHORT[refusal.name]}: {refusal.text}")
        shared = context.refusal(self.the_model.groups, self.tp, self.dcp)
        if shared:
            raise ValueError(f"dcp: {shared}")
        for name, why, _ in host.refusals(self.placed, self.the_model, self.layout):
            raise ValueError(f"host_{name}: {why}")
        try:
            presets.draft_model(self.draft)
        except ValueError as problem:
            raise ValueError(f"draft: {problem}") from None
        for name, refused in (
            ("draft", drafting.refusal(self.the_model, self.draft, self.pp)),
            ("loras", adapters.refusal(self.the_model, self.loras)),
            ("state_format", states.refusal(self.the_model, self.state_format)),
        ):
            if refused:
                raise ValueError(f"{name}: {refused}")
        if self.accepted > self.drafted + 1:
            raise ValueError(f"accepted: a step of {self.drafted} drafted tokens yields no more")
        try:
            overrides.read(self.set)
        except ValueError as problem:
            raise ValueError(f"set: {problem}") from None

    @property
    def the_model(self) -> Model:
        return states.stored(presets.model(self.model), self.state_format)

    @property
    def the_device(self) -> Accelerator:
        return presets.accelerator(self.device)

    @property
    def the_engine(self) -> Engine:
        """The engine on this device, with the figures of its memory that were set."""
        return self.engine_with(self.memory * GB)

    def engine_with(self, memory_bytes) -> Engine:
        """The same with another memory of the device, a number or an array."""
        own = self.engine_as_is(self.engine, memory_bytes)
        return overrides.apply_engine(own, overrides.read(self.set))

    def engine_as_is(self, engine: str, memory_bytes) -> Engine:
        """Any engine as it sets itself up for this model and device; ValueError if not known."""
        return defaults.on_device(
            presets.engine(engine),
            self.device,
            memory_bytes,
            tensor=self.tp,
            pipeline=self.pp,
            latent=self.the_model.attention == "MLA",
        )

    @property
    def cache_widths(self) -> tuple[float, float, float]:
        """Bytes of one stored element of a key, of a value, and of an indexer's key."""
        keys, values = (presets.cache_format(each) for each in (self.cache_k, self.cache_v))
        return keys.bytes, values.bytes, keys.index_bytes

    @property
    def layout(self) -> Layout:
        return Layout(tensor=self.tp, pipeline=self.pp, data=self.dp, expert=self.ep)

    def drafter(self, model: Model) -> Drafter | None:
        """Who guesses tokens ahead for a model, this scenario's or another; None for nobody."""
        if not self.draft:
            return None
        return drafting.drafter(model, self.draft, presets.draft_model(self.draft))

    @property
    def placed(self) -> Placed:
        """What of the model is in host memory."""
        return Placed(self.host_layers, self.host_experts)


OF_LATENTS = "this format is of latents of another width than the model's"
SHORT = {"tensor": "tp", "pipeline": "pp", "data": "dp", "expert": "ep", "devices": "tp"}


def device_numbers(device: str) -> dict[str, float]:
    """What choosing a device fills in, in the link's units."""
    row = presets.accelerator(device)
    return {"bandwidth": row.bandwidth_gb_s, "memory": row.memory_gb, "peak": row.fp16_tflops}


def as_link(scenario: Scenario) -> dict[str, str]:
    """The link's parameters and values, in one fixed order."""
    values = {field.name: getattr(scenario, field.name) for field in fields(scenario)}
    return {
        name: str(value)
        for name, value in values.items()
        if name not in ADDED or value != ADDED[name]
    }


def encode(scenario: Scenario) -> str:
    """The query string that holds the whole scenario.

    >>> from planner import Scenario, decode, encode
    >>> query = encode(Scenario(context=4096))
    >>> decode(query)[0] == Scenario(context=4096)
    True
    """
    return write(as_link(scenario))


def decode(query: str | Mapping[str, Sequence[str]]) -> tuple[Scenario, tuple[Notice, ...]]:
    """The scenario that a link holds, and what in it could not be taken as it stands.

    Never raises. A missing parameter takes its default; a bad one takes the nearest sane value and
    is named in a notice. `query` is the text after the question mark or its values by name.

    >>> from planner import decode
    >>> scenario, notices = decode("model=llama-3.1-8b&context=many")
    >>> scenario.context
    8192
    >>> print(notices[0].text)
    “many” is not a number; 8,192 is used instead.
    """
    values, notices = read_values(query, PARAMETERS, _default)
    for name in ("cache_k", "cache_v"):
        if values[name] not in presets.caches_of(presets.model(values["model"])):
            plain = presets.cache_format(ADDED[name]).name
            text = OF_LATENTS[:1].upper() + OF_LATENTS[1:]
            notices.append(Notice(name, text, f"{plain} is used instead"))
            values[name] = ADDED[name]
    values |= _divisible(values, notices)
    groups = presets.model(values["model"]).groups
    shared = context.refusal(groups, values["tp"], values["dcp"])
    if shared:
        notices.append(Notice("dcp", shared[:1].upper() + shared[1:], "1 is used instead"))
        values["dcp"] = 1
    values |= _placeable(values, notices)
    values |= _draftable(values, notices)
    for name, refusal in (("loras", adapters.refusal), ("state_format", states.refusal)):
        refused = refusal(presets.model(values["model"]), values[name])
        if refused:
            why, plain = refused[:1].upper() + refused[1:], ADDED[name]
            notices.append(Notice(name, why, f"{plain} is used instead"))
            values[name] = plain
    return Scenario(**values), tuple(notices)


def _default(name, values):
    """What a missing parameter means, after those before it."""
    if name == "weights":
        return presets.model(values["model"]).dtype
    known = getattr(Scenario, name)
    return device_numbers(values["device"])[name] if known is None else known


def _draftable(values, notices):
    """Nobody where the model has no such drafter; at most one token more than are drafted."""
    refused = drafting.refusal(presets.model(values["model"]), values["draft"], values["pp"])
    most, found = values["drafted"] + 1, {}
    if refused:
        text = refused[:1].upper() + refused[1:]
        notices.append(Notice("draft", text, "nothing is drafted instead"))
        found["draft"] = ""
    if values["accepted"] > most:
        why = f"A step of {values['drafted']} drafted tokens yields {most} at most"
        notices.append(Notice("accepted", why, f"{most} is used instead"))
        found["accepted"] = most
    return found


def _placeable(values, notices):
    """The nearest that can be in host memory, and a notice for what cannot."""
    model = presets.model(values["model"])
    layout = Layout(values["tp"], values["pp"], values["dp"], values["ep"])
    placed = Placed(values["host_layers"], values["host_experts"])
    wrong = host.refusals(placed, model, layout)
    notices.extend(
        Notice(f"host_{name}", why[:1].upper() + why[1:], f"{nearest} is used instead")
        for name, why, nearest in wrong
    )
    return {f"host_{name}": nearest for name, _, nearest in wrong}


def _divisible(values, notices):
    """The nearest layout that the model can have, and a notice for each size that it cannot."""
    model = presets.model(values["model"])
    layout = Layout(values["tp"], values["pp"], values["dp"], values["ep"])
    wrong = parallel.refusals(layout, model, layout.devices)
    if not wrong:
        return {}
    able = parallel.layouts(model, layout.devices) or (parallel.ONE_DEVICE,)
    used = min(
        able, key=lambda each: abs(each.tensor - layout.tensor) + abs(each.data - layout.data)
    )
    instead = f"tp {used.tensor}, pp {used.pipeline}, dp {used.data}, ep {used.expert} are used"
    notices.extend(
        Notice(SHORT[each.name], each.text.removesuffix("."), f"{instead} instead")
        for each in wrong
    )
    return {"tp": used.tensor, "pp": used.pipeline, "dp": used.data, "ep": used.expert}
