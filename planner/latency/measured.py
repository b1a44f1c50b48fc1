"""What published measurements say of a plan: how far they pull its time, and how sure it then is.

Every fitted measurement is a witness (presets/measurements/residuals.csv): the logarithm of
measured / predicted, near or far in requests and lengths, on the same device and engine or another.
Those of the plan's own model are weighed by how much they share with it, and pull
(`formulas.weighted_offset`). The band (presets/bands.csv) is that of the case: this set-up was
measured, only this model elsewhere, only device and engine, or none of them.
"""

from dataclasses import dataclass, fields
from functools import cache, lru_cache

import numpy as np

from planner import files, formulas
from planner.inputs import presets
from planner.models.model import Model
from planner.models.notation import model_from_text

# Standard errors of a witness in logarithms, by what it does not share with the plan; per factor of
# two where it is a number. Rounded from a search; errors of left-out rows are flat around them.
APART = {
    "engine": 0.10,
    "device": 0.05,
    "architecture": 0.07,
    "weights": 0.15,
    "tensor": 0.04,
    "setup": 0.06,  # what two runs of one set-up differ by
    "source": 0.40,
}
NEAR = {"row": 0.04, "running": 0.09, "prompt_tokens": 0.05, "output_tokens": 0.04}
PRIOR = 0.12
FIXED_OUTPUT = 256  # tokens at which a fixed batch, which has no output, counts
ARCHITECTURES = {
    "hopper": ("h100", "h200", "gh200", "h800", "h20"),
    "blackwell": ("b100", "b200", "b300", "gb200", "gb300"),
}

FAMILIES = {  # what an engine is called whatever its version
    "vllm": "vLLM",
    "sglang": "SGLang",
    "tensorrt-llm": "TensorRT-LLM",
    "lmdeploy": "LMDeploy",
    "other-serving": "another engine",
}
CASES = {
    "sweep": "this set-up was measured",
    "setup": "this model was measured, on another device, engine or format",
    "model": "other models were measured on this device and engine",
    "stranger": "neither this model nor this device with this engine was measured",
}


def shape(model: Model):
    """What models of one family share: layers, experts and vocabulary, save for added tokens."""
    vocabulary = model.vocabulary // 1024
    return (model.groups, model.width, vocabulary, model.experts, model.experts_per_token)


@cache
def models() -> dict[str, Model]:
    """Every model that was measured, by its id: the presets, and measurements/models.csv."""
    more = files.rows("measurements/models.csv")
    return {row["id"]: model_from_text(row["model"]) for row in more} | presets.models()


@cache
def _shapes():
    return {name: shape(model) for name, model in models().items()}


@dataclass(frozen=True)
class Setup:
    """Who is asked about: the shape of a model, and how it is served."""

    shape: tuple
    device: str
    family: str
    weights: str
    tensor: int


@dataclass(frozen=True)
class Witnesses:
    """Measurements as arrays. reference: runs in which requests were kept at a number, most of them
    of two publishers; the others state what ran."""

    id: np.ndarray
    model: np.ndarray
    weights: np.ndarray
    device: np.ndarray
    family: np.ndarray
    tensor: np.ndarray
    running: np.ndarray
    prompt_tokens: np.ndarray
    output_tokens: np.ndarray
    source: np.ndarray
    reference: np.ndarray
    measured_s: np.ndarray
    predicted_s: np.ndarray

    def __len__(self):
        return len(self.id)

    def only(self, here):
        """Those where `here` is true."""
        return Witnesses(**{each.name: getattr(self, each.name)[here] for each in fields(self)})

    @property
    def residual(self):
        return np.log(self.measured_s / self.predicted_s)


@cache
def witnesses() -> Witnesses:
    """Every row of presets/measurements/residuals.csv."""
    table = files.rows("measurements/residuals.csv")

    def column(name, kind=str):
        return np.array([kind(row[name]) for row in table])

    return Witnesses(
        **{name: column(name) for name in ("id", "model", "weights", "device", "family", "source")},
        **{
            name: column(name, float)
            for name in ("tensor", "running", "prompt_tokens", "output_tokens")
        },
        reference=column("reference") == "yes",
        measured_s=column("measured_ms", float) * 1e-3,
        predicted_s=column("predicted_ms", float) * 1e-3,
    )


@lru_cache(maxsize=256)
def _of_shape(wanted) -> "Panel":
    """The witnesses of one family of models."""
    every = witnesses()
    return panel(every.only(np.array([_shapes()[name] == wanted for name in every.model], bool)))


@cache
def _references() -> tuple[frozenset, frozenset]:
    """Set-ups, and pairs of device and engine, that reference runs measured."""
    every = witnesses()
    every = every.only(every.reference)
    setups, pairs = set(), set()
    for name, *rest in zip(every.model, every.weights, every.device, every.family, strict=True):
        setups.add((_shapes()[name], *rest))
        pairs.add(tuple(rest[1:]))
    return frozenset(setups), frozenset(pairs)


def case(setup: Setup) -> str:
    """How much of a set-up was measured: a key of CASES."""
    setups, pairs = _references()
    if (setup.shape, setup.weights, setup.device, setup.family) in setups:
        return "sweep"
    if any(each[0] == setup.shape for each in setups):
        return "setup"
    return "model" if (setup.device, setup.family) in pairs else "stranger"


@dataclass(frozen=True)
class Panel:
    """Witnesses made ready to be asked, in the order of their publishers and set-ups.

    lengths: logarithms of requests, prompt and output, (3, witnesses). setups: source, device,
    engine, weights and tensor of each set-up. starts: the first witness of each set-up; publishers:
    the first set-up of each publisher. strange: standard error of each publisher, none of the one
    that a plan is taken to be like: the one with most reference runs.
    """

    witnesses: Witnesses
    lengths: np.ndarray
    residual: np.ndarray
    setups: tuple
    starts: np.ndarray
    publishers: np.ndarray
    strange: np.ndarray


def panel(among: Witnesses) -> Panel:
    """Witnesses made ready to be asked."""
    keys = list(
        zip(among.source, among.device, among.family, among.weights, among.tensor, strict=True)
    )
    among = among.only(sorted(range(len(keys)), key=keys.__getitem__))
    setups = tuple(dict.fromkeys(sorted(keys)))
    sources = [key[0] for key in setups]
    names, counts = np.unique(among.source[among.reference], return_counts=True)
    home = names[counts.argmax()] if len(names) else ""
    return Panel(
        witnesses=among,
        lengths=_logarithms(among.running, among.prompt_tokens, among.output_tokens),
        residual=among.residual,
        setups=setups,
        starts=np.array([sorted(keys).index(key) for key in setups], int),
        publishers=np.array([sources.index(each) for each in dict.fromkeys(sources)], int),
        strange=np.array([(each != home) * APART["source"] for each in dict.fromkeys(sources)]),
    )


def _logarithms(running, prompt_tokens, output_tokens):
    """Each length in factors of two, weighed by what a factor of two costs."""
    fixed = np.isinf(output_tokens) | (output_tokens == 0)
    lengths = running, prompt_tokens, np.where(fixed, FIXED_OUTPUT, output_tokens)
    scales = [NEAR[name] for name in ("running", "prompt_tokens", "output_tokens")]
    return np.log2(np.stack(lengths)) * np.array(scales)[:, None]


@lru_cache(maxsize=1024)
def _apart(setups, setup: Setup):
    """By what variance each measured set-up is apart from the one asked about."""
    return np.array(
        [
            APART["setup"] ** 2
            + APART["device"] ** 2 * (device != setup.device)
            + APART["architecture"] ** 2 * (architecture(device) != architecture(setup.device))
            + APART["engine"] ** 2 * (family != setup.family)
            + APART["weights"] ** 2 * (weights != setup.weights)
            + APART["tensor"] ** 2 * abs(np.log2(tensor / setup.tensor))
            for _, device, family, weights, tensor in setups
        ]
    )


def offset(setup: Setup, running, prompt_tokens, output_tokens, among: Panel | None = None):
    """How far the witnesses of its own model pull a set-up's step: μ of measured / predicted.

    running, prompt_tokens, output_tokens: numbers or arrays that broadcast; output ∞ or 0 for a
    fixed batch. among: those who are asked, all of this model where nothing is said.
    """
    among = among or _of_shape(setup.shape)
    point = np.broadcast_arrays(running, prompt_tokens, output_tokens)
    if not among.setups:
        return np.zeros(point[0].shape)[()]
    near = 1 / _variances(among, [each.ravel() for each in point])
    precision = np.add.reduceat(near, among.starts, axis=1)
    mean = np.add.reduceat(near * among.residual, among.starts, axis=1) / precision
    # Set-ups of one publisher share its error: they speak together, and it is added once.
    weight = 1 / (_apart(among.setups, setup) + 1 / precision)
    each = np.add.reduceat(weight, among.publishers, axis=1)
    mean = np.add.reduceat(weight * mean, among.publishers, axis=1) / each
    found = formulas.weighted_offset(mean, 1 / each + among.strange**2, PRIOR**2)
    return found.reshape(point[0].shape)[()]


def _variances(among, point):
    """Variance of each witness about each place: (places, witnesses)."""
    asked = _logarithms(*point)
    found = np.full((asked.shape[1], among.lengths.shape[1]), NEAR["row"] ** 2)
    for places, known in zip(asked, among.lengths, strict=True):
        found += (places[:, None] - known) ** 2
    return found


@cache
def architecture(device: str) -> str:
    """The generation that a device is of, where it has several; else the device."""
    name = device.partition("-")[0]
    return next((key for key, ids in ARCHITECTURES.items() if name in ids), device)


# --- bands ----------------------------------------------------------------------------------------


@cache
def _bands():
    table = files.rows("bands.csv")
    return {(row["case"], row["engine"], row["regime"]): float(row["factor"]) for row in table}


def regimes(experts, running, prompt_tokens) -> tuple:
    """The regimes by which a band is told apart: experts, requests, prompts; arrays of names."""
    running = np.asarray(running)
    few, some, many = running <= 8, running <= 32, running <= 128
    return (
        np.where(experts, "experts", "dense"),
        np.select([few, some, many], ["1-8", "9-32", "33-128"], "over 128"),
        np.where(np.less_equal(prompt_tokens, 1100), "prompts to 1100", "longer prompts"),
    )


def half_width(case: str, family: str, ways: tuple = ()):
    """Half of the 80 % band in logarithms: the case's own, times the factor of each regime."""
    table = _bands()

    def factor(regime):
        found = table.get((case, family, regime), table.get((case, "", regime)))
        return 1.0 if found is None else found

    width = factor("")
    for way in ways:
        if np.ndim(way) == 0:
            width = width * factor(str(way))
        else:
            names, back = np.unique(way, return_inverse=True)
            width = width * np.array([factor(each) for each in names])[back].reshape(way.shape)
    return width


# --- nearest measurements -------------------------------------------------------------------------


@dataclass(frozen=True)
class Neighbour:
    """One measurement of the plan's own model, with what it does not share with the plan."""

    id: str
    measured_s: float
    predicted_s: float
    running: float
    prompt_tokens: float
    output_tokens: float
    device: str
    family: str
    weights: str
    tensor: int
    source: str

    @property
    def context_tokens(self) -> float:
        """What a request holds halfway through its answer."""
        return self.prompt_tokens + self.output_tokens / 2

    @property
    def engine_name(self) -> str:
        """What its engine is called, whatever the version."""
        return FAMILIES[self.family]

    @property
    def source_name(self) -> str:
        """What its source is called."""
        return _source_names()[self.source]


@cache
def _source_names():
    return {row["id"]: row["name"] for row in files.rows("measurements/sources.csv")}


def neighbours(setup: Setup, running, prompt_tokens, output_tokens) -> list[Neighbour]:
    """Every measurement of this model, the one that says most of this plan first. One scenario."""
    among = _of_shape(setup.shape)
    if not among.setups:
        return []
    point = [np.array([each], float) for each in (running, prompt_tokens, output_tokens)]
    owners = np.diff([*among.publishers, len(among.setups)])
    far = _apart(among.setups, setup) + np.repeat(among.strange**2, owners)
    each = np.repeat(far, np.diff([*among.starts, len(among.witnesses)]))
    order = np.argsort(_variances(among, point)[0] + each, kind="stable")
    names = [each.name for each in fields(Neighbour)]
    columns = [getattr(among.witnesses, name)[order].tolist() for name in names]
    return [Neighbour(*row) for row in zip(*columns, strict=True)]
