"""What other calculators get wrong, each as the change that makes a plan wrong in the same way.

A mistake changes what goes into the one path of evaluation (a model, a memory, a peak, an engine)
and nothing else, so that everything downstream of it is as wrong as it is elsewhere, and no more.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from planner import describe
from planner.figures import BY_KEY, CALIBRATED, Definition
from planner.inputs.scenario import Scenario
from planner.pools import reserve
from planner.serving import Evaluation, evaluate
from planner.units import GB, GIB


@dataclass(frozen=True)
class Mistake:
    """One known mistake. `change` takes a scenario and gives what `wrong` puts in its place.

    label: the mistake in two or three words. why: the sentence that says why it is wrong. needs:
    what a scenario must have for it to show; `change` gives {} where that is missing. figure: the
    one that goes wrong first.
    """

    id: str
    label: str
    why: str
    needs: str
    figure: Definition
    change: Callable[[Scenario], dict]


@dataclass(frozen=True)
class Effect:
    """What a mistake does to a scenario: its first figure as it is and as it is claimed."""

    mistake: Mistake
    right: float
    wrong: float

    @property
    def factor(self):
        return self.wrong / self.right

    @property
    def sentence(self) -> str:
        """By how much the figure is off, in a sentence."""
        figure, by = self.mistake.figure, describe.factor(self.factor)
        return (
            f"{figure.label}: {figure.text(self.wrong)} instead of {figure.text(self.right)}, {by}."
        )


def evaluated(scenario: Scenario, mistake: str = "", **varied) -> Evaluation:
    """A scenario with its engine, wrong in the way of that mistake; right where there is none.

    varied: as `evaluate` takes it. A mistake that cannot be made here changes nothing. Raises
    KeyError on a mistake that is not known.
    """
    changes = KNOWN[mistake].change(scenario) if mistake else {}
    return evaluate(scenario, **{**changes, **varied})


def effect(scenario: Scenario, mistake: str) -> Effect | None:
    """What a mistake does to a scenario; None where it cannot be made or shows in nothing."""
    found = KNOWN[mistake]
    if not found.change(scenario):
        return None
    right, wrong = (found.figure.band(evaluated(scenario, each)).value for each in ("", mistake))
    return Effect(found, right, wrong) if right and wrong != right else None


def _groups(change):
    """A mistake about layers: `change` takes a group and its model and gives the wrong group."""

    def model(scenario):
        owned = scenario.the_model
        try:
            groups = tuple(change(group, owned) for group in owned.groups)
        except ValueError:  # wider than any model may be: not to be shown
            return {}
        return {} if groups == owned.groups else {"model": replace(owned, groups=groups)}

    return model


def _every_head_stores(group, model):
    shares = group.value_dim and 0 < group.kv_heads < group.query_heads
    return replace(group, kv_heads=group.query_heads) if shares else group


def _plain_width(group, model):
    return model.width // group.query_heads


def _latent_as_heads(group, model):
    if group.kind != "latent" or not model.width or not group.query_heads:
        return group
    width = _plain_width(group, model)
    return replace(group, kv_heads=group.query_heads, key_dim=width, value_dim=width)


def _no_window(group, model):
    return replace(group, window=None) if group.kind == "window" else group


def _twice(group, model):
    return replace(group, key_dim=2 * group.key_dim, value_dim=2 * group.value_dim)


def _all_layers_attend(group, model):
    full = next((each for each in model.groups if each.kind in ("full", "latent")), None)
    counted = group.kind in ("recurrent", "none") and full is not None
    return replace(full, layers=group.layers) if counted else group


def _width_over_heads(group, model):
    if not (group.value_dim and group.query_heads and model.width):
        return group
    width = _plain_width(group, model)
    return replace(group, key_dim=width, value_dim=width)


def _binary_memory(scenario):
    return {"memory": scenario.memory * GIB / GB}


def _sparse_peak(scenario):
    return {"peak": 2 * scenario.peak}


def _active_only(scenario):
    owned = scenario.the_model
    if owned.experts_per_token == owned.experts:
        return {}
    active = max(round(owned.expert_parameters * owned.experts_per_token / owned.experts), 1)
    model = replace(
        owned,
        parameters=owned.parameters - owned.expert_parameters + active,
        expert_parameters=active,
        experts=owned.experts_per_token,
        file_bytes=None,
    )
    return {"model": model}


def _activation_once(scenario):
    engine, count = scenario.the_engine, scenario.layout.devices
    linear = ("activation_per_width", "logit_bytes", "score_bytes")
    shared = {name: getattr(engine, name) / count for name in linear}
    if count == 1 or not any(shared.values()):
        return {}
    return {"engine": engine.changed(**shared)}


ACTIVATIONS = Definition(
    "activation_bytes",
    "Activations on a device",
    "bytes",
    CALIBRATED,
    reserved=lambda plan, engine: reserve(plan, engine).activation_bytes,
)
MISTAKES = (
    Mistake(
        "no-gqa",
        "KV heads ignored",
        "Every query head is given a key and a value of its own. With grouped queries several "
        "heads share one.",
        "a model whose heads share keys and values",
        BY_KEY["cache_bytes"],
        _groups(_every_head_stores),
    ),
    Mistake(
        "mla-as-mha",
        "MLA as MHA",
        "Keys and values are counted for every head. Latent attention stores one short vector for "
        "all heads together.",
        "a model with latent attention",
        BY_KEY["cache_bytes"],
        _groups(_latent_as_heads),
    ),
    Mistake(
        "no-window",
        "Windows ignored",
        "All layers are taken to keep the whole context. Sliding layers keep their window and no "
        "more.",
        "a model with sliding windows, and a context beyond them",
        BY_KEY["cache_bytes"],
        _groups(_no_window),
    ),
    Mistake(
        "all-layers",
        "Recurrent layers counted",
        "Every layer is given a cache. Recurrent layers keep a state of fixed size, and others may "
        "keep nothing at all.",
        "a model with recurrent layers",
        BY_KEY["cache_bytes"],
        _groups(_all_layers_attend),
    ),
    Mistake(
        "head-dim",
        "Head width guessed",
        "The width of a head is taken as hidden size over query heads. Where a config states the "
        "width of a head, that counts.",
        "a model whose heads are not hidden size over query heads wide",
        BY_KEY["cache_bytes"],
        _groups(_width_over_heads),
    ),
    Mistake(
        "doubled",
        "K and V doubled twice",
        "The factor 2 for keys and values is applied to a figure that holds both already.",
        "a model that stores keys and values",
        BY_KEY["cache_bytes"],
        _groups(_twice),
    ),
    Mistake(
        "gb-as-gib",
        "GB read as GiB",
        "A memory in GB (10⁹ bytes) is taken to be as many GiB (2³⁰ bytes), which is 7 % more.",
        "a device",
        BY_KEY["memory_usable_bytes"],
        _binary_memory,
    ),
    Mistake(
        "activation-once",
        "Activations charged once",
        "The memory for activations is counted once and divided among the devices. Each device "
        "needs all of it.",
        "an engine that states its activations, and several devices",
        ACTIVATIONS,
        _activation_once,
    ),
    Mistake(
        "sparse-peak",
        "Sparse peak as dense",
        "The headline of a data sheet counts every second weight as zero. Dense weights get half "
        "of it.",
        "a device",
        BY_KEY["ttft_s"],
        _sparse_peak,
    ),
    Mistake(
        "active-only",
        "Active parameters as memory",
        "Only the parameters that one token uses are counted. All experts are resident, and many "
        "requests together read most of them.",
        "a mixture of experts",
        BY_KEY["weights_bytes"],
        _active_only,
    ),
)
KNOWN = {each.id: each for each in MISTAKES}
