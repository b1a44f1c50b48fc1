"""What start commands are made of: their words, notes, and what several engines say alike."""

import math
import shlex
from dataclasses import dataclass

from planner.engines.memory import Engine
from planner.inputs import overrides, presets
from planner.inputs.choices import published
from planner.models import drafting, states
from planner.units import GIB

CONFIG = "planner.yaml"
EAGLE_HEAD = "./eagle3-head"
PLAIN = ("fp16", "fp32")
ONLINE = {  # weights that are quantised while a 16-bit checkpoint is loaded
    "vllm-0.34": {"fp8": "fp8_per_tensor", "fp8-block": "fp8_per_block"},
    "vllm-0.26": {"fp8": "fp8_per_tensor", "fp8-block": "fp8_per_block"},
    "vllm": {"fp8": "fp8_per_tensor", "fp8-block": "fp8_per_block", "nf4": "bitsandbytes"},
    "vllm-0.20": {"fp8": "fp8", "nf4": "bitsandbytes"},
    "sglang": {"fp8": "fp8"},
}
UNREAD = {  # kinds of checkpoint, by a word of their name
    "vllm-0.34": ("GGUF", "bitsandbytes"),
    "vllm-0.26": ("GGUF", "bitsandbytes"),
    "vllm": ("GGUF",),
}


@dataclass(frozen=True)
class Command:
    """A start command of one engine. notes: what it cannot say, or what must be seen to first.

    words: the command's words, unquoted. config: text of the file called `CONFIG`, or “”.
    benchmark: the words of the command that then measures it, or none.
    """

    engine: Engine
    words: tuple[str, ...]
    notes: tuple[str, ...] = ()
    config: str = ""
    benchmark: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """One line for a POSIX shell."""
        return shlex.join(self.words)

    def script(self) -> str:
        """The engine and its flags' version, the notes, how to measure it, the file it needs, and
        the command."""
        of = f"{self.engine.name} (flags as of {self.engine.flags})"
        then = (f"Once it runs, to measure it: {shlex.join(self.benchmark)}",)
        lines = [f"# {line}" for line in (of, *self.notes, *(then if self.benchmark else ()))]
        if self.config:
            lines += [f"cat > {CONFIG} <<'EOF'", self.config.rstrip("\n"), "EOF"]
        return "\n".join([*lines, self.text])


def name_of(model):
    """What to call a model in a command: never a word that could be taken for an option."""
    name = published(model.source) or model.name
    return f"./{name}" if name.startswith("-") else name


def per_group(scenario):
    return math.ceil(scenario.concurrency / scenario.dp)


def step_of(engine, least=1):
    """Tokens of the largest step, as far as the engine has one."""
    return max(int(engine.batched_tokens), least) if math.isfinite(engine.batched_tokens) else None


def flags(pairs):
    """Words of the flags that have a value; True is a flag without one, None no flag."""
    for flag, value in pairs.items():
        if value is True:
            yield flag
        elif value is not None:
            yield from (flag, f"{value:g}" if isinstance(value, float) else str(value))


def more_than_one(count):
    return count if count > 1 else None


def set_by_hand(scenario, name, value):
    """A figure that a person set; None where it is the engine's own."""
    return value if name in overrides.read(scenario.set) else None


def pool_bytes(engine):
    """The pool of a fixed size in bytes; None where it has none."""
    return round(engine.pool_gib * GIB) if engine.pool_gib else None


def state_type(scenario, known, engine):
    """The type of recurrent states where an engine takes it, or a note that it does not."""
    own = scenario.state_format
    if own == states.AUTO or own in known:
        return (None if own == states.AUTO else own), ()
    return None, (f"Recurrent states: how {engine} is told of {own} is not known here.",)


def checkpoint(scenario, engine):
    """The value of a flag that quantises while loading, or a note on the files that are needed."""
    online = ONLINE.get(engine.id, {})
    stored, own = scenario.weights, scenario.the_model.dtype
    if stored == own or (stored in PLAIN and own in PLAIN):
        return None, ()
    if own in PLAIN and stored in online:
        return online[stored], ()
    name = presets.weight_format(stored).name
    if any(kind in name for kind in UNREAD.get(engine.id, ())):
        return None, (f"Weights: as of {engine.flags} it reads no {name}, save by a plugin.",)
    return None, (f"Weights: give a checkpoint that is stored as {name}.",)


def caches(scenario):
    """Formats of keys and values: the keys' for both where latents are stored, and no values."""
    values = any(group.value_dim for group in scenario.the_model.groups)
    return scenario.cache_k, scenario.cache_v if values else scenario.cache_k


def one_cache(scenario, known, engine):
    """The cache type of an engine that has one for keys and values; None for 16 bits."""
    keys, values = caches(scenario)
    if keys != values:
        return None, (
            f"Cache: {engine} stores keys and values alike; {keys} and {values} cannot be said.",
        )
    if keys != "fp16" and keys not in known:
        return None, (
            f"Cache: {engine} has no {presets.cache_format(keys).name}; 16 bits are used.",
        )
    return known.get(keys), ()


def draft_path(scenario):
    """Where the drafter's own weights are; None where they came with the model."""
    if scenario.draft in ("", drafting.MTP):
        return None
    other = presets.draft_model(scenario.draft)
    return name_of(other) if other else EAGLE_HEAD
